# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Accepted and refused folders and files of a member."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.folders import folders_of
from support.classify.members import names_of, write_log, write_snapshot
from support.files import log_files as log
from support.files.log_files import LogWriter


def test_log_in_a_separate_folder_is_read(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "data", "x")
    write_log(tmp_path / "log", 11, "y")
    assert names_of(tmp_path / "data", data_log_dir=tmp_path / "log") == ["x", "y"]


def test_folder_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    write_log(tmp_path, 2, "x")
    with pytest.raises(EnsembleError, match=f"There is no snapshot in {tmp_path}/version-2"):
        names_of(tmp_path)


def test_server_without_a_snapshot_starts_with_an_empty_tree(tmp_path: Path) -> None:
    writer = LogWriter(1)
    writer.add(log.CREATE, log.create("/a"))
    writer.add(log.CREATE, log.create("/a/x"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == ["x"]


def test_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    (tmp_path / "version-2" / "log.1").unlink()
    with pytest.raises(
        EnsembleError, match=f"no transaction log in {tmp_path}/version-2: .* snapshot.a are"
    ) as info:
        names_of(tmp_path)
    assert "data_log_dir" in info.value.remedy


def test_new_member_has_no_log(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", zxid=0, newest=0)
    assert list((tmp_path / "version-2").glob("log.*")) == []
    assert names_of(tmp_path) == ["x"]


@pytest.mark.parametrize("name", ["log.5", "snapshot.c.tmp"])
def test_name_of_a_file_that_is_not_read_proves_transactions(tmp_path: Path, name: str) -> None:
    """A leftover log in dataDir, and a snapshot being written."""
    write_snapshot(tmp_path / "data", "x", zxid=2)
    write_log(tmp_path / "log", 3, "y")
    (tmp_path / "data" / "version-2" / name).touch()
    with pytest.raises(EnsembleError, match=f"log ends with 0x3, but the name of .*/{name} proves"):
        names_of(tmp_path / "data", data_log_dir=tmp_path / "log")


def test_name_of_a_skipped_snapshot_proves_transactions(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    write_log(tmp_path, 11, "y")
    (tmp_path / "version-2" / "snapshot.2f").touch()
    with pytest.raises(EnsembleError, match="log ends with 0xb, but the name of .*/snapshot.2f proves"):
        names_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("snapshot.5.zst", "zstd -d "),
        ("log.5.gz", "gunzip "),
        ("snapshot.bak", "Move the file"),
        ("log.x1", "Move the file"),
    ],
)
def test_file_of_an_unknown_kind_is_refused(tmp_path: Path, name: str, remedy: str) -> None:
    write_snapshot(tmp_path)
    (tmp_path / "version-2" / name).touch()
    with pytest.raises(EnsembleError, match=f"{name} does not have a file name of a ZooKeeper") as info:
        names_of(tmp_path)
    assert remedy in info.value.remedy


def test_unfinished_snapshot_of_a_later_release_is_skipped(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    write_log(tmp_path, 11, "y")
    (tmp_path / "version-2" / "snapshot.b.tmp").touch()
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/copy", "The folder of ensemble hot is of type str"),
        ([], "No folder was given for ensemble hot"),
        ({}, "The files of ensemble hot have no data_dir"),
        ({"data_dir": "/copy", "host": "zk1"}, "The folder of ensemble hot: host is not a known key"),
        ({"data_dir": 7}, "The folder of ensemble hot: data_dir is of type int"),
        ({"data_dir": "/copy", "chroot": "a"}, "The chroot 'a' of ensemble hot is not a path"),
    ],
)
def test_invalid_settings_are_refused(given: object, message: str) -> None:
    with pytest.raises(EnsembleError, match=re.escape(message)):
        folders_of("hot", given)
