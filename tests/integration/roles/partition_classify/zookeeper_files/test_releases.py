# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree in files that servers of each release write under load, and leave when they are killed."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from olap_partmove._partmove.census.census import Places
from olap_partmove._partmove.census.outside import DDL_PATH
from olap_partmove._partmove.tree.paths import DEFAULT_ROOT
from partition_classify.census import take_census
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.folders import DataFolder, list_files
from partition_classify.zookeeper_files.nodes import StoredStat
from partition_classify.zookeeper_files.snapshot import open_snapshot
from support.files.member_files import tree_of
from support.servers.busy_znodes import SeenZnode, seen
from support.servers.downloads import NotToBeHad
from support.servers.pipelined import Load, write_ballast
from support.servers.process import ServerError
from support.servers.zookeeper import Ensemble, EnsembleOptions, Member
from support.servers.zookeeper_releases import RELEASES, Release

Connect = Callable[[str], KazooClient]
_SECONDS = 300
_MOST_ROUNDS = 40
_ZXID = re.compile(r"^Zxid: 0x([0-9a-f]+)$", re.MULTILINE)


class Kind(NamedTuple):
    """One release of ZooKeeper; that of pyspark unless one is named, or Debian's."""

    version: str
    release: Release | None = None
    debian: bool = False

    @property
    def since_3_5(self) -> bool:
        return not self.version.startswith("3.4.")


KINDS = (
    *(Kind(release.version, release) for release in RELEASES),
    Kind("3.8.0", debian=True),
    Kind("3.9.5"),
)
every_release = pytest.mark.parametrize("kind", KINDS, ids=[kind.version for kind in KINDS])


@contextmanager
def servers(folder: Path, kind: Kind, participants: int) -> Iterator[Ensemble]:
    """Servers that run, and write a snapshot every few hundred transactions."""
    properties = {
        "zookeeper.snapCount": "400",
        # Else each log begins with 64 MB of nothing.
        "zookeeper.preAllocSize": "256",
        # Else empty containers could go between two looks.
        "znode.container.checkIntervalMs": "86400000",
        "zookeeper.extendedTypesEnabled": "true",
    }
    options = EnsembleOptions(
        participants=participants, properties=properties, debian=kind.debian, release=kind.release
    )
    try:
        if kind.release:
            kind.release.jars()
        ensemble = Ensemble(folder, options)
    except NotToBeHad as error:
        pytest.skip(f"NOT RUN: there is no ZooKeeper {kind.version} here: {error}")
    except ServerError as error:
        if kind.debian and shutil.which("apt-get") is None:
            pytest.skip(f"NOT RUN: {error} (this machine has no apt-get)")
        raise
    with ensemble:
        version = ensemble.members[0].four_letter("srvr").partition("\n")[0]
        assert version.startswith(f"Zookeeper version: {kind.version}-")
        yield ensemble


def lasting(tree: Mapping[str, SeenZnode]) -> dict[str, SeenZnode]:
    """The tree without ephemeral znodes, which go when a session is not renewed in time."""
    return {path: znode for path, znode in tree.items() if not znode.ephemeral_owner}


def is_fuzzy(member: Member) -> bool:
    """Whether the newest snapshot has later changes than it was begun with; False while it is written."""
    newest = list_files(DataFolder("hot", str(member.data_dir))).snapshots[0]
    try:
        with open_snapshot(newest.path) as scan:
            return any(
                max(znode.czxid, znode.mzxid) > newest.zxid
                for znode in (StoredStat.unpacked(stored) for *_record, stored in scan.records())
            )
    except DamagedFile:
        return False


def is_covered(member: Member) -> bool:
    """Whether the newest snapshot is finished, of the current leader, and followed by the log.

    On a busy machine a snapshot may take until after the last transaction.
    """
    listing = list_files(DataFolder("hot", str(member.data_dir)))
    newest = listing.snapshots[0]
    try:
        with open_snapshot(newest.path) as scan:
            for _record in scan.records():
                pass
    except DamagedFile:
        return False
    written = newest.path.stat().st_mtime_ns
    is_followed = any(log.path.stat().st_mtime_ns > written for log in listing.logs)
    return is_followed and newest.zxid >> 32 == last_zxid(member) >> 32


