# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The records of a snapshot, whatever their size."""

from __future__ import annotations

import io
import struct
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.nodes import RECORD_BYTES, RecordReader, StoredStat, ZnodeRecord
from partition_classify.zookeeper_files.selection import Selection
from support.files.log_files import TIME
from support.files.snapshot_files import NOW, SnapshotWriter, stored

WHERE = Path("/copy/version-2/snapshot.a")
PIECE = 1 << 20
# Records that end within a piece and beyond one, and one that is larger than two pieces.
ZNODES = [
    ("", b""),
    ("/a", b"data"),
    ("/a/large", b"x" * (2 * PIECE + 17)),
    *((f"/a/{number:06}", b"y" * (number % 300)) for number in range(9000)),
    ("/a/empty", b""),
]


def content_of(znodes: list[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    writer = SnapshotWriter(target)
    for path, data in znodes:
        writer.znode(path, data)
    writer.end()
    return target.getvalue()


@pytest.fixture(scope="module")
def content() -> bytes:
    return content_of(ZNODES)


def reader_of(content: bytes, start: int = 0, end: int | None = None) -> RecordReader:
    return RecordReader(io.BytesIO(content[start:]), WHERE, start, end)


def test_every_record_is_read_with_its_offset(content: bytes) -> None:
    reader = reader_of(content)
    records = list(reader.records())
    assert [(path.decode(), data) for _offset, path, data, _stored in records] == ZNODES
    assert {znode for _offset, _path, _data, znode in records} == {stored(1, TIME + 1000)}
    offset = 0
    for at, path, data, _stored in records:
        assert at == offset
        offset += RECORD_BYTES + len(path) + len(data)
    # The mark of the end is the length of a path and the path.
    assert reader.offset == offset + 5
    assert reader.checksum == zlib.adler32(content[: reader.offset])


def test_reading_may_begin_and_end_between_any_two_records(content: bytes) -> None:
    records = list(reader_of(content).records())
    for first, last in [(1, 2), (2, 3), (3, 9000), (5000, 5001)]:
        start, end = records[first][0], records[last][0]
        assert list(reader_of(content, start, end).records()) == records[first:last]


@pytest.mark.parametrize("size", [3, 20, 70])
def test_cut_off_record_is_damage(content: bytes, size: int) -> None:
    reader = reader_of(content[: RECORD_BYTES + size])
    with pytest.raises(DamagedFile, match=f"^{WHERE}: the file is torn: its end is cut off at byte "):
        list(reader.records())


def test_invalid_path_is_damage() -> None:
    with pytest.raises(DamagedFile, match="the path of a znode is missing at byte 76"):
        list(reader_of(content_of([("", b""), ("a", b"")])).records())


def test_invalid_length_is_damage() -> None:
    with pytest.raises(DamagedFile, match="-2 is not a valid length of a text at byte 0"):
        reader_of(struct.pack(">i", -2)).text()


def test_acl_id_and_stat_are_unpacked_and_packed() -> None:
    known = StoredStat(1, 2, 3, 4, 5, 6, 7, 8, -9, 10)
    assert StoredStat.unpacked(known.packed()) == known
    assert StoredStat.unpacked(stored(7, NOW))[1:5] == (7, 7, NOW, NOW)


@pytest.mark.parametrize("length", [2 * PIECE, 1 << 26, 1 << 27])
def test_error_for_a_wrong_length_has_the_offset_of_the_length(length: int) -> None:
    """Not the offset that the length leads to; and without repeated copying."""
    znodes = [("", b""), ("/a", b"data"), *((f"/a/{number}", b"z" * PIECE) for number in range(130))]
    content = bytearray(content_of(znodes))
    record = RECORD_BYTES
    struct.pack_into(">i", content, record + 4 + len("/a"), length)
    with pytest.raises(
        DamagedFile, match=f"no znode follows the declared {length} bytes .* at byte {record}"
    ):
        list(reader_of(bytes(content)).records())


def test_a_range_may_end_with_a_large_record() -> None:
    znodes = [("", b""), ("/a", b"x" * (2 * PIECE))]
    content = content_of(znodes)
    end = 2 * RECORD_BYTES + len("/a") + 2 * PIECE
    assert [path for _offset, path, _data, _stored in reader_of(content, 0, end).records()] == [b"", b"/a"]


CHANGING = [
    ("", b"", 1),
    *(
        (f"/t/{number % 3}/{name}", b"z" * (number % 3000), number % 50)
        for number in range(3000)
        for name in ("metadata", "notmetadata", f"parts/{number}_0_0_0", f"parts/{number}_0_0_0/columns", "m")
    ),
]


def is_selected(record: ZnodeRecord, selection: Selection) -> bool:
    _offset, path, _data, packed = record
    stat = StoredStat.unpacked(packed)
    return (
        path.endswith(selection.endings)
        or stat.mzxid >= selection.changed_from
        or stat.pzxid > selection.children_after
        or path in selection.paths
    )


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(endings=(b"/metadata", b"/columns")),
        Selection(changed_from=49),
        Selection(children_after=48),
        Selection(paths={b"/t/1/m", b"", b"/t/2/metadata"}),
        Selection(endings=(b"/m",), changed_from=49, paths={b"/t/0/metadata"}),
    ],
)
def test_selected_records_are_read(selection: Selection) -> None:
    target = io.BytesIO()
    writer = SnapshotWriter(target)
    for path, data, zxid in CHANGING:
        writer.znode(path, data, zxid=zxid)
    writer.end()
    content = target.getvalue()
    whole, reader = reader_of(content), reader_of(content)
    records, selected = list(whole.records()), list(reader.selected(selection))
    pieces = len(content) // PIECE + 2
    assert (reader.offset, reader.checksum) == (whole.offset, whole.checksum)
    assert [each for each in selected if is_selected(each, selection)] == [
        each for each in records if is_selected(each, selection)
    ]
    # Beside them at most the records at the end of a piece.
    assert sum(not is_selected(each, selection) for each in selected) <= pieces
    assert set(selected) <= set(records)


def test_parts_are_selected_at_a_distance() -> None:
    znodes = [("", b""), ("/r/parts", b""), *((f"/r/parts/{number}", b"x" * 24) for number in range(5_000))]
    selected = list(reader_of(content_of(znodes)).selected(Selection(part_every=10_000)))
    offsets = [offset for offset, path, _data, _stored in selected if path.startswith(b"/r/parts/")]
    assert len(offsets) > 50
    assert all(10_000 <= later - earlier < 10_200 for earlier, later in pairwise(offsets))


@pytest.mark.parametrize("size", [3, 20, 70])
def test_cut_off_record_is_damage_of_a_selection(content: bytes, size: int) -> None:
    with pytest.raises(DamagedFile, match=f"^{WHERE}: the file is torn: its end is cut off at byte "):
        list(reader_of(content[: RECORD_BYTES + size]).selected(Selection()))
