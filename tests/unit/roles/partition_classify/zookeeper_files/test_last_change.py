# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time up to which files show changes: of the log, or of znodes where there is no log."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.last_change import last_change
from support.classify.members import COMPRESSIONS, write_log, write_snapshot
from support.files import log_files as log
from support.files.log_files import HEADER, TIME, LogWriter


def found(data_dir: Path) -> int:
    return last_change(DataFolder("hot", str(data_dir)))


def time_of(zxid: int) -> int:
    return TIME + 1000 * zxid


def test_last_transaction_of_the_log(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "b", "c")
    assert found(tmp_path) == time_of(12)


def test_transactions_that_change_nothing_prove_that_the_copy_is_not_older(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "b")
    writer.add(log.ERROR, log.error())
    writer.write(tmp_path)
    assert found(tmp_path) == time_of(12)


def test_file_that_the_server_has_just_begun(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "b", "c")
    (tmp_path / "version-2" / "log.d").write_bytes(HEADER + bytes(100))
    assert found(tmp_path) == time_of(12)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_newest_znode_where_nothing_is_logged(tmp_path: Path, compression: str) -> None:
    write_snapshot(tmp_path, "b", newest=9, compression=compression)
    for each in (tmp_path / "version-2").glob("log.*"):
        each.unlink()
    (tmp_path / "version-2" / "log.b").write_bytes(HEADER + bytes(100))
    assert found(tmp_path) == time_of(9)


@pytest.mark.parametrize("logged", [3, 8])
def test_log_that_ends_before_the_snapshot(tmp_path: Path, logged: int) -> None:
    """A member that took the tree of its leader has an old log. Both times are known to be reached."""
    write_snapshot(tmp_path, "b", newest=6)
    for each in (tmp_path / "version-2").glob("log.*"):
        each.unlink()
    write_log(tmp_path, logged, "c")
    assert found(tmp_path) == time_of(max(6, logged))


def test_damaged_snapshot_is_not_asked(tmp_path: Path) -> None:
    writer = LogWriter(4)
    writer.add(log.ERROR, log.error())
    writer.write(tmp_path)
    write_snapshot(tmp_path, "b", newest=5, zxid=6)
    (tmp_path / "version-2" / "snapshot.a").write_bytes(b"no snapshot")
    assert found(tmp_path) == time_of(5)
    (tmp_path / "version-2" / "snapshot.6").write_bytes(b"no snapshot")
    assert found(tmp_path) == time_of(4)


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError):
        found(tmp_path / "none")
