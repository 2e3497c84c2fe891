# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The transaction logs of a member, read file by file as one sequence of transactions.

A log file is a header, then records: Adler-32 checksum, length, that many bytes, and the letter B. The bytes
are a transaction header, the change, and from 3.6 on an optional digest of the tree. Servers preallocate
files and fill them with zeros.

- Unfinished record: a crash, or a copy during a write, may leave an unfinished last record. Its transaction
  was never reported as committed. As in ZooKeeper, the file ends with the previous record, but only if
  nothing except zeros follows.
- Corrupt: a finished record with a wrong checksum, and zeros in the middle of a file.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile, unreadable
from .folders import ZxidFile
from .txn_kinds import CHANGES_NOTHING

_MAGIC = b"ZKLG"
_VERSION = 2
_FILE_HEADER = struct.Struct(">4siq")
_RECORD_HEADER = struct.Struct(">qi")
_FINISHED = b"B"
_UNWRITTEN = b"\0"
# The upper half of the checksum field is always zero.
_UNUSED_OF_SUM = 4
_ZEROS = re.compile(rb"\0{4,}")
_TXN_HEADER = struct.Struct(">qiqqi")
_CHUNK_BYTES = 1 << 20
# jute.maxbuffer is 1 MiB by default; no working server writes records above this limit.
_LARGEST = 1 << 28
_COUNTER = 0xFFFFFFFF
DIGEST_SIZE = 4 + 8
"""Bytes of the optional tree digest at the end of a transaction, version included."""
_DIGEST_VERSION = struct.pack(">i", 2)


class Txn(NamedTuple):
    """One transaction. ``time``: milliseconds since 1970; ``body``: bytes of the change."""

    offset: int
    """Offset of the record in the file."""
    session: int
    zxid: int
    time: int
    kind: int
    body: bytes

    @property
    def digest(self) -> bytes | None:
        """Tree digest at the end of the body; meaningless bytes if the server writes no digests."""
        digest = self.body[-DIGEST_SIZE:]
        return digest if len(digest) == DIGEST_SIZE and digest.startswith(_DIGEST_VERSION) else None


def log_files(logs: Sequence[ZxidFile], zxid: int) -> tuple[ZxidFile, ...]:
    """Return the logs, sorted, that may contain transactions after ``zxid``."""
    first = max((number for number, log in enumerate(logs) if log.zxid <= zxid + 1), default=0)
    return tuple(logs[first:])


def read_logs(logs: Sequence[ZxidFile], after: int, until: int | None = None) -> Iterator[tuple[Path, Txn]]:
    """Yield each transaction after ``after`` up to ``until``, once and in order, with its file.

    Raises DamagedFile, and EnsembleError for a gap between transactions.
    """
    last = after
    latest: Txn | None = None
    for log in logs:
        before: Txn | None = None
        for txn in _transactions(log.path):
            previous, before = before, txn
            if txn.zxid <= last:
                # After catching up with its leader, a member may log transactions a second time.
                latest = txn if txn.zxid == last else latest
                continue
            if until is not None and txn.zxid > until:
                return
            is_in_file = previous is not None and previous.zxid == last
            if txn.zxid != last + 1 and not (is_in_file and _begins_epoch(txn)):
                _check_gap(txn, last, latest, log.path)
            last, latest = txn.zxid, txn
            yield log.path, txn


def _begins_epoch(txn: Txn) -> bool:
    """Return whether the zxid's counter is 1, as after a leader election.

    Every write increments the counter, including failed writes.
    """
    return txn.zxid & _COUNTER == 1


def _check_gap(txn: Txn, last: int, latest: Txn | None, path: Path) -> None:
    """Raise EnsembleError unless the log is complete between ``last`` and a transaction with another zxid.

    latest: the transaction with the zxid ``last``; None if only the snapshot contains it.

    A jump is expected where a new leader starts a file, provided that the file continues the previous one.
    The zxid does not show how many transactions the previous epoch had; the tree digest does: it is equal
    before and after a transaction that leaves the tree unchanged, as the first transaction of an epoch often
    does.
    """
    if not _begins_epoch(txn):
        raise EnsembleError(
            f"{path}: transaction 0x{txn.zxid:x} follows 0x{last:x}; transactions between them are missing",
            remedy="Copy all log files that are as old as the snapshot or newer; include dataLogDir",
        )
    digest = None if latest is None else latest.digest
    if last and (digest is None or txn.kind not in CHANGES_NOTHING or txn.digest != digest):
        raise EnsembleError(
            f"{path} begins with transaction 0x{txn.zxid:x} of a new leader, and nothing proves that"
            f" 0x{last:x} was the last transaction of the previous leader: a log file may be missing",
            remedy="Copy all log files again; if none is missing, take the files of a member with a"
            f" snapshot of the new leader's epoch, snapshot.{txn.zxid - 1:x} or newer",
        )


