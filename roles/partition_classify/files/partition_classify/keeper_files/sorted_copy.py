# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sorts a snapshot of Keeper into the files of a ZooKeeper member.

The znodes of a snapshot of Keeper have no order, so the znodes of a table lie all over the file. The copy has
the order of a tree walk and the format of a snapshot of ZooKeeper 3.9. Only znodes with children are sorted:
those without follow their parent in any order, as in files of ZooKeeper.

All readers of ZooKeeper's files read the copy, also in ranges and in several tasks. A snapshot of Keeper is
complete at one transaction, so the log of the copy is empty.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from olap_partmove._partmove.errors import EnsembleError

from ..zookeeper_files.damage import unreadable
from ..zookeeper_files.wrong_folders import VERSION
from .damage import damaged
from .folder_merge import FolderFile, StoredPart
from .folder_run import FolderPart, FolderRun
from .listing import KeeperSnapshot
from .snapshot import KeeperScan, open_snapshot
from .tree_check import TreeCheck

_SNAPSHOT_HEADER = struct.pack(">4siqii", b"ZKSN", 2, -1, 0, 0)
_LOG_HEADER = struct.pack(">4siq", b"ZKLG", 2, -1) + bytes(16)
_END = struct.pack(">i", 1) + b"/"
_LONG = struct.Struct(">q")
_FLUSH_BYTES = 64 << 10
_LOG_EVERY = 10_000_000
RUN_BYTES = 64 << 20
"""Memory for the znodes of a run. Writing takes as much again, for the largest folder of the run."""


def write_sorted_copy(
    snapshot: KeeperSnapshot,
    folder: Path,
    log: Callable[[str], None] = lambda _line: None,
    run_bytes: int = RUN_BYTES,
) -> None:
    """Write the sorted copy of the snapshot into ``folder``, as the dataDir of a ZooKeeper member.

    Takes as many bytes there as the content of the snapshot, and twice as many until it is finished.
    log: receives lines with the progress. run_bytes: memory for znodes.

    Raises:
        DamagedFile: the snapshot is damaged or of an unknown format.
        EnsembleError: the snapshot cannot be read, or changed meanwhile.
        OSError: the copy cannot be written.
    """
    before = _state(snapshot.path)
    data = folder / VERSION
    data.mkdir()
    with open_snapshot(snapshot.path) as scan:
        _check_index(snapshot, scan)
        log(f"sorting the {scan.znodes:,} znodes of {snapshot.path} into {folder}")
        zxid = scan.header.zxid
        # The temporary file has no name, so it disappears with the process.
        with tempfile.TemporaryFile(dir=folder) as runs, (data / f"snapshot.{zxid:x}").open("wb") as file:
            folders, run = FolderFile(runs), FolderRun()
            _read_runs(scan, folders, run, run_bytes, log)
            _write_snapshot(file, folders.merged(run.parts()), TreeCheck(snapshot.path), zxid)
    if _state(snapshot.path) != before:
        raise EnsembleError(
            f"{snapshot.path} was changed while it was read",
            remedy="Wait until its copy is finished, and run again",
        )
    (data / f"log.{zxid + 1:x}").write_bytes(_LOG_HEADER)
    log(f"sorted {snapshot.path}, which has all transactions up to 0x{zxid:x}")


def _read_runs(
    scan: KeeperScan, folders: FolderFile, run: FolderRun, run_bytes: int, log: Callable[[str], None]
) -> None:
    """Read all znodes; leave the last ones in ``run``."""
    read, next_line = 0, _LOG_EVERY
    for number in scan.read_into(run):
        read += number
        if read >= next_line:
            log(f"read {read:,} of {scan.znodes:,} znodes")
            next_line = read + _LOG_EVERY
        if run.size >= run_bytes:
            folders.write(run.parts())
            run.clear()


def _check_index(snapshot: KeeperSnapshot, scan: KeeperScan) -> None:
    if scan.header.log_index != snapshot.log_index:
        raise damaged(
            snapshot.path,
            None,
            f"the last log entry in the snapshot is {scan.header.log_index}, unlike in the name of the file",
        )


def _write_snapshot(
    file: IO[bytes], folders: Iterable[Sequence[FolderPart | StoredPart]], check: TreeCheck, zxid: int
) -> None:
    """Write header, records, seal, and the trailer with the last zxid."""
    target = _SealedFile(file)
    target.write(_SNAPSHOT_HEADER)
    for parts in folders:
        check.take(parts)
        # What is below a znode directly follows the znode.
        for part in parts:
            target.write(part.own)
        for part in parts:
            target.write(part.joined_records())
    check.end()
    for content in (_END, _LONG.pack(zxid)):
        target.write(content)
        target.seal()


class _SealedFile:
    """Writes a file with checksums of everything before them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sum = zlib.adler32(b"")
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, content: bytes) -> None:
        if len(content) > _FLUSH_BYTES:
            # Joining copies more than one piece.
            self._flush()
        self._waiting.append(content)
        self._size += len(content)
        if self._size > _FLUSH_BYTES:
            self._flush()

    def seal(self) -> None:
        self._flush()
        self.write(_LONG.pack(self._sum) + _END)
        self._flush()

    def _flush(self) -> None:
        content = b"".join(self._waiting)
        self._sum = zlib.adler32(content, self._sum)
        self._file.write(content)
        self._waiting, self._size = [], 0


def _state(path: Path) -> tuple[int, int]:
    """Return size and time of the last change, in nanoseconds."""
    try:
        stat = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return stat.st_size, stat.st_mtime_ns
