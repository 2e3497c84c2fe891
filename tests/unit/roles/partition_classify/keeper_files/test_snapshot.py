# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Complete snapshots of every version and compression, and damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.keeper_files.folder_run import FolderRun
from partition_classify.keeper_files.snapshot import open_snapshot
from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.keeper_runs import znodes_of
from support.files.keeper_snapshots import (
    COMPRESSIONS,
    VERSIONS,
    ZXID,
    KeeperSnapshotFile,
    compressed,
    tree_of,
)

TREE = tree_of("/a", "/a/b", "/c")
STREAMS = [each for each in COMPRESSIONS if each != "chunked"]


def data_of(path: Path) -> list[bytes]:
    with open_snapshot(path) as scan:
        run = FolderRun()
        assert sum(scan.read_into(run)) == scan.znodes
        return [each.data for each in znodes_of(run)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compression", STREAMS)
def test_every_version_is_read(version: int, compression: str, tmp_path: Path) -> None:
    path = KeeperSnapshotFile(version, compression).write(tmp_path, TREE)
    assert data_of(path) == [b"", b"/a", b"/a/b", b"/c", b""]


def test_chunked_form_is_read(tmp_path: Path) -> None:
    path = KeeperSnapshotFile(9, "chunked").write(tmp_path, TREE)
    assert data_of(path) == [b"", b"/a", b"/a/b", b"/c", b""]
    with open_snapshot(path) as scan:
        assert (scan.header.version, scan.header.zxid, scan.znodes) == (9, ZXID, len(TREE))


def test_tree_without_znodes_in_chunks(tmp_path: Path) -> None:
    assert data_of(KeeperSnapshotFile(9, "chunked").write(tmp_path, [])) == []


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_trailing_bytes_are_refused(compression: str, tmp_path: Path) -> None:
    path = KeeperSnapshotFile(9, compression, tail=b"x").write(tmp_path, TREE)
    with pytest.raises(DamagedFile, match="unknown bytes follow the sessions"):
        data_of(path)


# The sessions are read as a znode, or znodes as sessions, so the message depends on their bytes.
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("counted", [0, len(TREE) - 1, len(TREE) + 1, 1 << 40, (1 << 64) - 1])
def test_wrong_number_of_znodes_is_refused(version: int, counted: int, tmp_path: Path) -> None:
    path = KeeperSnapshotFile(version, counted=counted).write(tmp_path, TREE)
    with pytest.raises(DamagedFile, match=r"cut off|no path|not a valid length|unknown bytes|too many"):
        data_of(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_file_that_is_cut_anywhere_is_refused(version: int, tmp_path: Path) -> None:
    file = KeeperSnapshotFile(version, "", has_cluster=False)
    content = file.content(TREE)
    path = tmp_path / "snapshot_2000.bin"
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(DamagedFile) as error:
            data_of(path)
        assert error.value.is_cut_off, end


def changed_counts(numbers: list[int]) -> bytes:
    """The chunked file with other numbers of znodes in its table."""
    data = bytearray(KeeperSnapshotFile(9, "chunked").encoded(TREE))
    for chunk, number in enumerate(numbers):
        struct.pack_into("<Q", data, 13 + 25 * chunk + 17, number)
    return bytes(data)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([0, 2, 2, 0], "has more content than 0 znodes"),
        ([0, 1, 2, 1], "has more content than 1 znodes"),
        ([0, 2, 2, 2], "its end is cut off"),
    ],
)
def test_chunk_with_another_number_of_znodes_is_refused(
    numbers: list[int], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "snapshot_2000.bin.zstd"
    path.write_bytes(changed_counts(numbers))
    with pytest.raises(DamagedFile, match=message):
        data_of(path)


def with_metadata(content: bytes) -> bytes:
    """The chunked file with this content of the first chunk."""
    file = KeeperSnapshotFile(9, "chunked")
    frames = [compressed(each, "zstd") for each in (content, b"".join(map(file.znode, TREE)), file.end())]
    table, at = struct.pack("<4sBQ", b"CKFS", 9, 3), 13 + 3 * 25
    for kind, (frame, znodes) in enumerate(zip(frames, (0, len(TREE), 0), strict=True)):
        table += struct.pack("<BQQQ", kind, at, len(frame), znodes)
        at += len(frame)
    return table + b"".join(frames)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (b"", None),
        (struct.pack("<Q", len(TREE)), None),
        (struct.pack("<Q", 4), "the header counts 4 znodes, the chunks have 5"),
        (struct.pack("<QB", len(TREE), 1), "has more content than 0 znodes"),
        (b"\x05\x00", "its end is cut off"),
    ],
)
def test_number_of_znodes_in_the_first_chunk(rest: bytes, message: str | None, tmp_path: Path) -> None:
    path = tmp_path / "snapshot_2000.bin.zstd"
    path.write_bytes(with_metadata(KeeperSnapshotFile(9).head() + rest))
    if message is None:
        assert len(data_of(path)) == len(TREE)
    else:
        with pytest.raises(DamagedFile, match=message):
            data_of(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match="cannot be read: No such file"):
        data_of(tmp_path / "snapshot_1.bin")
