# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chunked form of a snapshot: a table of chunks, each compressed with zstd by itself.

Magic ``CKFS``, version (1 byte), number of chunks (8 bytes). Then for each chunk its type (1 byte), offset in
the file, size, and number of znodes (8 bytes each). The first chunk has the header, the last chunk the
sessions, all other chunks the znodes.

Source of this layout: ClickHouse's pull request 107884, which was closed. No release is known to write it.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ..zookeeper_files.content import ByteStream
from ..zookeeper_files.damage import DamagedFile
from .content import CHUNKED_MAGIC, LATEST_VERSION, Compression, opened_stream
from .damage import damaged, unknown_format

METADATA, ZNODES, SESSIONS = 0, 1, 2
"""Types of chunks."""

_HEADER = struct.Struct("<4sBQ")
_CHUNK = struct.Struct("<BQQQ")
_MOST_CHUNKS = 1 << 20


class Chunk(NamedTuple):
    """A range of the file, in bytes, with its own zstd frame."""

    kind: int
    offset: int
    size: int
    znodes: int
    """Number of znodes in the chunk."""


def read_chunks(file: IO[bytes], path: Path) -> Sequence[Chunk]:
    """Return the chunks of the file, in their order: METADATA, any number of ZNODES, SESSIONS.

    Raises DamagedFile for a torn table, another version, and chunks that do not fill the file.
    """
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        raise _cut_off(path, len(head))
    magic, version, number = _HEADER.unpack(head)
    if magic != CHUNKED_MAGIC or version != LATEST_VERSION:
        raise unknown_format(
            path, len(CHUNKED_MAGIC), f"the chunked format has version {version}, known is {LATEST_VERSION}"
        )
    if not 2 <= number <= _MOST_CHUNKS:
        raise damaged(path, len(CHUNKED_MAGIC) + 1, f"{number} is not a valid number of chunks")
    table = file.read(_CHUNK.size * number)
    if len(table) < _CHUNK.size * number:
        raise _cut_off(path, _HEADER.size + len(table))
    chunks = [Chunk(*each) for each in _CHUNK.iter_unpack(table)]
    _check(chunks, path, _HEADER.size + len(table), file.seek(0, io.SEEK_END))
    return chunks


def chunk_stream(file: IO[bytes], path: Path, chunk: Chunk) -> ByteStream:
    """Return the decompressed content of a chunk. Read one chunk at a time."""
    return opened_stream(io.BufferedReader(_Range(file, chunk)), path, Compression.ZSTD)


def _check(chunks: Sequence[Chunk], path: Path, start: int, end: int) -> None:
    kinds = [each.kind for each in chunks]
    if kinds != [METADATA, *[ZNODES] * (len(chunks) - 2), SESSIONS]:
        raise unknown_format(path, _HEADER.size, "the chunks are not header, znodes, sessions")
    at = start
    for chunk in chunks:
        if chunk.offset != at:
            raise damaged(path, at, f"the next chunk begins at {chunk.offset}, not")
        at += chunk.size
    if at > end:
        raise _cut_off(path, end)
    if at < end:
        raise damaged(path, at, "unknown bytes follow the last chunk")


def _cut_off(path: Path, at: int) -> DamagedFile:
    return damaged(path, at, "the file is torn: its end is cut off", is_cut_off=True)


class _Range(io.RawIOBase):
    """The bytes of a chunk as a file."""

    def __init__(self, file: IO[bytes], chunk: Chunk) -> None:
        super().__init__()
        self._file = file
        self._left = chunk.size
        file.seek(chunk.offset)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # BufferedReader has no other
        taken = self._file.read(min(len(buffer), self._left))
        buffer[: len(taken)] = taken
        self._left -= len(taken)
        return len(taken)
