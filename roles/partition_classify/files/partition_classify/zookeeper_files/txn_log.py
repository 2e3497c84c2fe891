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

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile, unreadable
from .folders import NamedFile
from .txn_kinds import CHANGES_NOTHING

_MAGIC = b"ZKLG"
_VERSION = 2
_FILE_HEADER = struct.Struct(">4siq")
_RECORD_HEADER = struct.Struct(">qi")
_FINISHED = b"B"
_UNWRITTEN = b"\0"
# The upper half of the field for the sum is never used.
_UNUSED_OF_SUM = 4
_ZEROS = re.compile(rb"\0{4,}")
_TXN_HEADER = struct.Struct(">qiqqi")
_PIECE = 1 << 20
# jute.maxbuffer is 1 MiB unless set; a log with a larger record than this is not one of a server that works.
_LARGEST = 1 << 28
_COUNTER = 0xFFFFFFFF
DIGEST_SIZE = 4 + 8
"""How many bytes the digest of the tree takes with its version, at the end of a transaction."""
_DIGEST_VERSION = struct.pack(">i", 2)


class Txn(NamedTuple):
    """One transaction; ``time`` is in milliseconds since 1970, ``body`` the bytes of what it did."""

    offset: int
    """Where its record begins in the file."""
    session: int
    zxid: int
    time: int
    kind: int
    body: bytes

    @property
    def digest(self) -> bytes | None:
        """What the body ends with where the server writes digests; of others it may be anything, too."""
        digest = self.body[-DIGEST_SIZE:]
        return digest if len(digest) == DIGEST_SIZE and digest.startswith(_DIGEST_VERSION) else None


def log_files(logs: Sequence[NamedFile], zxid: int) -> tuple[NamedFile, ...]:
    """Those of the logs, sorted, that may have a transaction after ``zxid``."""
    first = max((number for number, log in enumerate(logs) if log.zxid <= zxid + 1), default=0)
    return tuple(logs[first:])


def read_logs(logs: Sequence[NamedFile], after: int, until: int | None = None) -> Iterator[tuple[Path, Txn]]:
    """Every transaction after ``after``, each once and in order, up to ``until``; with the file it is in.

    Raises DamagedFile, and EnsembleError where transactions are missing between two that are there.
    """
    last = after
    latest: Txn | None = None
    for log in logs:
        before: Txn | None = None
        for txn in _transactions(log.path):
            previous, before = before, txn
            if txn.zxid <= last:
                # A member that has caught up with its leader may log what it has logged before.
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
    """Every write takes a number, also one that fails; a new leader begins with 1 again."""
    return txn.zxid & _COUNTER == 1


def _check_gap(txn: Txn, last: int, latest: Txn | None, path: Path) -> None:
    """Raise EnsembleError unless nothing is missing between ``last`` and a transaction of another number.

    ``latest`` is the transaction of the number ``last``, None where only the snapshot has it. So it is where
    a new leader begins a file, if that file goes on where the one before it ends.

    The numbers do not tell how many transactions the epoch before had. What does is the digest of the tree:
    it is the same before and after a transaction that does not touch the tree, as the first of an epoch often
    does not.
    """
    if not _begins_epoch(txn):
        raise EnsembleError(
            f"{path}: transaction 0x{txn.zxid:x} follows 0x{last:x}, so those between them are missing",
            remedy="Copy all log files that are as old as the snapshot or newer, also those of dataLogDir",
        )
    digest = None if latest is None else latest.digest
    if last and (digest is None or txn.kind not in CHANGES_NOTHING or txn.digest != digest):
        raise EnsembleError(
            f"{path} begins with transaction 0x{txn.zxid:x} of a new leader, and nothing shows that"
            f" 0x{last:x}, after which it is read, was the last of the one before: a log file may be missing",
            remedy="Copy all log files again; if none is missing, take the files of a member that has a"
            f" snapshot of the new leader's time, snapshot.{txn.zxid - 1:x} or newer",
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
        _check_unfinished(path, 0, len(header))
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
    body = record[:length]
    if len(record) <= length or record[length:] == _UNWRITTEN:
        _check_unfinished(path, offset, _RECORD_HEADER.size + len(record))
        return None
    if record[length:] != _FINISHED or zlib.adler32(body) != checksum or length < _TXN_HEADER.size:
        raise DamagedFile(path, offset, "a transaction is corrupt: it does not match its checksum")
    session, _cxid, zxid, time, kind = _TXN_HEADER.unpack_from(body)
    return Txn(offset, session, zxid, time, kind, body[_TXN_HEADER.size :])


def _check_unfinished(path: Path, offset: int, size: int) -> None:
    """Raise DamagedFile unless the record at the offset is one that a server has not written to its end.

    After the ``size`` bytes that it seems to have there may be zeros only. Where its length is damaged these
    bytes may be all of the file, and have other records in them.
    """
    rest = _without_zeros_at_end(path, offset)
    head = rest[: _RECORD_HEADER.size]
    if len(head) == _RECORD_HEADER.size and rest.endswith(_FINISHED):
        body = memoryview(rest)[_RECORD_HEADER.size : -len(_FINISHED)]
        if len(body) >= _TXN_HEADER.size and zlib.adler32(body) == _RECORD_HEADER.unpack(head)[0]:
            raise DamagedFile(path, offset, "the length of a transaction is corrupt")
    if len(rest) > size or any(_is_record(rest, start) for start in _possible_starts(rest)):
        raise DamagedFile(path, offset, "a transaction is torn, although others follow it,")


def _without_zeros_at_end(path: Path, offset: int) -> bytes:
    """The bytes of the file from the offset on. The zeros at its end are many, and never all in memory."""
    found, zeros = bytearray(), 0
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while piece := file.read(_PIECE):
                written = piece.rstrip(b"\0")
                if written:
                    found += bytes(zeros) + written
                    zeros = 0
                zeros += len(piece) - len(written)
    except OSError as error:
        raise unreadable(path, error) from error
    return bytes(found)


def _possible_starts(rest: bytes) -> Iterator[int]:
    """Where in the bytes, but at their beginning, a record may begin.

    It begins with a sum of 4 bytes in a field of 8, so the half that is zero ends a row of zeros, or the sum
    begins with some zeros more.
    """
    for zeros in _ZEROS.finditer(rest, 1):
        start, end = zeros.span()
        yield from range(max(start, end - _RECORD_HEADER.size), end - _UNUSED_OF_SUM + 1)


def _is_record(rest: bytes, start: int) -> bool:
    """Whether a whole record begins there that matches its sum."""
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
