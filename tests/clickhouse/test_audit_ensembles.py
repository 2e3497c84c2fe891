# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says when an ensemble was lost, or put back from a backup; repairs keep every row."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import Disks
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import (
    bind_pair,
    trust_hot,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.take_over import (
    Proof,
    take_over,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._tasks.registrations_file import (
    read_registrations,
)
from support.ansible.calls import ROOT
from support.servers.clickhouse import ClickHouseCluster, ServerOptions, ZooKeeperSource, cluster
from support.servers.kazoo_client import connected
from support.servers.leftovers.ground import DAY, OTHER, PART, Ground, Kinds, both, filled, judged, kinds_of
from support.servers.leftovers.patient import Hashes, Repairs, hashes_of, kinds_told, saved_parts
from support.servers.moving import FastClock, Mover, open_stores
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble, Member

THIRD = "20191203"
_PROGRAM = ROOT / "roles" / "partition_classify" / "files" / "registrations.py"

pytestmark = [pytest.mark.clickhouse, pytest.mark.long(minutes=2)]


@dataclass(frozen=True)
class Field:
    """Ensembles and servers of one test, with a table."""

    hot: Ensemble
    cold: Ensemble
    servers: ClickHouseCluster
    table: ReplicatedTable

    @contextmanager
    def ground(self) -> Iterator[Ground]:
        """The ground, with new sessions: a client refuses an ensemble that knows less than it has seen."""
        hosts = self.hot.connect_string, self.cold.connect_string
        with open_stores(*hosts) as stores, connected(hosts[0]) as hot, connected(hosts[1]) as cold:
            yield Ground(self.table, Mover(*stores), Registry(hot, cold), hosts)

    def identify(self, ground: Ground) -> None:
        """Give both ensembles their identities, as the first run does."""
        assert bind_pair(ground.mover.hot, ground.mover.cold, DEFAULT_ROOT, "hot", may_join=False).is_bound

    def backup(self, ensemble: Ensemble) -> None:
        """Keep the files that an ensemble has now."""
        # Or the znodes of their sessions would be in there, and keep them waiting after it was put back.
        self._stop_servers()
        ensemble.stop()
        for member in ensemble.members:
            shutil.copytree(_files_of(member), _backup_of(member))
        ensemble.start()
        self.restart_servers()

    def restore(self, ensemble: Ensemble) -> None:
        """Put the files back that were kept, or none where none were."""
        ensemble.stop()
        for member in ensemble.members:
            shutil.rmtree(_files_of(member))
            if _backup_of(member).exists():
                shutil.copytree(_backup_of(member), _files_of(member))
        ensemble.start()

    def trust_hot(self) -> None:
        """Vouch that no other ensemble has the files of hot, which was put back: it is refused until then."""
        with self.ground() as ground:
            refused = ground.mover.move(self.table).deferred
            assert {each.gate.value for each in refused.values()} == {"bound_here"}
            assert trust_hot(ground.mover.hot, ground.mover.cold, DEFAULT_ROOT)

    def copy_of_files(self, ensemble: Ensemble) -> Path:
        """A folder with the files of a member, as they are now."""
        (member,) = ensemble.members
        copy = member.data_dir.with_name("copy")
        shutil.copytree(_files_of(member), copy / "version-2")
        return copy

    def registrations(self, files: Path) -> Path:
        """What the files of a member have to register the parts of the table, taken as an operator does."""
        dest, settings = files / "registrations.jsonl", files / "settings.json"
        given = {"files": {"data_dir": str(files)}, "shard_paths": [self.table.path], "dest": str(dest)}
        settings.write_text(json.dumps(given))
        subprocess.run([sys.executable, str(_PROGRAM), str(settings)], check=True, capture_output=True)
        return dest

    def restart_servers(self) -> None:
        """Stop and start all of them, and wait until their tables are writable."""
        self._stop_servers()
        for server in self.servers.servers:
            server.start()
        self.wait_for_servers()

    def wait_for_servers(self) -> None:
        """Wait until they have sessions with hot as it is now, and their tables are writable."""
        with connected(self.hot.connect_string) as hot:
            marks = [f"{self.table.path}/replicas/{name}/is_active" for name in self.table.replicas]
            wait_for(lambda: all(hot.exists(mark) for mark in marks))
        wait_for(lambda: all(self._is_writable(number) for number in (0, 1)))

    def _is_writable(self, number: int) -> bool:
        question = f"SELECT is_readonly FROM system.replicas WHERE table = '{self.table.name}'"
        return self.table.servers[number].query(question) == [(0,)]

    def _stop_servers(self) -> None:
        for server in self.servers.servers:
            server.stop()


class Care:
    """What there was of a table before anything was lost, and the repair of what was."""

    def __init__(self, field: Field, ground: Ground) -> None:
        """All of the table is registered in hot now."""
        self._field = field
        self._hashes = dict(hashes_of(saved_parts(ground.registry, field.table)))
        self._rows = [field.table.rows(number) for number in (0, 1)]

    def disks(self, ground: Ground) -> Disks:
        """The disks of the servers, with the hashes of the parts."""
        return Hashes(ground.probe(), self._hashes)

    def repairs(self, found: Kinds, registrations: Path | None = None, *, cold_is_lost: bool = False) -> None:
        """What was found is repaired, every row is there, and a restart changes nothing."""
        table = self._field.table
        layout = ShardLayout(table.path)
        given = [] if registrations is None else read_registrations(str(registrations), layout)
        # Replicas that have no session yet with an ensemble that was put back are not repaired.
        self._field.wait_for_servers()
        with self._field.ground() as ground:
            assert judged(ground) == found
            assert Repairs(ground, self._hashes, given, cold_is_lost).carry_out() == set()
        for _start in range(2):
            assert [table.rows(number) for number in (0, 1)] == self._rows
            assert [table.detached(number) for number in (0, 1)] == [[], []]
            self._field.restart_servers()
        with self._field.ground() as ground:
            assert all(kind.is_consistent for kind in kinds_told(ground))


def _files_of(member: Member) -> Path:
    return member.data_dir / "version-2"


def _backup_of(member: Member) -> Path:
    return member.data_dir.with_name("backup")


@pytest.fixture
def field(clickhouse: str, tmp_path: Path) -> Iterator[Field]:
    """A table as `filled` has it, on patched servers."""
    with Ensemble(tmp_path / "hot") as hot, Ensemble(tmp_path / "cold") as cold:
        options = ServerOptions(
            program=clickhouse, patched=True, cold=ZooKeeperSource(cold.connect_string, session_ms=5000)
        )
        source = ZooKeeperSource(hot.connect_string, session_ms=5000)
        with cluster(tmp_path, source, options=options) as servers:
            table = ReplicatedTable("t", "/tables/t", servers.servers).create(WITHOUT_MERGES)
            yield Field(hot, cold, servers, filled(table))


def test_cold_was_emptied(field: Field) -> None:
    """And the servers restart, as nobody has heard of the audit."""
    with field.ground() as ground:
        ground.move(DAY)
    rows = field.table.rows()
    field.restore(field.cold)

    with field.ground() as ground:
        assert kinds_of(ground.audit()) == {DAY: both(FindingKind.COLD_UNKNOWN), OTHER: both(FindingKind.HOT)}

    field.restart_servers()
    assert [field.table.detached(number) for number in (0, 1)] == [[f"ignored_{PART}"]] * 2
    assert len(field.table.rows()) == len(rows) - 3


def test_cold_was_lost_and_files_of_hot_from_before_the_move_are_there(field: Field) -> None:
    files = field.copy_of_files(field.hot)
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(DAY)
    field.restore(field.cold)

    found = {DAY: both(FindingKind.COLD_UNKNOWN), OTHER: both(FindingKind.HOT)}
    care.repairs(found, field.registrations(files), cold_is_lost=True)


def test_cold_is_lost_for_good_and_what_was_cold_is_detached_and_attached(field: Field) -> None:
    """While there is no cold, as nobody has the registrations any more."""
    with field.ground() as ground:
        ground.move(DAY)
    table = field.table
    rows = table.rows()
    field.cold.stop()
    for verb in ("DETACH", "ATTACH"):
        table.servers[0].execute(
            f"ALTER TABLE {table.name} {verb} PARTITION {DAY}", replication_alter_partitions_sync=2
        )
    table.settle()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], [PART]]
    field.restore(field.cold)

    with field.ground() as ground:
        assert judged(ground) == {DAY: both(FindingKind.HOT_MARKED_COLD), OTHER: both(FindingKind.HOT)}
        assert Repairs(ground, {}, []).carry_out() == set()
    field.restart_servers()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], [PART]]
    with field.ground() as ground:
        ground.move(DAY)
        assert kinds_of(ground.audit())[DAY] == both(FindingKind.COLD)


