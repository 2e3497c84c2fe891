# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files with backups: created when needed, private to the owner, and never overwriting a file."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    DELETED,
    Backup,
    BackupHeader,
    Left,
    PartitionLeft,
    SavedZnode,
    WrittenZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.backup_file import BackupFile, read_backup

Maker = Callable[..., BackupFile]
HEADER = BackupHeader("2026-11-22T06:00:00.000Z", "/clickhouse/tables/01/hits", 7, "ghost")


CREATED = WrittenZnode("hot", f"{HEADER.shard_path}/c", Left(b"new", 0))
PARTITION = PartitionLeft("20190101", Left(b"HOT", 1), {"r1": ["20190101_0_0_0"]}, {})


def saved(name: str, ensemble: str = "cold") -> SavedZnode:
    return SavedZnode(ensemble, f"{HEADER.shard_path}/{name}", b"\x00\xff", 3, DELETED)


@pytest.fixture
def make() -> Iterator[Maker]:
    """Return a function that creates a backup. The backup is closed at the end of the test."""
    with ExitStack() as stack:

        def backup(folder: Path, header: BackupHeader = HEADER) -> BackupFile:
            made = BackupFile(str(folder), header)
            stack.callback(made.close)
            return made

        yield backup


def test_no_file_exists_before_the_first_save(tmp_path: Path, make: Maker) -> None:
    backup = make(tmp_path)
    assert (backup.path, list(tmp_path.iterdir())) == ("", [])


def test_saved_znodes_can_be_read_before_the_file_is_closed(tmp_path: Path, make: Maker) -> None:
    backup = make(tmp_path)
    backup.save([saved("a"), saved("b")])
    backup.save([saved("a", "hot")])
    (path,) = tmp_path.iterdir()
    assert backup.path == str(path)
    assert path.name == "2026-11-22T060000.000Z-ghost-%2Fclickhouse%2Ftables%2F01%2Fhits.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_backup(str(path)) == Backup.of(HEADER, [saved("a"), saved("b"), saved("a", "hot")])


def test_a_repair_that_only_creates_needs_no_file(tmp_path: Path, make: Maker) -> None:
    backup = make(tmp_path)
    backup.save([CREATED])
    backup.save_left([PARTITION])
    assert (backup.path, list(tmp_path.iterdir())) == ("", [])


def test_created_znodes_are_in_a_file_that_is_needed_later(tmp_path: Path, make: Maker) -> None:
    backup = make(tmp_path)
    backup.save([CREATED])
    backup.save([saved("a")])
    backup.save([CREATED])
    backup.save_left([PARTITION])
    assert read_backup(backup.path) == Backup(HEADER, [saved("a")], [CREATED, CREATED], [PARTITION])


def test_an_existing_file_is_never_overwritten(tmp_path: Path, make: Maker) -> None:
    make(tmp_path).save([saved("a")])
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    with pytest.raises(PartMoveError, match=f"^No backup can be written to {tmp_path}: File exists"):
        make(tmp_path).save([saved("b")])
    assert path.read_bytes() == before


def test_the_name_of_a_long_path_is_cut(tmp_path: Path, make: Maker) -> None:
    header = HEADER._replace(shard_path="/" + "/".join(["a" * 60] * 6))
    backup = make(tmp_path, header)
    backup.save([saved("a")])
    assert read_backup(backup.path)[0] == header


def test_a_missing_folder_is_reported(tmp_path: Path, make: Maker) -> None:
    with pytest.raises(PartMoveError) as refused:
        make(tmp_path / "none").save([saved("a")])
    assert refused.value.message == (
        f"No backup can be written to {tmp_path}/none: No such file or directory;"
        " nothing was changed without a backup"
    )
    assert refused.value.remedy == (
        "Give as backup a folder that exists, has room, and that this user may write to"
    )


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PartMoveError, match=f"^The backup {tmp_path} cannot be read: Is a directory"):
        read_backup(str(tmp_path))


def test_a_file_of_another_format_is_reported_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(HEADER.encode() + b"junk\n")
    with pytest.raises(FormatError, match=f"^{path}, line 2 is no JSON object"):
        read_backup(str(path))
