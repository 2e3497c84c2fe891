# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The transaction log of a member, read file by file as one sequence of transactions.

A log file is a header, then records: an Adler-32 sum, a length, so many bytes, and the letter B. The bytes
are the header of a transaction, what it did, and from 3.6 on maybe a digest of the tree. Servers allocate
a file ahead and fill it with zeros.

A server that dies, or writes while its files are copied, leaves a record that is not finished, as the last
one of a file: nobody was told that its transaction is committed. As in ZooKeeper the file then ends with
the record before, but only if nothing but zeros follows. A record that is finished and does not match its
sum is corrupt, and so is a file in whose middle there are zeros.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile, unreadable
from .folders import NamedFile

_MAGIC = b"ZKLG"
_VERSION = 2
_FILE_HEADER = struct.Struct(">4siq")
_RECORD_HEADER = struct.Struct(">qi")
_FINISHED = b"B"
_TXN_HEADER = struct.Struct(">qiqqi")
_PIECE = 1 << 20
# jute.maxbuffer is 1 MiB unless set; a log with a larger record than this is not one of a server that works.
_LARGEST = 1 << 28
_COUNTER = 0xFFFFFFFF


class Txn(NamedTuple):
    """One transaction; ``time`` is in milliseconds since 1970, ``body`` the bytes of what it did."""

    offset: int
    """Where its record begins in the file."""
    session: int
    zxid: int
    time: int
    kind: int
    body: bytes


def log_files(logs: Sequence[NamedFile], zxid: int) -> tuple[NamedFile, ...]:
    """Those of the logs, sorted, that may have a transaction after ``zxid``."""
    first = max((number for number, log in enumerate(logs) if log.zxid <= zxid + 1), default=0)
    return tuple(logs[first:])


def read_logs(logs: Sequence[NamedFile], after: int, until: int | None = None) -> Iterator[tuple[Path, Txn]]:
    """Every transaction after ``after``, each once and in order, up to ``until``; with the file it is in.

    Raises DamagedFile, and EnsembleError where transactions are missing between two that are there.
    """
    last = after
    for log in logs:
        for txn in _transactions(log.path):
            if txn.zxid <= last:
                # A member that has caught up with its leader may log what it has logged before.
                continue
            if until is not None and txn.zxid > until:
                return
            _check_follows(txn.zxid, last, log.path)
            last = txn.zxid
            yield log.path, txn


def _check_follows(zxid: int, last: int, path: Path) -> None:
    """Every write takes a number, also one that fails; a new leader begins with 1 again."""
    if zxid != last + 1 and zxid & _COUNTER != 1:
        raise EnsembleError(
            f"{path}: transaction 0x{zxid:x} follows 0x{last:x}, so those between them are missing",
            remedy="Copy all log files that are as old as the snapshot or newer, also those of dataLogDir",
        )


def _transactions(path: Path) -> Iterator[Txn]:
    try:
        file = path.open("rb", buffering=_PIECE)
    except OSError as error:
        raise unreadable(path, error) from error
    with file:
        if _read_file_header(file, path):
            while (txn := _next(file, path)) is not None:
                yield txn


def _read_file_header(file: IO[bytes], path: Path) -> bool:
    """Whether there is one; a server that dies at the wrong moment leaves an empty file."""
    header = _read(file, _FILE_HEADER.size, path)
    if len(header) < _FILE_HEADER.size or not any(header):
        _check_nothing_follows(file, path, 0)
        return False
    magic, version, _dbid = _FILE_HEADER.unpack(header)
    if magic != _MAGIC:
        raise DamagedFile(path, 0, "this is no transaction log of ZooKeeper")
    if version != _VERSION:
        raise DamagedFile(path, 4, f"the format version is {version}, known is {_VERSION}")
    return True


def _next(file: IO[bytes], path: Path) -> Txn | None:
    """The next transaction; None at the end. Raises DamagedFile."""
    offset = file.tell()
    head = _read(file, _RECORD_HEADER.size, path)
    if len(head) < _RECORD_HEADER.size:
        return None
    checksum, length = _RECORD_HEADER.unpack(head)
    if not 0 <= length <= _LARGEST:
        raise DamagedFile(path, offset, f"{length} is no length of a transaction")
    record = _read(file, length + len(_FINISHED), path) if length else b""
    if len(record) <= length or record[length:] != _FINISHED:
        _check_nothing_follows(file, path, offset)
        return None
    body = record[:length]
    if zlib.adler32(body) != checksum or length < _TXN_HEADER.size:
        raise DamagedFile(path, offset, "a transaction is corrupt: it does not match its checksum")
    session, _cxid, zxid, time, kind = _TXN_HEADER.unpack_from(body)
    return Txn(offset, session, zxid, time, kind, body[_TXN_HEADER.size :])


def _check_nothing_follows(file: IO[bytes], path: Path, offset: int) -> None:
    while piece := _read(file, _PIECE, path):
        if piece.count(0) != len(piece):
            raise DamagedFile(path, offset, "a transaction is torn, although others follow it,")


def _read(file: IO[bytes], size: int, path: Path) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise unreadable(path, error) from error
