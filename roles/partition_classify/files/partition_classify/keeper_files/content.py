# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outer layer of a snapshot of Keeper: how its content is compressed.

- zstd, in one frame or in several, as Keeper writes by default. A frame may have a checksum, which is
  verified.
- Blocks of ClickHouse with LZ4. The CityHash128 of each block is **not** verified: Python needs minutes for
  each GB. Damage is noticed only if LZ4 or the layout of the content breaks.
- Not compressed, as after ``zstd -d``.
- Chunks, see `chunks`.
"""

from __future__ import annotations

import io
import struct
from enum import Enum
from pathlib import Path
from typing import IO, Any

from ..zookeeper_files.content import ByteStream
from ..zookeeper_files.damage import DamagedFile, unreadable
from .damage import damaged, unknown_format

LATEST_VERSION = 9
"""The newest version of the format that is read."""

CHUNKED_MAGIC = b"CKFS"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK_HEADER = struct.Struct("<16xBII")
_HEADER_IN_SIZE = 9
_METHOD_AT = 16
_LZ4 = 0x82
_LARGEST_BLOCK = 1 << 28
_HEAD = _BLOCK_HEADER.size
_OTHERS = {
    b"ZKSN": "a snapshot of ZooKeeper",
    b"ZKLG": "a transaction log of ZooKeeper",
    b"\x1f\x8b": "a gzip file",
}


class Compression(Enum):
    """How the content of a file is stored."""

    ZSTD = "zstd"
    LZ4_BLOCKS = "LZ4"
    NONE = "none"
    CHUNKED = "chunked"


def compression_of(file: IO[bytes], path: Path) -> Compression:
    """Recognise the compression by the first bytes; leaves the file at its start.

    Raises DamagedFile for an empty file and for files of another kind.
    """
    head = file.read(_HEAD)
    file.seek(0)
    if head.startswith(CHUNKED_MAGIC):
        return Compression.CHUNKED
    if head.startswith(_ZSTD_MAGIC):
        return Compression.ZSTD
    other = next((kind for magic, kind in _OTHERS.items() if head.startswith(magic)), None)
    if other is not None:
        raise unknown_format(path, 0, f"this is {other}, not a snapshot of ClickHouse Keeper")
    if not head:
        raise damaged(path, 0, "the file is empty", is_cut_off=True)
    if len(head) == _HEAD and head[_METHOD_AT] == _LZ4:
        return Compression.LZ4_BLOCKS
    if head[0] <= LATEST_VERSION:
        return Compression.NONE
    raise unknown_format(path, 0, "this is no snapshot of ClickHouse Keeper")


def opened_stream(file: IO[bytes], path: Path, compression: Compression) -> ByteStream:
    """Return the decompressed content from the position of the file on. Errors: see `read_content`."""
    if compression is Compression.ZSTD:
        # PyArrow reads all frames, and reports an unfinished frame.
        stream: ByteStream = _arrow(path).CompressedInputStream(file, "zstd")
        return stream
    if compression is Compression.LZ4_BLOCKS:
        return _Lz4Blocks(file, path)
    return file


def read_content(stream: ByteStream, size: int, path: Path, at: int) -> bytes:
    """Read at most ``size`` bytes; ``b""`` at the end.

    path, at: file and content offset, for error messages. Raises DamagedFile on a decompression error,
    EnsembleError on a read error.
    """
    try:
        return stream.read(size)
    except OSError as error:
        # For corrupt content PyArrow raises OSError without an error number of the operating system.
        if error.errno is not None:
            raise unreadable(path, error) from error
        is_cut_off = "Truncated" in str(error)
        problem = "the compressed file ends too early" if is_cut_off else "it cannot be decompressed"
        raise damaged(path, at, problem, is_cut_off=is_cut_off) from error


class _Lz4Blocks:
    """Decompresses the blocks of ClickHouse: checksum, method, both sizes, and the data."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file = file
        self._path = path
        self._codec = _arrow(path).Codec("lz4_raw")
        self._block = io.BytesIO()

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, ``b""`` at the end. Raises DamagedFile."""
        while not (taken := self._block.read(size)):
            block = self._next_block()
            if block is None:
                return b""
            self._block = io.BytesIO(block)
        return taken

    def _next_block(self) -> bytes | None:
        start = self._file.tell()
        head = self._file.read(_BLOCK_HEADER.size)
        if not head:
            return None
        if len(head) < _BLOCK_HEADER.size:
            raise self._damaged(start, "ends too early", is_cut_off=True)
        method, stored, size = _BLOCK_HEADER.unpack(head)
        stored -= _HEADER_IN_SIZE
        if method != _LZ4 or not 0 < stored <= _LARGEST_BLOCK or not 0 < size <= _LARGEST_BLOCK:
            raise self._damaged(start, "has no header of LZ4")
        data = self._file.read(stored)
        if len(data) < stored:
            raise self._damaged(start, "ends too early", is_cut_off=True)
        try:
            return bytes(self._codec.decompress(data, size, asbytes=True))
        except (OSError, ValueError) as error:
            raise self._damaged(start, "cannot be decompressed") from error

    def _damaged(self, start: int, problem: str, *, is_cut_off: bool = False) -> DamagedFile:
        return damaged(
            self._path, start, f"a block (counted in the compressed file) {problem}", is_cut_off=is_cut_off
        )


def _arrow(path: Path) -> Any:
    try:
        import pyarrow  # noqa: PLC0415 - takes half a second, and only compressed files need it
    except ImportError as error:
        raise DamagedFile(
            path,
            None,
            "the file is compressed, and this Python has no package pyarrow to read it",
            remedy="Install pyarrow for this Python, or decompress a zstd file with zstd -d",
        ) from error
    return pyarrow
