# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of a snapshot, read in one fast loop.

A record is, all numbers big-endian: the length of the path and the path, the length of the data and the
data, the id of the ACL (8 bytes), and the stat as a server keeps it (60 bytes). The last two are handed on
as the bytes they are, because of most records nobody looks at more than a field.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from .content import Content, read_piece
from .damage import DamagedFile

END = b"/"
"""The path that stands after the last record."""

RECORD_BYTES = 4 + 4 + 8 + 60
"""What a znode takes up in a snapshot besides path and data: their lengths, the id of the ACL, the stat."""

_INT = struct.Struct(">i")
_STORED = struct.Struct(">qqqqqiiiqq")
_PIECE = 1 << 20
# Far above what a server accepts for a znode, far below what would fill the memory of a host.
_LARGEST = 1 << 28
# What a record begins with, at the least.
_LENGTH_AND_SLASH = 4 + len(END)


Record: TypeAlias = tuple[int, bytes, bytes, bytes]
"""One znode: where its record begins, its path, its data, and its ACL id and stat, see `Stored`."""


class Stored(NamedTuple):
    """What a server stores of a znode besides path and data; times in milliseconds since 1970."""

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
    def unpacked(cls, stored: bytes) -> Stored:
        """Unpack the last 68 bytes of a record."""
        return cls(*_STORED.unpack(stored))

    def packed(self) -> bytes:
        """The bytes that stand for it at the end of a record."""
        return _STORED.pack(*self)


class NodeReader:
    """Reads the content of a snapshot, ``start`` bytes into it, and says how far it is.

    Memory is bounded by the largest record and a piece of 1 MiB. ``end`` is where to stop, None for the
    end of the content.
    """

    def __init__(self, content: Content, path: Path, start: int = 0, end: int | None = None) -> None:
        self._content = content
        self._path = path
        self._end = end
        self._buffer = b""
        self._base = start
        self._at = 0
        self._sum = zlib.adler32(b"")

    @property
    def offset(self) -> int:
        """How many bytes of the content come before what is read next."""
        return self._base + self._at

    @property
    def checksum(self) -> int:
        """Adler-32 of everything that was read."""
        return zlib.adler32(memoryview(self._buffer)[: self._at], self._sum)

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes. Raises DamagedFile when there are not so many."""
        self._need(size)
        taken = self._buffer[self._at : self._at + size]
        self._at += size
        return taken

    def number(self, size: int = 4) -> int:
        """The next number with a sign, of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def text(self) -> bytes:
        """The next text with its length in front; empty for none."""
        offset, length = self.offset, self.number()
        if not -1 <= length <= _LARGEST:
            raise DamagedFile(self._path, offset, f"{length} is no length of a text")
        return self.take(max(length, 0))

    def left(self, most: int) -> int:
        """How many bytes are left to read, at most ``most``."""
        while (buffered := len(self._buffer) - self._at) < most and self._more():
            pass
        return min(buffered, most)

    def records(self) -> Iterator[Record]:
        """Every record up to the path that ends them, or to ``end``. Raises DamagedFile."""
        # A step for each znode of an ensemble: local names, calls only into C, nothing made but a tuple.
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
                # The generator may be left here for good: what it says of itself has to hold then.
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

    def _slow_record(self) -> Record:
        """A record that is not all in the buffer, the root, or the end."""
        offset = self.offset
        path = self.text()
        if path == END:
            return offset, path, b"", b""
        if path and not path.startswith(b"/"):
            raise DamagedFile(self._path, offset, "there is no path of a znode")
        record = offset, path, self.text(), self.take(_STORED.size)
        if len(record[2]) > _PIECE and not self._is_at_path():
            raise DamagedFile(
                self._path,
                offset,
                f"no znode follows the {len(record[2])} bytes that a znode is said to have",
            )
        return record

    def _is_at_path(self) -> bool:
        """Whether a path comes next, or nothing that is to be read."""
        head = _LENGTH_AND_SLASH
        if self.left(head) < head:
            return self._end is not None
        length = int.from_bytes(self._buffer[self._at : self._at + 4], "big", signed=True)
        return 0 < length <= _PIECE and self._buffer[self._at + 4 : self._at + head] == END

    def _need(self, size: int) -> None:
        missing = size - (len(self._buffer) - self._at)
        offset = self.offset
        if missing > 0 and self._more(missing) < missing:
            raise DamagedFile(self._path, offset, "the file is torn: something is cut off", is_cut_off=True)

    def _more(self, least: int = 1) -> int:
        """Read on, at least so many bytes if there are; the buffer keeps what was not taken yet.

        Returns how many bytes were read. All are put together once, whatever size a damaged length asks for.
        """
        have = self._base + len(self._buffer)
        pieces, read = [self._buffer[self._at :]], 0
        while read < least and (piece := self._piece(have + read)):
            pieces.append(piece)
            read += len(piece)
        self._sum = self.checksum
        self._buffer, self._base, self._at = b"".join(pieces), self.offset, 0
        return read

    def _piece(self, at: int) -> bytes:
        size = _PIECE if self._end is None else min(_PIECE, self._end - at)
        return read_piece(self._content, size, self._path, at) if size > 0 else b""
