# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sorts a snapshot of Keeper into the files of a ZooKeeper member.

The znodes of a snapshot of Keeper have no order, so the znodes of a table lie all over the file. The copy has
the order of a tree walk and the format of a snapshot of ZooKeeper 3.9. All readers of ZooKeeper's files read
the copy, also in ranges and in several tasks. A snapshot of Keeper is complete at one transaction, so the log
of the copy is empty.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from olap_partmove._partmove.errors import EnsembleError

from ..zookeeper_files.damage import unreadable
from ..zookeeper_files.wrong_folders import VERSION
from .damage import damaged
from .listing import KeeperSnapshot
from .snapshot import KeeperScan, open_snapshot
from .sorting import RUN_BYTES, sorted_entries
from .tree_check import TreeCheck
from .znodes import ZnodeEntry

_SNAPSHOT_HEADER = struct.pack(">4siqii", b"ZKSN", 2, -1, 0, 0)
_LOG_HEADER = struct.pack(">4siq", b"ZKLG", 2, -1) + bytes(16)
_END = struct.pack(">i", 1) + b"/"
_LONG = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_FLUSH_BYTES = 1 << 20
_LOG_EVERY = 10_000_000


def write_sorted_copy(
    snapshot: KeeperSnapshot,
    folder: Path,
    log: Callable[[str], None] = lambda _line: None,
    run_bytes: int = RUN_BYTES,
) -> None:
    """Write the sorted copy of the snapshot into ``folder``, as the dataDir of a ZooKeeper member.

    Takes as many bytes there as the content of the snapshot, and twice as many until it is finished.
    log: receives lines with the progress. run_bytes: see `sorted_entries`.

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
        with (data / f"snapshot.{zxid:x}").open("wb") as file:
            entries = sorted_entries(_logged(scan, log), folder, run_bytes)
            _write_snapshot(file, entries, TreeCheck(snapshot.path), zxid)
    if _state(snapshot.path) != before:
        raise EnsembleError(
            f"{snapshot.path} was changed while it was read",
            remedy="Wait until its copy is finished, and run again",
        )
    (data / f"log.{zxid + 1:x}").write_bytes(_LOG_HEADER)
    log(f"sorted {snapshot.path}, which has all transactions up to 0x{zxid:x}")


def _logged(scan: KeeperScan, log: Callable[[str], None]) -> Iterator[bytes]:
    left = _LOG_EVERY
    for number, entry in enumerate(scan.entries()):
        if number == left:
            log(f"read {number:,} of {scan.znodes:,} znodes")
            left += _LOG_EVERY
        yield entry


def _check_index(snapshot: KeeperSnapshot, scan: KeeperScan) -> None:
    if scan.header.log_index != snapshot.log_index:
        raise damaged(
            snapshot.path,
            None,
            f"the last log entry in the snapshot is {scan.header.log_index}, unlike in the name of the file",
        )


def _write_snapshot(file: IO[bytes], entries: Iterable[bytes], check: TreeCheck, zxid: int) -> None:
    """Write header, records, seal, and the trailer with the last zxid."""
    pieces, size, checksum = [_SNAPSHOT_HEADER], 0, zlib.adler32(b"")
    for packed in entries:
        entry = ZnodeEntry.unpacked(packed)
        check.take(entry)
        path, data = entry.key.replace(b"\0", b"/"), entry.data
        pieces.append(
            b"%b%b%b%b%b" % (_LENGTH.pack(len(path)), path, _LENGTH.pack(len(data)), data, entry.stored)
        )
        size += len(pieces[-1])
        if size > _FLUSH_BYTES:
            content = b"".join(pieces)
            checksum = zlib.adler32(content, checksum)
            file.write(content)
            pieces, size = [], 0
    check.end()
    for content in (b"".join(pieces) + _END, _LONG.pack(zxid)):
        checksum = zlib.adler32(content, checksum)
        seal = _LONG.pack(checksum) + _END
        checksum = zlib.adler32(seal, checksum)
        file.write(content + seal)


def _state(path: Path) -> tuple[int, int]:
    """Return size and time of the last change, in nanoseconds."""
    try:
        stat = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    return stat.st_size, stat.st_mtime_ns
