# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sorted copy is read as the files of a ZooKeeper member with the same tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.keeper_files import sorted_copy
from partition_classify.keeper_files.listing import KeeperSnapshot
from partition_classify.keeper_files.sorted_copy import write_sorted_copy
from partition_classify.keeper_files.tree_check import TreeCheck
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.nodes import StoredStat
from partition_classify.zookeeper_files.snapshot import open_snapshot
from support.classify.members import TREE
from support.files.keeper_snapshots import (
    COMPRESSIONS,
    INDEX,
    VERSIONS,
    KeeperSnapshotFile,
    KeeperZnode,
    tree_of,
    write_generated_keeper,
)
from support.files.small_disk import small_disk


def copied(path: Path, folder: Path, run_bytes: int = 10_000) -> Path:
    folder.mkdir(exist_ok=True)
    write_sorted_copy(KeeperSnapshot(INDEX, path), folder, run_bytes=run_bytes)
    return folder


def records_of(data_dir: Path) -> list[tuple[bytes, bytes, StoredStat]]:
    """The records in their order, without ACL id and cversion."""
    (path,) = (data_dir / "version-2").glob("snapshot.*")
    with open_snapshot(path) as scan:
        return [
            (path, data, StoredStat.unpacked(stored)._replace(acl=0, cversion=0))
            for _offset, path, data, stored in scan.records()
        ]


def require_order(records: list[tuple[bytes, bytes, StoredStat]]) -> None:
    """What is below a znode directly follows the znode."""
    ancestors: list[bytes] = []
    for path, _data, _stat in records:
        parent = path.rpartition(b"/")[0]
        while path and ancestors[-1] != parent:
            ancestors.pop()
        ancestors.append(path)


def in_order(records: list[tuple[bytes, bytes, StoredStat]]) -> list[tuple[bytes, bytes, StoredStat]]:
    """As a tree is walked, siblings by name."""
    return sorted(records, key=lambda each: each[0].split(b"/"))


@pytest.mark.parametrize("version", VERSIONS)
def test_copy_has_the_tree_in_order(version: int, tmp_path: Path) -> None:
    path = write_generated_keeper(tmp_path, TREE, KeeperSnapshotFile(version))
    records = records_of(copied(path, tmp_path / "copy"))
    require_order(records)
    assert in_order(records) == in_order(records_of(tmp_path / "zookeeper"))


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("run_bytes", [300, 1 << 30])
def test_copy_is_the_same_for_every_form(compression: str, run_bytes: int, tmp_path: Path) -> None:
    path = write_generated_keeper(tmp_path, TREE, KeeperSnapshotFile(9, compression))
    folder = copied(path, tmp_path / "copy", run_bytes)
    require_order(records_of(folder))
    assert in_order(records_of(folder)) == in_order(records_of(tmp_path / "zookeeper"))
    with open_snapshot(folder / "version-2" / "snapshot.3e8") as scan:
        assert sum(1 for _record in scan.records()) > TREE.parts
    assert (scan.is_finished, scan.newest_zxid) == (True, 1000)
    assert sorted(each.name for each in folder.rglob("*")) == ["log.3e9", "snapshot.3e8", "version-2"]


def test_progress_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_copy, "_LOG_EVERY", 2)
    # Those at the top are read one by one.
    path = KeeperSnapshotFile().write(tmp_path, tree_of("/a", "/b", "/c"))
    lines: list[str] = []
    (tmp_path / "copy").mkdir()
    write_sorted_copy(KeeperSnapshot(INDEX, path), tmp_path / "copy", lines.append)
    assert lines == [
        f"sorting the 5 znodes of {path} into {tmp_path}/copy",
        "read 2 of 5 znodes",
        "read 4 of 5 znodes",
        f"sorted {path}, which has all transactions up to 0x3e8",
    ]


@pytest.mark.parametrize(
    ("znodes", "message"),
    [
        (tree_of("/a", "/a")[:3] + tree_of("/a")[2:], "the znode /a is present twice"),
        (tree_of("/a", "/b/c"), "the parent of the znode /b/c is missing"),
        (tree_of("/a")[1:], "the root is missing"),
        (tree_of("/a", "/a/b")[:3], "the znode /a should have 1 children, but has 0"),
        (tree_of("/z", "/z/b")[:3], "the znode /z should have 1 children, but has 0"),
    ],
)
def test_znodes_that_are_no_tree_are_refused(znodes: list[KeeperZnode], message: str, tmp_path: Path) -> None:
    path = KeeperSnapshotFile().write(tmp_path, znodes)
    with pytest.raises(DamagedFile, match=message):
        copied(path, tmp_path / "copy")


def test_renamed_snapshot_is_refused(tmp_path: Path) -> None:
    path = KeeperSnapshotFile(index=5).write(tmp_path, tree_of("/a"))
    with pytest.raises(DamagedFile, match="the last log entry in the snapshot is 5, unlike"):
        copied(path, tmp_path / "copy")


def test_snapshot_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = KeeperSnapshotFile().write(tmp_path, tree_of("/a"))

    monkeypatch.setattr(TreeCheck, "end", lambda _check: os.utime(path, (1, 1)))
    with pytest.raises(EnsembleError, match=r"snapshot_2000.bin.zstd was changed while it was read"):
        copied(path, tmp_path / "copy")


def test_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    path = write_generated_keeper(tmp_path, TREE, KeeperSnapshotFile())
    with small_disk(tmp_path / "small", "8k") as folder, pytest.raises(OSError, match="No space"):
        copied(path, folder)
