# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which snapshot and which logs of a member are read together, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.members import COMPRESSIONS, names_of, write_log, write_snapshot
from support.files.snapshot_files import Trailers


def test_log_files_that_the_snapshot_covers_are_not_needed(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", zxid=12)
    write_log(tmp_path, 1, "a")
    write_log(tmp_path, 10, "w", "x", "v", "y")
    assert names_of(tmp_path) == ["x", "y"]


def test_older_snapshot_is_read_only_when_asked_for(tmp_path: Path) -> None:
    newest = with_two_snapshots(tmp_path)
    content = bytearray(newest.read_bytes())
    content[-20] ^= 1
    newest.write_bytes(content)
    with pytest.raises(DamagedFile, match=f"^{newest}: "):
        names_of(tmp_path)

    skipped: list[DamagedFile] = []
    assert names_of(tmp_path, older_snapshot=True, on_skipped=skipped.append) == ["new", "newer", "old"]
    assert [error.path for error in skipped] == [newest]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_snapshot_being_written_is_skipped(tmp_path: Path, compression: str) -> None:
    newest = with_two_snapshots(tmp_path, compression)
    content = newest.read_bytes()
    for size in range(0, len(content) - (14 if compression else 1), 7):
        newest.write_bytes(content[:size])
        skipped: list[DamagedFile] = []
        assert names_of(tmp_path, on_skipped=skipped.append) == ["new", "newer", "old"]
        assert [error.path for error in skipped] == [newest], size


def test_only_snapshot_cannot_be_skipped(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, "x")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DamagedFile, match=f"^{path}: the file is torn"):
        names_of(tmp_path, older_snapshot=True)


def with_two_snapshots(data_dir: Path, compression: str = "") -> Path:
    """Write two snapshots; the newest has all log changes but the last transaction. Return it."""
    write_snapshot(data_dir, "old", zxid=10)
    write_log(data_dir, 11, "new", "newer")
    return write_snapshot(data_dir, "old", "new", zxid=11, compression=compression)


def test_older_snapshot_does_not_help_a_corrupt_log(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", zxid=9)
    write_snapshot(tmp_path, "x", zxid=10)
    path = tmp_path / "version-2" / "log.b"
    writer = write_log(tmp_path, 11, "y", "z")
    writer.content[60] ^= 1
    path.write_bytes(writer.content)
    with pytest.raises(DamagedFile, match=f"^{path}: a transaction is corrupt.* at byte 16"):
        names_of(tmp_path, older_snapshot=True)


@pytest.mark.parametrize("trailers", [Trailers(digest=12), Trailers(last_zxid=12)], ids=["3.6", "3.9"])
def test_log_older_than_the_snapshot_is_refused(tmp_path: Path, trailers: Trailers) -> None:
    write_snapshot(tmp_path, "x", trailers=trailers)
    write_log(tmp_path, 11, "y")
    with pytest.raises(DamagedFile, match="has transaction 0xc, but the log ends with 0xb"):
        names_of(tmp_path)


def test_log_older_than_a_znode_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", newest=12)
    write_log(tmp_path, 11, "y")
    with pytest.raises(DamagedFile, match="has transaction 0xc, but the log ends with 0xb"):
        names_of(tmp_path)
