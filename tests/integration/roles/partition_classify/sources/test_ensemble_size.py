# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How large a whole ensemble is, as its members and their files tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._zookeeper.options import EnsembleOptions
from partition_classify.sources.ensemble_size import EnsembleSize, size_of_files, size_of_live
from partition_classify.zookeeper_files.folders import DataFolder, folders_of
from support.files.snapshot_files import GeneratedTree, write_generated
from support.servers.zookeeper import Ensemble

TREE = GeneratedTree(shard_paths=2, parts=40, replicas=2, partitions=5)


def folder(path: Path) -> DataFolder:
    (found,) = folders_of("hot", {"data_dir": str(path)})
    return found


def of_hosts(*hosts: str) -> EnsembleOptions:
    return EnsembleOptions("hot", hosts)


def test_members_tell_their_size(tmp_path: Path) -> None:
    # One of its own: nobody writes between the two questions.
    with Ensemble(tmp_path) as ensemble:
        (member,) = ensemble.members
        values = member.monitor()
        znodes = int(values["zk_znode_count"])
        size = int(values["zk_approximate_data_size"]) + 76 * znodes
        assert size_of_live(of_hosts(member.address)) == EnsembleSize(znodes, size)


def test_member_without_mntr_tells_how_many_znodes_it_has(tmp_path: Path) -> None:
    ensemble = Ensemble(tmp_path)
    for settings in tmp_path.rglob("*.cfg"):
        text = settings.read_text()
        assert "4lw.commands.whitelist=*" in text
        settings.write_text(text.replace("4lw.commands.whitelist=*", "4lw.commands.whitelist=srvr"))
    with ensemble:
        found = size_of_live(of_hosts(*(member.address for member in ensemble.members)))
    assert found is not None
    assert found.znodes > 0
    assert found.snapshot_bytes is None


def test_size_is_not_known_when_nobody_answers() -> None:
    # Port 1 is nobody's here.
    assert size_of_live(of_hosts("127.0.0.1:1", "127.0.0.1:1")) is None


@pytest.mark.parametrize("compression", ["", "gz"])
def test_snapshots_are_counted_together(tmp_path: Path, compression: str) -> None:
    folders = []
    for name in ("one", "two"):
        write_generated(tmp_path / name, TREE, compression=compression)
        folders.append(folder(tmp_path / name))
    one = size_of_files(folders[:1])
    assert one.znodes > TREE.parts
    assert one.snapshot_bytes is not None
    assert size_of_files(folders) == EnsembleSize(2 * one.znodes, 2 * one.snapshot_bytes)
    if not compression:
        (snapshot,) = (tmp_path / "one" / "version-2").glob("snapshot.*")
        assert 0 < snapshot.stat().st_size - one.snapshot_bytes < 100