def _transactions(path: Path) -> Iterator[Txn]:
    try:
        file = path.open("rb", buffering=_CHUNK_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    with file:
        if _read_file_header(file, path):
            while (txn := _next(file, path)) is not None:
                yield txn


def _read_file_header(file: IO[bytes], path: Path) -> bool:
    """Return whether the file has a header; a crash can leave an empty file."""
    header = _read(file, _FILE_HEADER.size, path)
    if len(header) < _FILE_HEADER.size or not any(header):
        _check_unfinished(path, 0, len(header))
        return False
    magic, version, _dbid = _FILE_HEADER.unpack(header)
    if magic != _MAGIC:
        raise DamagedFile(path, 0, "this is not a ZooKeeper transaction log")
    if version != _VERSION:
        raise DamagedFile(path, 4, f"the format version is {version}, expected {_VERSION}")
    return True


def _next(file: IO[bytes], path: Path) -> Txn | None:
    """Return the next transaction, None at the end. Raises DamagedFile."""
    offset = file.tell()
    head = _read(file, _RECORD_HEADER.size, path)
    if len(head) < _RECORD_HEADER.size:
        return None
    checksum, length = _RECORD_HEADER.unpack(head)
    if not 0 <= length <= _LARGEST:
        raise DamagedFile(path, offset, f"{length} is not a valid length of a transaction")
    record = _read(file, length + len(_FINISHED), path) if length else b""
    body = record[:length]
    if len(record) <= length or record[length:] == _UNWRITTEN:
        _check_unfinished(path, offset, _RECORD_HEADER.size + len(record))
        return None
    if record[length:] != _FINISHED or zlib.adler32(body) != checksum or length < _TXN_HEADER.size:
        raise DamagedFile(path, offset, "a transaction is corrupt: it does not match its checksum")
    session, _cxid, zxid, time, kind = _TXN_HEADER.unpack_from(body)
    return Txn(offset, session, zxid, time, kind, body[_TXN_HEADER.size :])


def _check_unfinished(path: Path, offset: int, size: int) -> None:
    """Raise DamagedFile unless the record at ``offset`` is an unfinished last record.

    Only zeros may follow its ``size`` apparent bytes. With a damaged length, these bytes may extend over
    other records up to the end of the file.
    """
    rest = _without_zeros_at_end(path, offset)
    head = rest[: _RECORD_HEADER.size]
    if len(head) == _RECORD_HEADER.size and rest.endswith(_FINISHED):
        body = memoryview(rest)[_RECORD_HEADER.size : -len(_FINISHED)]
        if len(body) >= _TXN_HEADER.size and zlib.adler32(body) == _RECORD_HEADER.unpack(head)[0]:
            raise DamagedFile(path, offset, "the length of a transaction is corrupt")
    if len(rest) > size or any(_is_record(rest, start) for start in _possible_starts(rest)):
        raise DamagedFile(path, offset, "a transaction is torn, although other transactions follow,")


def _without_zeros_at_end(path: Path, offset: int) -> bytes:
    """Return the bytes from ``offset`` without trailing zeros. Never holds all of the zeros in memory."""
    content, zeros = bytearray(), 0
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while chunk := file.read(_CHUNK_BYTES):
                written = chunk.rstrip(b"\0")
                if written:
                    content += bytes(zeros) + written
                    zeros = 0
                zeros += len(chunk) - len(written)
    except OSError as error:
        raise unreadable(path, error) from error
    return bytes(content)


def _possible_starts(rest: bytes) -> Iterator[int]:
    """Yield the positions after the first byte where a record may start.

    A record starts with a 4-byte checksum in an 8-byte field: the zero half ends a run of zeros, perhaps
    extended by leading zeros of the checksum.
    """
    for zeros in _ZEROS.finditer(rest, 1):
        start, end = zeros.span()
        yield from range(max(start, end - _RECORD_HEADER.size), end - _UNUSED_OF_SUM + 1)


def _is_record(rest: bytes, start: int) -> bool:
    """Return whether a complete record with a matching checksum starts at ``start``."""
    body = start + _RECORD_HEADER.size
    if body > len(rest):
        return False
    checksum: int
    checksum, length = _RECORD_HEADER.unpack_from(rest, start)
    end = body + length
    if not _TXN_HEADER.size <= length or rest[end : end + len(_FINISHED)] != _FINISHED:
        return False
    return zlib.adler32(memoryview(rest)[body:end]) == checksum


def _read(file: IO[bytes], size: int, path: Path) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise unreadable(path, error) from error
