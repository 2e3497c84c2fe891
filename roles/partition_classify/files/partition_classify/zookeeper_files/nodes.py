# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fast loop over the znode records of a snapshot.

Layout of a record, numbers big-endian: path length (4 bytes), path, data length (4 bytes), data, ACL id (8
bytes), stat (60 bytes). ACL id and stat stay packed: most callers need at most one of their fields.
"""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from .content import ByteStream, read_chunk
from .damage import DamagedFile
from .selection import Selection, is_part

END = b"/"
"""Path of the end marker after the last record."""

RECORD_BYTES = 4 + 4 + 8 + 60
"""Bytes of a record without path and data: two lengths, ACL id and stat."""

_INT = struct.Struct(">i")
# mzxid and pzxid of the ACL id and stat at the end of a record, and the length of the next path.
_ZXIDS_AND_LENGTH = struct.Struct(">16xQ36xQi")
_STORED = struct.Struct(">qqqqqiiiqq")
_CHUNK_BYTES = 1 << 20
# Far above the size limit of znodes in servers, far below the memory of a host.
_LARGEST = 1 << 28
# Shortest possible start of a record.
_LENGTH_AND_SLASH = 4 + len(END)


ZnodeRecord: TypeAlias = tuple[int, bytes, bytes, bytes]
"""Offset of the record, path, data, and packed ACL id and stat (`StoredStat`)."""


class StoredStat(NamedTuple):
    """ACL id and stat of a znode as stored by servers. Times in milliseconds since 1970."""

    acl: int
    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    pzxid: int

    @classmethod
    def unpacked(cls, stored: bytes) -> StoredStat:
        """Unpack the last 68 bytes of a record."""
        return cls(*_STORED.unpack(stored))

    def packed(self) -> bytes:
        """Pack into the last 68 bytes of a record."""
        return _STORED.pack(*self)


class RecordReader:
    """Reads snapshot content from offset ``start``; tracks offset and checksum.

    end: offset to stop at, None for the end of the content.

    Memory: the largest record plus a chunk of 1 MiB.
    """

    def __init__(self, content: ByteStream, path: Path, start: int = 0, end: int | None = None) -> None:
        self._content = content
        self._path = path
        self._end = end
        self._buffer = b""
        self._base = start
        self._at = 0
        self._sum = zlib.adler32(b"")
        self.is_at_end = False
        """Whether `selected` has read the end marker."""

    @property
    def offset(self) -> int:
        """Offset in the content of the next unread byte."""
        return self._base + self._at

    @property
    def checksum(self) -> int:
        """Adler-32 checksum of all consumed bytes."""
        return zlib.adler32(memoryview(self._buffer)[: self._at], self._sum)

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes. Raises DamagedFile if fewer are left."""
        self._require(size)
        taken = self._buffer[self._at : self._at + size]
        self._at += size
        return taken

    def number(self, size: int = 4) -> int:
        """Return the next signed number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def text(self) -> bytes:
        """Return the next length-prefixed text; ``b""`` for null."""
        offset, length = self.offset, self.number()
        if not -1 <= length <= _LARGEST:
            raise DamagedFile(self._path, offset, f"{length} is not a valid length of a text")
        return self.take(max(length, 0))

    def left(self, most: int) -> int:
        """Return the number of unread bytes, at most ``most``."""
        while (buffered := len(self._buffer) - self._at) < most and self._fill():
            pass
        return min(buffered, most)

    def records(self) -> Iterator[ZnodeRecord]:
        """Yield all records up to the end marker, or to ``end``. Raises DamagedFile."""
        # Runs once for each znode of an ensemble: local names, calls into C only, one tuple allocated.
        number = _INT.unpack_from
        while True:
            buffer, at, base, size = self._buffer, self._at, self._base, len(self._buffer)
            while at + 4 <= size:
                (length,) = number(buffer, at)
                path_end = at + 4 + length
                if path_end + 4 > size or length < 2:
                    break
                (data_length,) = number(buffer, path_end)
                data_end = path_end + 4 + data_length if data_length > 0 else path_end + 4
                end = data_end + 68
                if end > size or data_length < -1:
                    break
                # The consumer may stop here: offset and checksum have to be right at every yield.
                self._at = end
                yield (
                    base + at,
                    buffer[at + 4 : path_end],
                    buffer[path_end + 4 : data_end],
                    buffer[data_end:end],
                )
                at = end
            if self._end is not None and not self.left(1):
                return
            record = self._slow_record()
            if record[1] == END:
                return
            yield record

    def selected(self, selection: Selection, stop: int = sys.maxsize) -> Iterator[ZnodeRecord]:
        """Yield the selected records up to the end marker, or to a record at or after ``stop``.

        Reads the lengths and zxids of all records, and takes half of the time of `records`. Raises
        DamagedFile.
        """
        # As in `records`; two calls into C for a record that is not selected.
        number, zxids_and_length = _INT.unpack_from, _ZXIDS_AND_LENGTH.unpack_from
        changed_from, children_after = selection.changed_from, selection.children_after
        endings, last_bytes, paths = selection.endings, selection.last_bytes, selection.paths
        every = selection.part_every
        next_part = self.offset if every else sys.maxsize
        while self.offset < stop:
            buffer, at, base, size = self._buffer, self._at, self._base, len(self._buffer)
            length = number(buffer, at)[0] if at + 4 <= size else 0
            stop_at = stop - base
            while length > 1 and at < stop_at:
                path_at = at + 4
                path_end = path_at + length
                if path_end + 4 > size:
                    break
                (data_length,) = number(buffer, path_end)
                data_end = path_end + 4 + data_length if data_length > 0 else path_end + 4
                if data_end + _ZXIDS_AND_LENGTH.size > size or data_length < -1:
                    break
                mzxid, pzxid, length = zxids_and_length(buffer, data_end)
                start, at = at, data_end + 68
                is_next_part = base + start >= next_part and is_part(buffer[path_at:path_end])
                if (
                    mzxid >= changed_from
                    or pzxid > children_after
                    or is_next_part
                    or (buffer[path_end - 1] in last_bytes and buffer.endswith(endings, path_at, path_end))
                    or (paths and buffer[path_at:path_end] in paths)
                ):
                    if is_next_part:
                        next_part = base + start + every
                    self._at = at
                    yield (
                        base + start,
                        buffer[path_at:path_end],
                        buffer[path_end + 4 : data_end],
                        buffer[data_end:at],
                    )
            self._at = at
            if at >= stop_at:
                return
            record = self._slow_record()
            if record[1] == END:
                self.is_at_end = True
                return
            # Whether or not it is selected: it is one in a MiB.
            yield record

    def skip_to(self, offset: int, checksum: int) -> None:
        """Continue at an offset after records that were read elsewhere. Content: a file.

        checksum: of everything before.
        """
        if not isinstance(self._content, io.BufferedIOBase):
            raise TypeError(f"{self._path} can only be read in one go")
        self._content.seek(offset)
        self._sum = checksum
        self._buffer, self._base, self._at = b"", offset, 0

    def _slow_record(self) -> ZnodeRecord:
        """Read a record across a buffer boundary, the root, or the end marker."""
        offset = self.offset
        path = self.text()
        if path == END:
            return offset, path, b"", b""
        if path and not path.startswith(b"/"):
            raise DamagedFile(self._path, offset, "the path of a znode is missing")
        record = offset, path, self.text(), self.take(_STORED.size)
        if len(record[2]) > _CHUNK_BYTES and not self._is_at_path():
            raise DamagedFile(
                self._path,
                offset,
                f"no znode follows the declared {len(record[2])} bytes of data",
            )
        return record

    def _is_at_path(self) -> bool:
        """Return whether the next bytes start a path, or reading ends here."""
        head = _LENGTH_AND_SLASH
        if self.left(head) < head:
            return self._end is not None
        length = int.from_bytes(self._buffer[self._at : self._at + 4], "big", signed=True)
        return 0 < length <= _CHUNK_BYTES and self._buffer[self._at + 4 : self._at + head] == END

    def _require(self, size: int) -> None:
        missing = size - (len(self._buffer) - self._at)
        offset = self.offset
        if missing > 0 and self._fill(missing) < missing:
            raise DamagedFile(self._path, offset, "the file is torn: its end is cut off", is_cut_off=True)

    def _fill(self, least: int = 1) -> int:
        """Read at least ``least`` more bytes if available; keep unconsumed bytes. Return the number read.

        Joins the chunks once at the end, so a damaged length field cannot cause repeated copying.
        """
        have = self._base + len(self._buffer)
        chunks, read = [self._buffer[self._at :]], 0
        while read < least and (chunk := self._read_chunk(have + read)):
            chunks.append(chunk)
            read += len(chunk)
        self._sum = self.checksum
        self._buffer, self._base, self._at = b"".join(chunks), self.offset, 0
        return read

    def _read_chunk(self, at: int) -> bytes:
        size = _CHUNK_BYTES if self._end is None else min(_CHUNK_BYTES, self._end - at)
        return read_chunk(self._content, size, self._path, at) if size > 0 else b""