def test_cold_was_put_back_from_before_the_first_move(field: Field) -> None:
    with field.ground() as ground:
        care = Care(field, ground)
    field.backup(field.cold)
    with field.ground() as ground:
        ground.move(DAY)
    files = field.copy_of_files(field.cold)
    field.restore(field.cold)

    found = {DAY: both(FindingKind.COLD_UNKNOWN), OTHER: both(FindingKind.HOT)}
    care.repairs(found, field.registrations(files), cold_is_lost=True)


def test_cold_was_put_back_from_before_a_later_move(field: Field) -> None:
    field.table.fill(["2019-12-03"], rows=30)
    field.table.settle()
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(OTHER)
    field.backup(field.cold)
    files = field.copy_of_files(field.hot)
    with field.ground() as ground:
        ground.move(DAY)
    field.restore(field.cold)

    found = {DAY: both(FindingKind.UNREGISTERED), OTHER: both(FindingKind.COLD), THIRD: both(FindingKind.HOT)}
    care.repairs(found, field.registrations(files))


def test_hot_was_put_back_from_before_the_move(field: Field) -> None:
    """It registers everything, and has no State; what was copied is still in cold, below the marker."""
    with field.ground() as ground:
        field.identify(ground)
    field.backup(field.hot)
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(DAY)
    before = field.table.seen()
    field.restore(field.hot)
    field.restart_servers()
    assert field.table.seen() == before
    with field.ground() as ground:
        assert kinds_of(ground.audit())[DAY] == both(FindingKind.OTHER_CLUSTER)
    field.trust_hot()

    care.repairs({DAY: both(FindingKind.COPIES_LEFT), OTHER: both(FindingKind.HOT)})


