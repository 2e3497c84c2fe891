# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes of every version, of any size, wherever the buffer ends."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from partition_classify.keeper_files.fields import FieldReader
from partition_classify.keeper_files.folder_run import FolderRun
from partition_classify.keeper_files.header import SnapshotHeader
from partition_classify.keeper_files.znodes import ZnodeReader
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.nodes import StoredStat
from support.classify.keeper_runs import ReadZnode, znodes_of
from support.files.keeper_snapshots import VERSIONS, KeeperSnapshotFile, KeeperZnode

ZXID = 1000
FIRST = KeeperZnode(b"/a/first")
PARENT = KeeperZnode(b"/a/b", children=3)
LAYOUTS = [0, 1, 4, 6, 7, 8]
"""A version of each layout of a znode."""
MANY = [
    KeeperZnode(
        f"/tables/{number:05}/é".encode(),
        b"x" * (number % 300),
        czxid=number % 900 + 1,
        mzxid=number % 900 + 2,
        ctime=number,
        mtime=-number,
        owner=number % 3,
        pzxid=number % 900 + 3,
        children=number % 5,
        ttl=None,
    )
    for number in range(9_000)
]


def read(znodes: list[KeeperZnode], version: int, data: bytes | None = None) -> list[ReadZnode]:
    content = b"".join(map(KeeperSnapshotFile(version).znode, znodes)) if data is None else data
    fields, run = FieldReader(io.BytesIO(content), Path("snapshot_7.bin")), FolderRun()
    reader = ZnodeReader(fields, SnapshotHeader(version, 7, ZXID))
    assert sum(reader.read_into(run, len(znodes))) == len(znodes)
    assert fields.is_at_end()
    return znodes_of(run)


def expected(*znodes: KeeperZnode) -> list[ReadZnode]:
    """The znodes as a snapshot of ZooKeeper has them, by path."""
    return sorted(map(_expected, znodes))


def _expected(znode: KeeperZnode) -> ReadZnode:
    times = znode.czxid, znode.mzxid, znode.ctime, znode.mtime
    stored = StoredStat(0, *times, 0, znode.children, 0, znode.owner, znode.pzxid).packed()
    return ReadZnode(znode.path if znode.path != b"/" else b"", znode.data, stored, znode.children)


@pytest.mark.parametrize("version", VERSIONS)
def test_znodes_of_every_version(version: int) -> None:
    assert sum(len(each.path) + len(each.data) for each in MANY) > 1 << 20
    assert read(MANY, version) == expected(*MANY)


@pytest.mark.parametrize("version", LAYOUTS)
@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 16_383, 16_384, 16_385, 3 << 20])
def test_paths_and_data_of_any_length(version: int, size: int) -> None:
    znodes = [
        KeeperZnode(b"/"),
        KeeperZnode(b"/a", b"\0" * size),
        KeeperZnode(b"/" + b"b" * max(size, 1), b"data"),
        KeeperZnode(b"/c"),
    ]
    assert read(znodes, version) == expected(*znodes)


@pytest.mark.parametrize("version", LAYOUTS)
def test_long_paths_and_data_reach_over_the_end_of_the_buffer(version: int) -> None:
    znodes = [
        KeeperZnode(f"/{number}/".encode() + b"x" * (9_000 + number), b"y" * (7_000 + 5 * number))
        for number in range(300)
    ]
    assert read(znodes, version) == expected(*znodes)


@pytest.mark.parametrize("version", [8, 9])
def test_znodes_with_a_time_to_live(version: int) -> None:
    znodes = [replace(each, ttl=None if number % 3 else number) for number, each in enumerate(MANY)]
    assert read(znodes, version) == expected(*znodes)


def test_container_keeps_its_owner() -> None:
    container = KeeperZnode(b"/a", owner=-(2**63))
    (znode,) = read([container], 9)
    assert StoredStat.unpacked(znode.stored).ephemeral_owner == -(2**63)


@pytest.mark.parametrize("rest", [b"", bytes(300)])
@pytest.mark.parametrize("version", LAYOUTS)
def test_znode_with_children_that_is_present_twice_is_refused(version: int, rest: bytes) -> None:
    file = KeeperSnapshotFile(version)
    content = b"".join(map(file.znode, [FIRST, PARENT, FIRST, PARENT])) + rest
    with pytest.raises(DamagedFile, match=r"^snapshot_7.bin: the znode /a/b is present twice"):
        read([FIRST, PARENT, FIRST, PARENT], version, content)


# The first znode fills the buffer. With bytes after it, the second one is read by the fast loop; without, by
# the method for any form.
@pytest.mark.parametrize("rest", [b"", bytes(300)])
@pytest.mark.parametrize("version", LAYOUTS)
@pytest.mark.parametrize("path", [b"a/b", b"//a", b"/a/", b"/a//b", b"/a\0b", b""])
def test_what_is_no_path_is_refused(path: bytes, version: int, rest: bytes) -> None:
    znode = KeeperZnode(path)
    file = KeeperSnapshotFile(version)
    before = file.znode(FIRST)
    with pytest.raises(DamagedFile, match="is no path of a znode at byte") as error:
        read([FIRST, znode], version, before + file.znode(znode) + rest)
    assert repr(path) in error.value.message
    assert error.value.offset == len(before)


@pytest.mark.parametrize("rest", [b"", bytes(300)])
@pytest.mark.parametrize("version", LAYOUTS)
@pytest.mark.parametrize("field", ["mzxid", "pzxid"])
def test_change_after_the_last_transaction_is_refused(field: str, version: int, rest: bytes) -> None:
    file = KeeperSnapshotFile(version)
    znode, later = (
        KeeperZnode(b"/a/b", mzxid=zxid) if field == "mzxid" else KeeperZnode(b"/a/b", pzxid=zxid)
        for zxid in (ZXID, ZXID + 1)
    )
    assert read([znode], version) == expected(znode)
    with pytest.raises(DamagedFile) as error:
        read([FIRST, later], version, file.znode(FIRST) + file.znode(later) + rest)
    assert error.value.message == (
        "snapshot_7.bin: /a/b was changed by transaction 0x3e9, but the last one of the snapshot is 0x3e8,"
        f" at byte {len(file.znode(FIRST))}"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_torn_znode_is_refused(version: int) -> None:
    data = KeeperSnapshotFile(version).znode(KeeperZnode(b"/a", b"data", ttl=5))
    for end in range(len(data)):
        with pytest.raises(DamagedFile, match="its end is cut off"):
            read([KeeperZnode(b"/a")], version, data[:end])
