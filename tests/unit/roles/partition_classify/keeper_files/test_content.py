# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the content of a snapshot is compressed, and files that are something else."""

from __future__ import annotations

import io
import struct
import sys
from pathlib import Path

import pytest

from partition_classify.keeper_files.content import (
    Compression,
    compression_of,
    opened_stream,
    read_content,
)
from partition_classify.zookeeper_files.damage import DamagedFile
from support.files.keeper_snapshots import COMPRESSIONS, KeeperSnapshotFile, compressed, tree_of

PATH = Path("snapshot_7.bin")
CONTENT = b"".join(number.to_bytes(4, "little") for number in range(100_000))
STREAMS = [each for each in COMPRESSIONS if each != "chunked"]


def content_of(data: bytes, compression: Compression) -> bytes:
    stream = opened_stream(io.BytesIO(data), PATH, compression)
    found = b""
    while piece := read_content(stream, 1 << 16, PATH, len(found)):
        found += piece
    return found


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("zstd", Compression.ZSTD),
        ("frames", Compression.ZSTD),
        ("lz4", Compression.LZ4_BLOCKS),
        ("", Compression.NONE),
        ("chunked", Compression.CHUNKED),
    ],
)
def test_compression_is_recognised_by_content(stored: str, expected: Compression) -> None:
    file = KeeperSnapshotFile(version=9, compression=stored)
    opened = io.BytesIO(file.encoded(tree_of("/a")))
    assert compression_of(opened, PATH) is expected
    assert opened.tell() == 0


@pytest.mark.parametrize("stored", STREAMS)
def test_content_is_decompressed(stored: str) -> None:
    kind = {"lz4": Compression.LZ4_BLOCKS, "": Compression.NONE}.get(stored, Compression.ZSTD)
    assert content_of(compressed(CONTENT, stored), kind) == CONTENT


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"", "the file is empty at byte 0"),
        (b"ZKSN\0\0\0\2" + bytes(30), "this is a snapshot of ZooKeeper, not a snapshot of ClickHouse Keeper"),
        (b"ZKLG" + bytes(30), "this is a transaction log of ZooKeeper, not"),
        (b"\x1f\x8b" + bytes(30), "this is a gzip file, not"),
        (b"\x0a" + bytes(30), "this is no snapshot of ClickHouse Keeper at byte 0"),
        (b"hello", "this is no snapshot of ClickHouse Keeper at byte 0"),
    ],
)
def test_other_files_are_refused(head: bytes, message: str) -> None:
    with pytest.raises(DamagedFile) as error:
        compression_of(io.BytesIO(head), PATH)
    assert message in error.value.message


@pytest.mark.parametrize("stored", ["zstd", "frames", "lz4"])
@pytest.mark.parametrize("cut", [1, 1000])
def test_torn_stream_is_refused(stored: str, cut: int) -> None:
    kind = Compression.LZ4_BLOCKS if stored == "lz4" else Compression.ZSTD
    with pytest.raises(DamagedFile, match="ends too early") as error:
        content_of(compressed(CONTENT, stored)[:-cut], kind)
    assert error.value.is_cut_off


@pytest.mark.parametrize("position", [16, 17, 21])
def test_corrupt_block_is_refused(position: int) -> None:
    data = bytearray(compressed(CONTENT, "lz4"))
    data[position : position + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(DamagedFile, match="counted in the compressed file"):
        content_of(bytes(data), Compression.LZ4_BLOCKS)


def test_block_that_ends_in_its_header_is_refused() -> None:
    data = compressed(CONTENT[:1000], "lz4") + bytes(7)
    with pytest.raises(DamagedFile, match="ends too early") as error:
        content_of(data, Compression.LZ4_BLOCKS)
    assert error.value.offset == len(data) - 7


def test_checksum_of_a_block_is_not_verified() -> None:
    data = bytearray(compressed(CONTENT, "lz4"))
    data[:16] = struct.pack("<QQ", 1, 2)
    assert content_of(bytes(data), Compression.LZ4_BLOCKS) == CONTENT
    # Bytes that LZ4 takes as they are: this damage is not noticed here.
    data[60:64] = b"\xff\xff\xff\xff"
    found = content_of(bytes(data), Compression.LZ4_BLOCKS)
    assert found != CONTENT
    assert len(found) == len(CONTENT)


def test_bytes_that_are_no_zstd_are_refused() -> None:
    with pytest.raises(DamagedFile, match="it cannot be decompressed") as error:
        content_of(compressed(CONTENT, "zstd") + b"more", Compression.ZSTD)
    assert not error.value.is_cut_off


def test_checksum_of_a_zstd_frame_is_verified() -> None:
    """A frame of one uncompressed block, with a checksum as ClickHouse writes it."""
    content, checksum = b"hello snapshot", 0x93F51799
    block = (1 | len(content) << 3).to_bytes(3, "little") + content
    head = b"\x28\xb5\x2f\xfd" + bytes([0x24, len(content)])
    assert content_of(head + block + struct.pack("<I", checksum), Compression.ZSTD) == content
    with pytest.raises(DamagedFile, match="it cannot be decompressed"):
        content_of(head + block + struct.pack("<I", checksum ^ 1), Compression.ZSTD)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for kind in (Compression.ZSTD, Compression.LZ4_BLOCKS):
        with pytest.raises(DamagedFile, match="no package pyarrow") as error:
            opened_stream(io.BytesIO(b""), PATH, kind)
        assert "zstd -d" in error.value.remedy
    assert content_of(CONTENT, Compression.NONE) == CONTENT


def test_unreadable_file_is_no_damage() -> None:
    class Unreadable(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            raise PermissionError(13, "Permission denied")

    with pytest.raises(Exception, match=r"snapshot_7.bin cannot be read: Permission denied") as error:
        read_content(Unreadable(), 1, PATH, 0)
    assert not isinstance(error.value, DamagedFile)
