# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of the chunked form."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from partition_classify.keeper_files.chunks import METADATA, SESSIONS, ZNODES, chunk_stream, read_chunks
from partition_classify.keeper_files.content import read_content
from partition_classify.zookeeper_files.damage import DamagedFile
from support.files.keeper_snapshots import KeeperSnapshotFile, tree_of

PATH = Path("snapshot_7.bin.zstd")
FILE = KeeperSnapshotFile(9, "chunked")
TREE = tree_of("/a", "/b", "/c", "/a/b")
DATA = FILE.encoded(TREE)
HEADER, ENTRY = 13, 25


def changed(position: int, value: bytes) -> bytes:
    return DATA[:position] + value + DATA[position + len(value) :]


def test_chunks_are_read_one_by_one() -> None:
    file = io.BytesIO(DATA)
    chunks = read_chunks(file, PATH)
    assert [each.kind for each in chunks] == [METADATA, ZNODES, ZNODES, ZNODES, SESSIONS]
    assert [each.znodes for each in chunks] == [0, 2, 2, 2, 0]
    contents = []
    for chunk in chunks:
        stream = chunk_stream(file, PATH, chunk)
        contents.append(b"".join(iter(lambda: read_content(stream, 10, PATH, 0), b"")))  # noqa: B023
    assert contents[0] == FILE.head()
    assert b"".join(contents[1:-1]) == b"".join(map(FILE.znode, TREE))
    assert contents[-1] == FILE.end()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed(4, b"\x0a"), "the chunked format has version 10, known is 9"),
        (changed(5, struct.pack("<Q", 1)), "1 is not a valid number of chunks at byte 5"),
        (changed(5, struct.pack("<Q", 1 << 40)), "is not a valid number of chunks at byte 5"),
        (changed(HEADER, b"\x01"), "the chunks are not header, znodes, sessions"),
        (changed(HEADER + ENTRY, b"\x03"), "the chunks are not header, znodes, sessions"),
        (changed(HEADER + 4 * ENTRY, b"\x01"), "the chunks are not header, znodes, sessions"),
        (changed(HEADER + 1, struct.pack("<Q", 1)), "the next chunk begins at 1, not at byte 138"),
        (changed(HEADER + 9, struct.pack("<Q", 1)), "the next chunk begins at"),
        (DATA + b"x", "unknown bytes follow the last chunk"),
    ],
)
def test_inconsistent_table_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DamagedFile) as error:
        read_chunks(io.BytesIO(data), PATH)
    assert message in error.value.message
    assert not error.value.is_cut_off


@pytest.mark.parametrize("end", [3, HEADER - 1, HEADER + 2 * ENTRY, len(DATA) - 1])
def test_torn_file_is_refused(end: int) -> None:
    with pytest.raises(DamagedFile, match="its end is cut off") as error:
        read_chunks(io.BytesIO(DATA[:end]), PATH)
    assert error.value.is_cut_off
