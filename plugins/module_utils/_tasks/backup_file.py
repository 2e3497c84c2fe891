# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files with the backups of repairs: one file for each run that deletes or changes znodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from .._partmove.errors import PartMoveError
from .._partmove.patched.repair.backup import (
    Backup,
    BackupHeader,
    BackupLine,
    PartitionLeft,
    SavedZnode,
    parse_backup,
)
from .._partmove.patched.repair.saving import SavedWrite


class BackupFile:
    """A file in a folder, created when the first znode is saved.

    path: path of the file, empty until the file exists. planned: path of the file before and after.
    """

    def __init__(self, folder: str, header: BackupHeader) -> None:
        self.path = ""
        self.planned = str(Path(folder) / _name_of(header))
        self._folder = Path(folder)
        self._header = header
        self._file: BinaryIO | None = None
        self._created: list[SavedWrite] = []

    def save(self, writes: Sequence[SavedWrite]) -> None:
        """Append the znodes. All are on disk on return. Raises PartMoveError if they cannot be written."""
        if self._file is None and not any(isinstance(each, SavedZnode) for each in writes):
            # A repair that only creates znodes overwrites nothing, and needs no file.
            self._created.extend(writes)
            return
        self._append([*self._created, *writes])
        self._created.clear()

    def save_left(self, partitions: Sequence[PartitionLeft]) -> None:
        """Append the state in which the repair leaves the partitions. Raises as `save` does."""
        if self._file is not None:
            self._append(partitions)

    def _append(self, added: Sequence[BackupLine]) -> None:
        lines = [each.encode() for each in added]
        try:
            if self._file is None:
                self._file = self._open()
                lines.insert(0, self._header.encode())
            self._file.write(b"".join(lines))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise PartMoveError(
                f"No backup can be written to {self._folder}: {error.strerror}; nothing was changed without"
                " a backup",
                remedy="Give as backup a folder that exists, has room, and that this user may write to",
            ) from error

    def close(self) -> None:
        """Close the file. Saved znodes are on disk already."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _open(self) -> BinaryIO:
        descriptor = os.open(self.planned, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        file = os.fdopen(descriptor, "wb")
        self.path = self.planned
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return file


_LONGEST = 250


def _name_of(header: BackupHeader) -> str:
    stamp = header.time.replace(":", "")
    return f"{stamp}-{header.kind}-{quote(header.shard_path, safe='')}.jsonl"[:_LONGEST]


def read_backup(path: str) -> Backup:
    """Return the contents. Raises PartMoveError for an unreadable file, FormatError for another format."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise PartMoveError(
            f"The backup {path} cannot be read: {error.strerror}",
            remedy="Give a file that part_repair has written, on the host that runs the module",
        ) from error
    return parse_backup(data, path)
