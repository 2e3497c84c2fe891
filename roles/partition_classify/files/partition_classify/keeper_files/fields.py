# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the fields of a snapshot of Keeper: little-endian numbers, and texts with their length in front."""

from __future__ import annotations

from pathlib import Path

from ..zookeeper_files.content import ByteStream
from .content import read_content
from .damage import damaged

LARGEST_TEXT = 1 << 28
"""Most bytes of a path or of data. More is a sign of damage."""

_CHUNK_BYTES = 1 << 20
_VARINT_BYTES = 10


class FieldReader:
    """Reads the content of a stream from its start, field by field.

    buffer, at: bytes that were read, and the position of the next field in them. A fast loop may take fields
    directly and advance ``at``.

    Memory: the largest field plus a chunk of 1 MiB.
    """

    def __init__(self, stream: ByteStream, path: Path) -> None:
        self._stream = stream
        self._base = 0
        self.path = path
        self.buffer = b""
        self.at = 0

    @property
    def offset(self) -> int:
        """Offset in the content of the next field."""
        return self._base + self.at

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes. Raises DamagedFile if fewer are left."""
        missing = size - (len(self.buffer) - self.at)
        if missing > 0:
            offset = self.offset
            if self._fill(missing) < missing:
                raise damaged(self.path, offset, "the file is torn: its end is cut off", is_cut_off=True)
        taken = self.buffer[self.at : self.at + size]
        self.at += size
        return taken

    def number(self, size: int = 8, *, signed: bool = False) -> int:
        """Return the next number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "little", signed=signed)

    def varint(self) -> int:
        """Return the next number of variable length: 7 bits a byte, the lowest first."""
        offset, value = self.offset, 0
        for place in range(_VARINT_BYTES):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise damaged(self.path, offset, "a length has too many bytes")

    def text(self) -> bytes:
        """Return the next text."""
        offset, length = self.offset, self.varint()
        if length > LARGEST_TEXT:
            raise damaged(self.path, offset, f"{length} is not a valid length of a text")
        return self.take(length)

    def is_at_end(self) -> bool:
        """Return whether no byte is left."""
        return self.at == len(self.buffer) and not self._fill(1)

    def _fill(self, least: int) -> int:
        """Read at least ``least`` more bytes if available; keep unread bytes. Return the number read."""
        have = self._base + len(self.buffer)
        pieces, read = [self.buffer[self.at :]], 0
        while read < least and (piece := read_content(self._stream, _CHUNK_BYTES, self.path, have + read)):
            pieces.append(piece)
            read += len(piece)
        self.buffer, self._base, self.at = b"".join(pieces), self.offset, 0
        return read
