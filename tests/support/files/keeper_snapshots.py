# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes snapshots of all versions as ClickHouse Keeper does by its public source; no server wrote any."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from partition_classify.zookeeper_files.nodes import StoredStat
from partition_classify.zookeeper_files.snapshot import open_snapshot
from support.files.snapshot_files import GeneratedTree, write_generated

VERSIONS = range(10)
COMPRESSIONS = ("zstd", "frames", "lz4", "", "chunked")
"""Of the content: zstd in one frame or in several, blocks of ClickHouse, none, and the chunked form."""

INDEX = 2000
"""Of the last log entry in a snapshot of which no other is given."""
ZXID = 1000

_ACL = [(31, b"digest", b"reader:c2VjcmV0"), (1, b"world", b"anyone")]
_ACL_ID = 7
_SESSIONS = {1: 30_000, 5: 10_000}
_CLUSTER = b"a cluster configuration"
_FRAME_BYTES = 50_000
_LZ4_BLOCK_BYTES = 1 << 16
_CHUNKS = 3


@dataclass(frozen=True)
class KeeperZnode:
    """A znode; ``children`` is the number in its stat. Times in milliseconds since 1970."""

    path: bytes
    data: bytes = b""
    czxid: int = 1
    mzxid: int = 1
    ctime: int = 1_763_600_000_000
    mtime: int = 1_763_600_000_000
    owner: int = 0
    pzxid: int = 1
    children: int = 0
    ttl: int | None = None


