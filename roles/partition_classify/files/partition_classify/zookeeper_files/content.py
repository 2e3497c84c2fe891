# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decompressed content of snapshot files: plain, gzip (``.gz``) or snappy (``.snappy``)."""

from __future__ import annotations

import gzip
import io
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Protocol

from .damage import DamagedFile, unreadable
from .empty_tree import EMPTY_SNAPSHOT, EMPTY_TREE

COMPRESSED = (".gz", ".snappy")
"""Suffixes of compressed snapshots. Reading from an offset requires decompression from the start."""

_CHUNK_BYTES = 1 << 20
# Header of snappy-java's SnappyOutputStream: magic, stream version, oldest compatible version.
_SNAPPY_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_LENGTH = struct.Struct(">i")
# SnappyOutputStream writes blocks of 32 KiB by default; a configured block size may be larger.
_LARGEST_BLOCK = 1 << 26


class ByteStream(Protocol):
    """Bytes, read sequentially from the start."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, ``b""`` at the end. Raises OSError, EOFError or zlib.error."""


@contextmanager
def open_content(path: Path) -> Iterator[ByteStream]:
    """Open a snapshot at its start; the file suffix selects the decompression.

    Raises EnsembleError when the file cannot be opened.
    """
    with _opened(path) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=file) as content:
                yield content
        elif path.suffix == ".snappy":
            yield _SnappyStream(file, path)
        else:
            yield file


def read_chunk(content: ByteStream, size: int, path: Path, at: int) -> bytes:
    """Read at most ``size`` bytes of ``content``; ``b""`` at the end.

    path, at: file and content offset, for error messages.

    Raises DamagedFile on a decompression error, EnsembleError on a read error.
    """
    try:
        return content.read(size)
    except EOFError as error:
        raise DamagedFile(path, at, "the compressed file ends too early", is_cut_off=True) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFile(path, at, f"it cannot be decompressed ({error})") from error
    except OSError as error:
        raise unreadable(path, error) from error


class RangeReader:
    """Random access to byte ranges of a snapshot's content, until `close`.

    Copies the ranges of a compressed file, decompressed, into a temporary file. Plain files are read in
    place.
    """

    def __init__(self, path: Path, ranges: Sequence[tuple[int, int]]) -> None:
        self._path = path
        self._file: IO[bytes]
        self._copied_ranges: list[tuple[int, int, int]] = []
        if path.suffix in COMPRESSED:
            with ExitStack() as stack:
                self._file = stack.enter_context(tempfile.TemporaryFile(prefix="partition_classify."))
                self._copy(sorted(ranges))
                stack.pop_all()
        else:
            self._file = _opened(path)

    def close(self) -> None:
        """Close the file. The operating system deletes a temporary file on close."""
        self._file.close()

    def at(self, start: int) -> IO[bytes]:
        """Return the stream, positioned at content offset ``start``, inside a given range.

        Every call repositions the same stream.
        """
        self._file.seek(self._position_in_copy(start))
        return self._file

    def _position_in_copy(self, start: int) -> int:
        if not self._copied_ranges:
            return start
        return next(
            place + start - first for first, end, place in self._copied_ranges if first <= start < end
        )

    def _copy(self, ranges: Sequence[tuple[int, int]]) -> None:
        with open_content(self._path) as content:
            at = 0
            for first, end in ranges:
                self._advance(content, at, first, None)
                self._copied_ranges.append((first, end, self._file.tell()))
                self._advance(content, first, end, self._file)
                at = end

    def _advance(self, content: ByteStream, at: int, end: int, target: IO[bytes] | None) -> None:
        while at < end:
            chunk = read_chunk(content, min(end - at, _CHUNK_BYTES), self._path, at)
            if not chunk:
                raise DamagedFile(self._path, at, "the content ends")
            at += len(chunk)
            if target is not None:
                target.write(chunk)


class _SnappyStream:
    """Decompresses the format of snappy-java's SnappyOutputStream: a header, then length-prefixed blocks."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        import pyarrow as pa  # noqa: PLC0415 - only a snappy file needs it

        self._file = file
        self._path = path
        self._codec = pa.Codec("snappy")
        self._block = io.BytesIO()
        header = file.read(len(_SNAPPY_HEADER))
        if header != _SNAPPY_HEADER:
            is_cut_off = _SNAPPY_HEADER.startswith(header)
            raise DamagedFile(path, 0, "there is no header of a snappy stream", is_cut_off=is_cut_off)

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, ``b""`` at the end."""
        chunks = []
        while size > 0:
            chunk = self._block.read(size)
            if not chunk:
                block = self._next_block()
                if block is None:
                    break
                self._block = io.BytesIO(block)
            chunks.append(chunk)
            size -= len(chunk)
        return b"".join(chunks)

    def _next_block(self) -> bytes | None:
        head = self._file.read(_LENGTH.size)
        if not head:
            return None
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else -1
        if len(head) == _LENGTH.size and not 0 < length <= _LARGEST_BLOCK:
            raise self._damaged_block(len(head))
        block = self._file.read(max(length, 0))
        if len(block) < length or length < 0:
            raise self._damaged_block(len(head) + len(block), is_cut_off=True)
        try:
            return bytes(self._codec.decompress(block, _uncompressed_size(block), asbytes=True))
        except (OSError, ValueError) as error:
            raise self._damaged_block(len(head) + len(block)) from error

    def _damaged_block(self, taken: int, *, is_cut_off: bool = False) -> DamagedFile:
        return DamagedFile(
            self._path,
            self._file.tell() - taken,
            "a snappy block (counted in the compressed file) is torn",
            is_cut_off=is_cut_off,
        )


def _uncompressed_size(block: bytes) -> int:
    """Decode the uncompressed size at the start of a snappy block: a varint, 7 bits a byte, lowest first."""
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if size > _LARGEST_BLOCK:
                break
            return size
    raise ValueError("no size")


def _opened(path: Path) -> IO[bytes]:
    if path == EMPTY_TREE:
        return io.BytesIO(EMPTY_SNAPSHOT)
    try:
        return path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error
