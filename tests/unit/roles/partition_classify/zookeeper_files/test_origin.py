# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cluster of files, with the topmost znodes in the snapshot or only in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import PlanError
from olap_partmove._partmove.plan.origin import OriginZnode
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.origin import origin_of_files
from support.classify.members import COMPRESSIONS, write_snapshot
from support.files import log_files as log
from support.files.log_files import TIME, LogWriter


def folder(data_dir: Path, chroot: str = "") -> DataFolder:
    return DataFolder("hot", str(data_dir), chroot=chroot)


def write_log(data_dir: Path, *operations: tuple[int, bytes]) -> None:
    """A log of these transactions, from 11 on."""
    writer = LogWriter(11)
    for kind, body in operations:
        writer.add(kind, body)
    writer.write(data_dir)


def written(path: str, zxid: int) -> OriginZnode:
    return OriginZnode(path, zxid, TIME + 1000 * zxid)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_znodes_of_the_snapshot(tmp_path: Path, compression: str) -> None:
    write_snapshot(tmp_path, "b", compression=compression)
    write_log(tmp_path, (log.SET_DATA, log.set_data("/a", b"new", 1)))
    assert origin_of_files([folder(tmp_path)], ["/a"]) == [written("/a", 1)]
    assert origin_of_files([folder(tmp_path, "/a")], ["/b"]) == [written("/b", 1)]


def test_znodes_in_the_log_only(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, (log.CREATE, log.create("/new")), (log.CREATE, log.create("/a/b")))
    found = origin_of_files([folder(tmp_path)], ["/a", "/new"])
    assert sorted(found) == [written("/a", 1), written("/new", 11)]
    assert origin_of_files([folder(tmp_path, "/a")], ["/b"]) == [written("/b", 12)]


def test_recreated_znodes(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, (log.DELETE, log.delete("/a")), (log.CREATE, log.create("/a")))
    assert origin_of_files([folder(tmp_path)], ["/a"]) == [written("/a", 12)]


@pytest.mark.parametrize("path", ["/none", "/a"])
def test_znodes_missing_in_all_folders(tmp_path: Path, path: str) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, (log.DELETE, log.delete("/a")))
    with pytest.raises(PlanError, match=f"There is no znode {path} any more in the hot ensemble"):
        origin_of_files([folder(tmp_path)], [path])


def test_znodes_of_two_clusters(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "one")
    write_snapshot(tmp_path / "two")
    write_log(tmp_path / "two", (log.DELETE, log.delete("/a")), (log.CREATE, log.create("/other")))
    folders = [folder(tmp_path / "one"), folder(tmp_path / "two")]
    assert origin_of_files(folders, ["/a", "/other"]) == [written("/a", 1), written("/other", 12)]


def test_an_older_snapshot_is_read_where_the_newest_is_damaged(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    (tmp_path / "version-2" / "snapshot.a.gz").write_bytes(b"no snapshot")
    found = origin_of_files([folder(tmp_path)], ["/a"], older_snapshot=True)
    assert found == [written("/a", 1)]