@dataclass(frozen=True)
class KeeperSnapshotFile:
    """All of a snapshot but its znodes, with the ways in which tests damage it.

    version, compression: of VERSIONS and COMPRESSIONS; the chunked form has version 9.
    index, zxid: the last log entry and transaction; before version 5 the file has the index alone.
    counted: the number of znodes in the header; None for the right one.
    tail: bytes at the end of the content.
    """

    version: int = 6
    compression: str = "zstd"
    index: int = INDEX
    zxid: int = ZXID
    name: str = ""
    has_digest: bool = True
    has_cluster: bool = True
    counted: int | None = None
    tail: bytes = b""
    sessions: dict[int, int] = field(default_factory=lambda: dict(_SESSIONS))

    def write(self, folder: Path, znodes: Sequence[KeeperZnode]) -> Path:
        """Write the file into the folder, which is created, and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        suffix = ".zstd" if self.compression in {"zstd", "frames", "chunked"} else ""
        path = folder / (self.name or f"snapshot_{self.index}.bin{suffix}")
        path.write_bytes(self.encoded(znodes))
        return path

    def encoded(self, znodes: Sequence[KeeperZnode]) -> bytes:
        """The bytes of the file."""
        if self.compression == "chunked":
            return self._chunked(znodes)
        return compressed(self.content(znodes), self.compression)

    def content(self, znodes: Sequence[KeeperZnode]) -> bytes:
        """The bytes of the file before they are compressed."""
        number = len(znodes) if self.counted is None else self.counted
        return b"".join([self.head(), _u64(number), *map(self.znode, znodes), self.end(), self.tail])

    def head(self) -> bytes:
        """All before the number of znodes."""
        raft = struct.pack("<BQQQ", 1, self.index, 3, 0) + _CLUSTER
        parts = [bytes([self.version]), _text(raft)]
        if self.version >= 5:
            parts.append(_i64(self.zxid))
            parts.append(b"\x04" + _u64(0x1234567890ABCDEF) if self.has_digest else b"\0")
        parts.append(_i64(9))
        if self.version >= 1:
            acl_id = struct.pack("<I" if self.version >= 7 else "<Q", _ACL_ID)
            parts += [_u64(1), acl_id, _acl()]
        return b"".join(parts)

    def znode(self, znode: KeeperZnode) -> bytes:
        """One znode."""
        version = self.version
        parts = [_text(znode.path), _text(znode.data)]
        if version == 0:
            parts.append(_acl())
        else:
            parts.append(struct.pack("<I" if version >= 7 else "<Q", _ACL_ID))
        if version < 6:
            parts.append(b"\0")
        parts.append(struct.pack("<qqqq", znode.czxid, znode.mzxid, znode.ctime, znode.mtime))
        parts.append(struct.pack("<iiiq", 0, znode.children, 0, znode.owner))
        if version < 6:
            parts.append(struct.pack("<i", len(znode.data)))
        parts.append(struct.pack("<iq", znode.children, znode.pzxid))
        parts.append(struct.pack("<q" if version >= 7 else "<i", znode.children))
        if version in {4, 5}:
            parts.append(_u64(120 + len(znode.data)))
        if version >= 8:
            parts.append(b"\0" if znode.ttl is None else b"\1" + _i64(znode.ttl))
        return b"".join(parts)

    def end(self) -> bytes:
        """Sessions and, if the file has it, the configuration of the cluster."""
        parts = [_u64(len(self.sessions))]
        for session, timeout in self.sessions.items():
            parts.append(_i64(session) + _i64(timeout))
            if self.version >= 1:
                parts.append(_u64(1) + _text(b"digest") + _text(b"reader:c2VjcmV0"))
        if self.has_cluster:
            parts.append(_text(_CLUSTER))
        return b"".join(parts)

    def _chunked(self, znodes: Sequence[KeeperZnode]) -> bytes:
        each = max(1, -(-len(znodes) // _CHUNKS))
        groups = [znodes[first : first + each] for first in range(0, len(znodes), each)]
        contents = [(0, self.head(), 0)]
        contents += [(1, b"".join(map(self.znode, group)), len(group)) for group in groups]
        contents.append((2, self.end() + self.tail, 0))
        frames = [compressed(content, "zstd") for _kind, content, _count in contents]
        table = struct.pack("<4sBQ", b"CKFS", self.version, len(frames))
        at = len(table) + 25 * len(frames)
        for (kind, _content, count), frame in zip(contents, frames, strict=True):
            table += struct.pack("<BQQQ", kind, at, len(frame), count)
            at += len(frame)
        return table + b"".join(frames)


def compressed(content: bytes, compression: str) -> bytes:
    """The content as it is stored, for every compression but ``chunked``."""
    if compression == "lz4":
        return b"".join(_lz4_blocks(content))
    if not compression:
        return content
    size = _FRAME_BYTES if compression == "frames" else len(content)
    codec = pa.Codec("zstd", 3)
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    return b"".join(codec.compress(piece, asbytes=True) for piece in pieces)


def with_children(znodes: Iterable[KeeperZnode]) -> list[KeeperZnode]:
    """The znodes with the right number of children in the stat of each."""
    found = list(znodes)
    counts = Counter(_parent(each.path) for each in found if each.path != b"/")
    return [replace(each, children=counts[each.path]) for each in found]


def tree_of(*paths: str) -> list[KeeperZnode]:
    """The root, ``/keeper`` and these znodes, each with its own path as data."""
    own = [KeeperZnode(b"/"), KeeperZnode(b"/keeper", czxid=0, mzxid=0, ctime=0, mtime=0, pzxid=0)]
    return with_children([*own, *(KeeperZnode(each.encode(), each.encode()) for each in paths)])


def znodes_of_member(data_dir: Path, seed: int = 1) -> list[KeeperZnode]:
    """The znodes of the only snapshot of a ZooKeeper member, in an order without meaning."""
    (path,) = (data_dir / "version-2").glob("snapshot.*")
    with open_snapshot(path) as scan:
        znodes = with_children(_converted(scan.records()))
    random.Random(seed).shuffle(znodes)
    return znodes


def write_generated_keeper(
    folder: Path, tree: GeneratedTree, file: KeeperSnapshotFile, *, first_zxid: int = 1
) -> Path:
    """Write a snapshot with a generated tree, and return its path.

    The subfolder ``zookeeper`` gets the files of a ZooKeeper member with the same tree.
    """
    member = folder / "zookeeper"
    write_generated(member, tree, zxid=file.zxid, first_zxid=first_zxid)
    return file.write(folder, znodes_of_member(member))


def _converted(records: Iterable[tuple[int, bytes, bytes, bytes]]) -> Iterator[KeeperZnode]:
    for _offset, path, data, stored in records:
        stat = StoredStat.unpacked(stored)
        yield KeeperZnode(
            path or b"/",
            data,
            stat.czxid,
            stat.mzxid,
            stat.ctime,
            stat.mtime,
            stat.ephemeral_owner,
            stat.pzxid,
        )


def _parent(path: bytes) -> bytes:
    return path.rpartition(b"/")[0] or b"/"


def _acl() -> bytes:
    entries = [
        struct.pack("<i", permissions) + _text(scheme) + _text(name) for permissions, scheme, name in _ACL
    ]
    return _u64(len(entries)) + b"".join(entries)


def _lz4_blocks(content: bytes) -> Iterator[bytes]:
    """Blocks of ClickHouse; the checksum, which the reader leaves alone, is not a right one."""
    codec = pa.Codec("lz4_raw")
    for start in range(0, len(content), _LZ4_BLOCK_BYTES):
        piece = content[start : start + _LZ4_BLOCK_BYTES]
        data = codec.compress(piece, asbytes=True)
        yield bytes(range(16)) + struct.pack("<BII", 0x82, len(data) + 9, len(piece)) + data


def _text(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _u64(number: int) -> bytes:
    return struct.pack("<Q", number)


def _i64(number: int) -> bytes:
    return struct.pack("<q", number)