def test_hot_was_put_back_from_before_its_first_run(field: Field) -> None:
    """It has no identity, so the table is taken over, with proof by the disks."""
    field.backup(field.hot)
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(DAY)
    field.restore(field.hot)
    field.restart_servers()
    with field.ground() as ground:
        assert kinds_of(ground.audit())[DAY] == both(FindingKind.OTHER_CLUSTER)
        hot, cold = ground.mover.hot, ground.mover.cold
        leases = LeaseKeeper(hot, cold, FastClock(0.0), owner="a test")
        evidence = ground.reader(care.disks(ground))
        assert take_over(hot, cold, leases, field.table.path, evidence) is Proof.DISKS

    care.repairs({DAY: both(FindingKind.COPIES_LEFT), OTHER: both(FindingKind.HOT)})


def test_hot_was_put_back_from_before_the_way_back(field: Field) -> None:
    """State is COLD again, and so is the partition: its copies were not removed."""
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(DAY)
    field.backup(field.hot)
    with field.ground() as ground:
        ground.reheat(DAY)
    field.restore(field.hot)
    field.restart_servers()
    field.trust_hot()

    care.repairs({DAY: both(FindingKind.COLD), OTHER: both(FindingKind.HOT)})


def test_hot_was_put_back_from_before_copies_were_removed(field: Field) -> None:
    """The parts were registered in cold alone then, and cold has them no more."""
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(DAY)
    field.backup(field.hot)
    with field.ground() as ground:
        ground.reheat(DAY)
        ground.mover.seconds_ahead = 700.0
        assert ground.mover.reheat(field.table).copies_removed == {DAY}
    files = field.copy_of_files(field.hot)
    field.restore(field.hot)
    field.trust_hot()

    found = {DAY: both(FindingKind.UNREGISTERED), OTHER: both(FindingKind.HOT)}
    care.repairs(found, field.registrations(files))


def test_both_were_put_back_from_one_moment(field: Field) -> None:
    """What was moved since is hot again, and what was cold is cold."""
    with field.ground() as ground:
        care = Care(field, ground)
        ground.move(DAY)
    for ensemble in (field.hot, field.cold):
        field.backup(ensemble)
    with field.ground() as ground:
        ground.move(OTHER)
    for ensemble in (field.hot, field.cold):
        field.restore(ensemble)

    care.repairs({DAY: both(FindingKind.COLD), OTHER: both(FindingKind.HOT)})
