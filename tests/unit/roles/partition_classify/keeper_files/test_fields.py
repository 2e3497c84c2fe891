# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fields of a snapshot: numbers and texts, also across the pieces that are read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from partition_classify.keeper_files.fields import LARGEST_TEXT, FieldReader
from partition_classify.zookeeper_files.damage import DamagedFile

PATH = Path("snapshot_7.bin")


class Slow(io.BytesIO):
    """Gives a byte at a time, as a stream may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(1, -1 if size is None else size))


def reader(data: bytes) -> FieldReader:
    return FieldReader(Slow(data), PATH)


def test_numbers_are_little_endian() -> None:
    fields = reader(b"\x02\x01" + b"\xfe\xff\xff\xff" + b"\x05" + bytes(7))
    assert fields.number(2) == 0x0102
    assert fields.number(4, signed=True) == -2
    assert fields.number() == 5
    assert fields.is_at_end()


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"\0", 0), (b"\x7f", 127), (b"\x80\x01", 128), (b"\xac\x02", 300), (b"\xff" * 9 + b"\x01", 2**64 - 1)],
)
def test_numbers_of_variable_length(data: bytes, value: int) -> None:
    fields = reader(data + b"rest")
    assert fields.varint() == value
    assert fields.offset == len(data)
    assert not fields.is_at_end()
    assert fields.take(4) == b"rest"


def test_texts() -> None:
    fields = reader(b"\x03abc\0\x02de")
    assert [fields.text(), fields.text(), fields.text()] == [b"abc", b"", b"de"]


def test_offset_of_a_missing_field_is_named() -> None:
    fields = reader(b"\x03abc\x05ab")
    fields.text()
    with pytest.raises(DamagedFile, match="its end is cut off at byte 5") as error:
        fields.text()
    assert error.value.is_cut_off


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff" * 11, "a length has too many bytes at byte 0"),
        (b"\xff\xff\xff\xff\x0f", f"{2**32 - 1} is not a valid length of a text at byte 0"),
    ],
)
def test_invalid_length_is_refused(data: bytes, message: str) -> None:
    assert LARGEST_TEXT < 2**32 - 1
    with pytest.raises(DamagedFile, match=message) as error:
        reader(data).text()
    assert not error.value.is_cut_off
