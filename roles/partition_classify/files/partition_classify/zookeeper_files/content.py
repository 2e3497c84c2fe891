# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of a snapshot file, whether it is plain, gzip (``.gz``) or snappy (``.snappy``)."""

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
"""How the names end of files that cannot be read from the middle."""

_PIECE = 1 << 20
# What snappy-java's SnappyOutputStream begins with, followed by its version and the oldest compatible one.
_SNAPPY_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_LENGTH = struct.Struct(">i")
# It cuts its input into blocks of 32 KiB unless told otherwise.
_LARGEST_BLOCK = 1 << 26


class Content(Protocol):
    """Bytes that are read from front to back."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end. Raises OSError, EOFError or zlib.error."""


@contextmanager
def open_content(path: Path) -> Iterator[Content]:
    """The content of the snapshot file from its beginning, decompressed as its name asks for.

    Raises EnsembleError when the file cannot be opened.
    """
    with _opened(path) as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=file) as content:
                yield content
        elif path.suffix == ".snappy":
            yield _Snappy(file, path)
        else:
            yield file


def read_piece(content: Content, size: int, path: Path, at: int) -> bytes:
    """At most ``size`` bytes of the content of ``path`` from ``at`` on, none at the end.

    Raises DamagedFile where it cannot be decompressed, EnsembleError where it cannot be read.
    """
    try:
        return content.read(size)
    except EOFError as error:
        raise DamagedFile(path, at, "the compressed file ends too early", is_cut_off=True) from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFile(path, at, f"it cannot be decompressed ({error})") from error
    except OSError as error:
        raise unreadable(path, error) from error


class RangedContent:
    """Reads from any of some ranges of the content of a file, until it is closed.

    A compressed file cannot be read from the middle: what the ranges have is decompressed into a
    temporary file first.
    """

    def __init__(self, path: Path, ranges: Sequence[tuple[int, int]]) -> None:
        self._path = path
        self._file: IO[bytes]
        self._copied: list[tuple[int, int, int]] = []
        if path.suffix in COMPRESSED:
            with ExitStack() as stack:
                self._file = stack.enter_context(tempfile.TemporaryFile(prefix="partition_classify."))
                self._copy(sorted(ranges))
                stack.pop_all()
        else:
            self._file = _opened(path)

    def close(self) -> None:
        """Close the file; a temporary one is gone then."""
        self._file.close()

    def at(self, start: int) -> IO[bytes]:
        """The content from ``start`` on, which has to be in a range; every call sets the same stream anew."""
        self._file.seek(self._place(start))
        return self._file

    def _place(self, start: int) -> int:
        if not self._copied:
            return start
        return next(place + start - first for first, end, place in self._copied if first <= start < end)

    def _copy(self, ranges: Sequence[tuple[int, int]]) -> None:
        with open_content(self._path) as content:
            at = 0
            for first, end in ranges:
                self._pass_on(content, at, first, None)
                self._copied.append((first, end, self._file.tell()))
                self._pass_on(content, first, end, self._file)
                at = end

    def _pass_on(self, content: Content, at: int, end: int, target: IO[bytes] | None) -> None:
        while at < end:
            piece = read_piece(content, min(end - at, _PIECE), self._path, at)
            if not piece:
                raise DamagedFile(self._path, at, "the content ends")
            at += len(piece)
            if target is not None:
                target.write(piece)


class _Snappy:
    """What SnappyOutputStream of snappy-java writes: a header, then blocks with their length in front."""

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
        """At most ``size`` bytes, none at the end."""
        pieces = []
        while size > 0:
            piece = self._block.read(size)
            if not piece:
                block = self._next_block()
                if block is None:
                    break
                self._block = io.BytesIO(block)
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _next_block(self) -> bytes | None:
        head = self._file.read(_LENGTH.size)
        if not head:
            return None
        length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else -1
        if len(head) == _LENGTH.size and not 0 < length <= _LARGEST_BLOCK:
            raise self._broken(len(head))
        block = self._file.read(max(length, 0))
        if len(block) < length or length < 0:
            raise self._broken(len(head) + len(block), is_cut_off=True)
        try:
            return bytes(self._codec.decompress(block, _uncompressed_size(block), asbytes=True))
        except (OSError, ValueError) as error:
            raise self._broken(len(head) + len(block)) from error

    def _broken(self, taken: int, *, is_cut_off: bool = False) -> DamagedFile:
        return DamagedFile(
            self._path,
            self._file.tell() - taken,
            "a snappy block (counted in the compressed file) is torn",
            is_cut_off=is_cut_off,
        )


def _uncompressed_size(block: bytes) -> int:
    """The number that a snappy block begins with, 7 bits a byte, the lowest first."""
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
