# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of snapshots, plain and compressed, from front to back and from the middle."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from partition_classify.zookeeper_files.content import RangeReader, open_content, read_chunk
from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.members import COMPRESSIONS, write_snapshot

NAMES = [f"{number:05}" for number in range(500)]
PIECE = 10_000


@pytest.fixture
def plain(tmp_path: Path) -> bytes:
    """What the snapshots of these tests have: several of the blocks of 32 KiB that snappy makes."""
    content = write_snapshot(tmp_path / "plain", *NAMES).read_bytes()
    assert len(content) > 5 * 32 * 1024
    return content


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_content_is_the_same_however_it_is_compressed(tmp_path: Path, plain: bytes, compression: str) -> None:
    path = write_snapshot(tmp_path, *NAMES, compression=compression)
    pieces: list[bytes] = []
    with open_content(path) as content:
        while piece := read_chunk(content, PIECE, path, sum(map(len, pieces))):
            assert len(piece) <= PIECE
            pieces.append(piece)
    assert b"".join(pieces) == plain


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_ranges_are_read_in_any_order_and_again(tmp_path: Path, plain: bytes, compression: str) -> None:
    path = write_snapshot(tmp_path, *NAMES, compression=compression)
    ranges = [(100_000, 140_000), (5, 6), (40_000, 90_000)]
    with closing(RangeReader(path, ranges)) as content:
        for start, end in [*ranges, (50_000, 50_100), (100_000, 100_001), (139_999, 140_000)]:
            assert content.at(start).read(end - start) == plain[start:end]


@pytest.mark.parametrize("compression", ["gz", "snappy"])
def test_range_behind_the_end_is_damage(tmp_path: Path, plain: bytes, compression: str) -> None:
    path = write_snapshot(tmp_path, *NAMES, compression=compression)
    with pytest.raises(DamagedFile, match=f"^{path}: the content ends at byte {len(plain)}"):
        RangeReader(path, [(len(plain) - 1, len(plain) + 1)])


def test_file_with_only_the_suffix_snappy_is_refused(tmp_path: Path, plain: bytes) -> None:
    path = tmp_path / "snapshot.a.snappy"
    path.write_bytes(plain)
    with (
        pytest.raises(DamagedFile, match="there is no header of a snappy stream at byte 0"),
        open_content(path),
    ):
        pass
