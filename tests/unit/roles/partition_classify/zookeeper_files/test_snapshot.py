# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Snapshots of each release, whole, torn and corrupt."""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.members import COMPRESSIONS, names_of, write_snapshot
from support.files.snapshot_files import Trailers


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(
    "trailers",
    [Trailers(), Trailers(digest=10), Trailers(last_zxid=10), Trailers(10, 10)],
    ids=["3.4", "3.6", "3.9 without digest", "3.9"],
)
def test_snapshot_of_each_release_and_compression_is_read(
    tmp_path: Path, compression: str, trailers: Trailers
) -> None:
    write_snapshot(tmp_path, "x", "y", compression=compression, trailers=trailers)
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.999])
def test_torn_snapshot_error_has_the_offset(tmp_path: Path, compression: str, part: float) -> None:
    path = write_snapshot(tmp_path, "x", "y", compression=compression)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(DamagedFile, match=rf"^{path}: .+ at byte \d+\. Copy the folder again") as error:
        names_of(tmp_path)
    assert error.value.path == path


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_snapshot_with_any_byte_changed_is_refused(tmp_path: Path, compression: str) -> None:
    path = write_snapshot(tmp_path, "x", compression=compression, trailers=Trailers(10, 10))
    content = bytearray(path.read_bytes())
    # In the header of a gzip file some bytes mean nothing: time, flags and the system that wrote it.
    for place in range(10 if compression == "gz" else 0, len(content), 3):
        content[place] ^= 0x41
        path.write_bytes(content)
        with pytest.raises(DamagedFile):
            names_of(tmp_path)
        content[place] ^= 0x41


def test_bytes_after_the_seal_are_refused(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, "x")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(DamagedFile, match=f"unknown data follows the checksum at byte {size}"):
        names_of(tmp_path)


def test_trailer_of_a_later_release_is_named(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, "x", trailers=Trailers(10, 10))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(30) + b"\0\0\0\1/")
    with pytest.raises(DamagedFile, match="an unknown trailer of .* bytes, as of .* after 3.9") as info:
        names_of(tmp_path)
    assert info.value.offset is not None
    assert info.value.offset < size
    assert "Read the running ensemble" in info.value.remedy


@pytest.mark.parametrize(
    ("magic", "name"),
    [(b"ZKLG", "a transaction log"), (b"\x28\xb5\x2f\xfd", "a zstd file, as of ClickHouse Keeper")],
)
def test_other_file_under_the_name_of_a_snapshot_is_named(tmp_path: Path, magic: bytes, name: str) -> None:
    path = write_snapshot(tmp_path, "x")
    path.write_bytes(magic + bytes(100))
    with pytest.raises(DamagedFile, match=f"this is not a ZooKeeper snapshot, but {name}, at byte 0"):
        names_of(tmp_path)