def last_zxid(member: Member) -> int:
    found = _ZXID.search(member.four_letter("srvr"))
    return int(found[1], 16) if found else 0


def kill_between_files(member: Member) -> None:
    """Kill the server, but not after it has created a log and before it has written the log's header.

    Older servers do not start again with an empty log (ZOOKEEPER-1621): there is nothing to compare with.
    """
    deadline = time.monotonic() + _SECONDS
    while True:
        member.pause()
        if all(path.stat().st_size for path in (member.data_dir / "version-2").glob("log.*")):
            break
        assert time.monotonic() < deadline, "the server always had an empty log"
        member.resume()
        time.sleep(0.01)
    member.kill()


def await_same(members: list[Member]) -> None:
    """Wait until all members have the same last transaction."""
    deadline = time.monotonic() + _SECONDS
    while len({last_zxid(member) for member in members}) > 1:
        assert time.monotonic() < deadline, "the members never had the same last transaction"
        time.sleep(0.05)


@every_release
def test_files_of_a_killed_server_are_what_it_recovers(
    kind: Kind, connect: Connect, base: str, tmp_path: Path
) -> None:
    with servers(tmp_path / "server", kind, participants=1) as ensemble:
        (member,) = ensemble.members
        client = connect(ensemble.connect_string)
        write_ballast(client, base)
        Load(client, base, seed=1, since_3_5=kind.since_3_5).run(1_500)
        kill_between_files(member)
        client.stop()
        shutil.copytree(member.data_dir, tmp_path / "killed")
        # The server writes no more, so the log was certainly copied after its last snapshot.
        for path in (tmp_path / "killed" / "version-2").glob("log.*"):
            path.touch()
        found = tree_of(tmp_path / "killed", base)
        member.start()

        recovered = seen(connect(ensemble.connect_string), base)

        assert len(found) > 50
        assert lasting(found) == lasting(recovered)


@every_release
def test_files_of_all_members_are_the_tree_that_they_tell(
    kind: Kind, connect: Connect, base: str, tmp_path: Path
) -> None:
    with servers(tmp_path / "servers", kind, participants=3) as ensemble:
        client, leaving = connect(ensemble.connect_string), connect(ensemble.connect_string)
        readers = [connect(member.address) for member in ensemble.followers()]
        write_ballast(client, base)
        load, more = (
            Load(each, base, seed, since_3_5=kind.since_3_5) for seed, each in enumerate((client, leaving))
        )
        load.run(400)
        more.run(400)
        killed = ensemble.leader()
        killed.kill()
        load.run(400)
        load.settle()
        killed.start()
        for _round in range(_MOST_ROUNDS):
            load.run(300)
            more.run(100)
            if any(map(is_fuzzy, ensemble.members)):
                break
        else:
            pytest.fail("no member ever wrote a snapshot while it changed znodes")
        load.settle()
        more.settle()
        leaving.stop()
        for _round in range(_MOST_ROUNDS):
            load.run(20)
            load.settle()
            await_same(ensemble.members)
            if all(map(is_covered, ensemble.members)):
                break
        else:
            pytest.fail("no snapshot was ever finished before the next transaction")
        expected = [seen(reader, base) for reader in readers]
        figures = ensemble.members[0].monitor()
        assert len(expected[0]) > 50
        assert any(znode.ephemeral_owner for znode in expected[0].values())
        assert expected[0] == expected[1]

        for member in ensemble.members:
            shutil.copytree(member.data_dir, tmp_path / f"copy-{member.myid}")
            assert tree_of(tmp_path / f"copy-{member.myid}", base) == expected[0]
        census = take_census(DataFolder("hot", str(tmp_path / "copy-1")), Places(DEFAULT_ROOT, DDL_PATH))

        assert census.total.znodes + 1 == int(figures["zk_znode_count"])
        assert census.total.bytes == int(figures["zk_approximate_data_size"])
