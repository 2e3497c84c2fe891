# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of one transaction log file.

A log file is a header, then records: Adler-32 checksum, length, that many bytes, and the letter B. The bytes
are a transaction header, the change, and from 3.6 on an optional digest of the tree. Servers preallocate
files and fill them with zeros, 64 MiB at a time by default.

- Unfinished record: a crash, or a copy during a write, may leave an unfinished last record, with preallocated
  zeros after it. Its transaction was never reported as committed. As in ZooKeeper, the file ends with the
  previous record, but only if nothing except zeros follows.
- Cut off: the bytes of the file end within a record, without preallocated zeros. A copy was cut short.
- Corrupt: a finished record with a wrong checksum, and zeros in the middle of a file.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from .damage import DamagedFile, unreadable

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
DIGEST_SIZE = 4 + 8
"""Bytes of the optional tree digest at the end of a transaction, version included."""
DIGEST_VERSION = 2
"""Version of the digests in logs and snapshots that can be compared."""
_DIGEST_VERSION = struct.pack(">i", DIGEST_VERSION)


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


class LogFile:
    """One pass over the records of a log file; the attributes are valid after the pass.

    has_header: False for a file of 0 bytes, or of zeros only.
    cut_at: offset of a record within which the bytes of the file end; None if the file has all bytes.
    is_padded: preallocated zeros follow the last record, so the copy of the file is complete.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.has_header = False
        self.cut_at: int | None = None
        self.is_padded = False

    def __iter__(self) -> Iterator[Txn]:
        """Yield each transaction. Raises DamagedFile, and EnsembleError for a file that cannot be read."""
        try:
            file = self.path.open("rb", buffering=_CHUNK_BYTES)
        except OSError as error:
            raise unreadable(self.path, error) from error
        with file:
            self.has_header = _read_file_header(file, self.path)
            while self.has_header and (txn := self._next(file)) is not None:
                yield txn

    def _next(self, file: IO[bytes]) -> Txn | None:
        """Return the next transaction, None at the end. Raises DamagedFile."""
        path = self.path
        offset = file.tell()
        head = _read(file, _RECORD_HEADER.size, path)
        if len(head) < _RECORD_HEADER.size:
            self._end(offset, _RECORD_HEADER.size, head)
            return None
        checksum, length = _RECORD_HEADER.unpack(head)
        if not 0 <= length <= _LARGEST:
            raise DamagedFile(path, offset, f"{length} is not a valid length of a transaction")
        record = _read(file, length + len(_FINISHED), path) if length else b""
        body = record[:length]
        if len(record) <= length or record[length:] == _UNWRITTEN:
            _check_unfinished(path, offset, _RECORD_HEADER.size + len(record))
            self._end(offset, _RECORD_HEADER.size + length + len(_FINISHED) if length else 0, head + record)
            return None
        if record[length:] != _FINISHED or zlib.adler32(body) != checksum or length < _TXN_HEADER.size:
            raise DamagedFile(path, offset, "a transaction is corrupt: it does not match its checksum")
        session, _cxid, zxid, time, kind = _TXN_HEADER.unpack_from(body)
        return Txn(offset, session, zxid, time, kind, body[_TXN_HEADER.size :])

    def _end(self, offset: int, size: int, rest: bytes) -> None:
        """Note how the file ends: in place of a record of ``size`` bytes it has ``rest``."""
        self.is_padded = rest.endswith(_UNWRITTEN)
        # A file that has grown meanwhile was not cut: its server is writing.
        if any(rest) and len(rest) < size and _size(self.path) == offset + len(rest):
            self.cut_at, self.is_padded = offset, False


def _read_file_header(file: IO[bytes], path: Path) -> bool:
    """Return whether the file has a header."""
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


def _check_unfinished(path: Path, offset: int, size: int) -> None:
    """Raise DamagedFile unless the record at ``offset`` is an unfinished last record.

    Only zeros may follow its ``size`` apparent bytes. With a damaged length, these bytes may extend over
    other records up to the end of the file.

    A running server may finish the record, and write others, after it was first read: the file then ends with
    the record before, as it did at that moment.
    """
    rest = _without_zeros_at_end(path, offset)
    if _is_record(rest, 0) if offset else rest.startswith(_MAGIC):
        return
    head = rest[: _RECORD_HEADER.size]
    if offset and len(head) == _RECORD_HEADER.size:
        checksum, length = _RECORD_HEADER.unpack(head)
        body = memoryview(rest)[_RECORD_HEADER.size : -len(_FINISHED)]
        is_finished = len(body) >= _TXN_HEADER.size and rest.endswith(_FINISHED)
        if is_finished and zlib.adler32(body) == checksum:
            raise DamagedFile(path, offset, "the length of a transaction is corrupt")
        if 0 < length <= _LARGEST:
            size = max(size, _RECORD_HEADER.size + length + len(_FINISHED))
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


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from error


def _read(file: IO[bytes], size: int, path: Path) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise unreadable(path, error) from error
