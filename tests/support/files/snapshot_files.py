# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes snapshots as ZooKeeper 3.4 to 3.9 do, also large ones in little time; servers start from them."""

from __future__ import annotations

import gzip
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from support.files.log_files import ERROR, TIME, LogWriter, error
from support.memory.synthetic import LEGACY, MINIMALISTIC, definition
from support.servers.busy_znodes import SeenZnode

NOW = 1_763_600_000_000
"""When what is generated was written, in milliseconds since 1970."""
DAY = 86_400_000

_OPEN_ACL = 1
_STORED = struct.Struct(">qqqqqiiiqq")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_PIECE = 1 << 20
_SNAPPY_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK = 32 * 1024


@dataclass(frozen=True)
class Trailers:
    """What follows the seal: zxid of the digest (3.6 and later), and of the tree (3.9); None for neither."""

    digest: int | None = None
    last_zxid: int | None = None
    tree: int = 0
    """The digest."""


class SnapshotWriter:
    """Writes the records of one snapshot; parents first, what is below a znode directly after it."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._buffer = bytearray()
        self._sum = zlib.adler32(b"")
        self.zxid = 1
        """The transaction that created znodes of which no other is given."""

    def begin(self, sessions: Mapping[int, int] | None = None) -> None:
        """Header, sessions with their timeouts, and the one ACL that all znodes have; then the root."""
        sessions = sessions or {}
        self.add(b"ZKSN" + struct.pack(">iq", 2, -1) + _INT.pack(len(sessions)))
        for session, timeout in sessions.items():
            self.add(struct.pack(">qi", session, timeout))
        self.add(_INT.pack(1) + _LONG.pack(_OPEN_ACL) + _INT.pack(1) + _INT.pack(31))
        self.add(_text(b"world") + _text(b"anyone"))

    def znode(self, path: str, data: bytes = b"", *, zxid: int | None = None) -> None:
        """One znode; the root has the path ``""``. Its time is that of the transaction in a log."""
        number = self.zxid if zxid is None else zxid
        self.add(_text(path.encode()) + _text(data) + stored(number, TIME + 1000 * number))

    def record(self, path: str, znode: SeenZnode) -> None:
        """One znode as it was seen."""
        data, *stat = znode
        czxid, mzxid, ctime, mtime, version, aversion, owner = stat
        self.add(_text(path.encode()) + _text(data))
        self.add(_STORED.pack(_OPEN_ACL, czxid, mzxid, ctime, mtime, version, 0, aversion, owner, mzxid))

    def add(self, data: bytes) -> None:
        """Bytes as they are."""
        self._buffer += data
        if len(self._buffer) > _PIECE:
            self._flush()

    def end(self, trailers: Trailers | None = None) -> None:
        """The mark after the last record, the seal and the trailers."""
        trailers = trailers or Trailers()
        self.add(_text(b"/"))
        self._seal()
        if trailers.digest is not None:
            self.add(struct.pack(">qiq", trailers.digest, 2, trailers.tree))
            self._seal()
        if trailers.last_zxid is not None:
            self.add(_LONG.pack(trailers.last_zxid))
            self._seal()
        self._flush()

    def _seal(self) -> None:
        self._flush()
        self.add(_LONG.pack(self._sum) + _text(b"/"))

    def _flush(self) -> None:
        self._sum = zlib.adler32(self._buffer, self._sum)
        self._target.write(self._buffer)
        self._buffer.clear()


def stored(zxid: int, time: int) -> bytes:
    """ACL and stat of a znode that was created by one transaction and not touched since."""
    return _STORED.pack(_OPEN_ACL, zxid, zxid, time, time, 0, 0, 0, 0, zxid)


@contextmanager
def snapshot_file(data_dir: Path, zxid: int, compression: str = "") -> Iterator[SnapshotWriter]:
    """Write a snapshot into a data folder; ``compression`` is ``""``, ``gz`` or ``snappy``.

    Where there is no log, one is written that ends with the transaction of the snapshot. The snapshot is as
    old as if it had been written an hour before the logs.
    """
    folder = data_dir / "version-2"
    folder.mkdir(parents=True, exist_ok=True)
    if zxid and not any(folder.glob("log.*")):
        log = LogWriter(zxid)
        log.add(ERROR, error())
        log.write(data_dir, first=1)
    path = folder / f"snapshot.{zxid:x}{'.' if compression else ''}{compression}"
    with path.open("wb") as file:
        if compression == "gz":
            with gzip.GzipFile("", "wb", 1, file) as target:
                yield SnapshotWriter(target)  # type: ignore[arg-type]  # it writes bytes
        elif compression == "snappy":
            yield SnapshotWriter(_SnappyFile(file))  # type: ignore[arg-type]  # it writes bytes
        else:
            yield SnapshotWriter(file)
    earlier = time.time() - 3600
    os.utime(path, (earlier, earlier))


@dataclass(frozen=True)
class GeneratedTree:
    """Shard paths of one size, below one root.

    shard_paths: how many.
    parts: how many znodes of parts there are over all replicas, a multiple of shard_paths * replicas.
    replicas: how many each shard path has.
    partitions: how many days each shard path has; parts are dealt to them in turn.
    cold: of how many of them, the oldest, the State is COLD.
    legacy: parts have columns and checksums in children.
    """

    shard_paths: int = 20
    parts: int = 1_000_000
    replicas: int = 2
    partitions: int = 1000
    cold: int = 0
    legacy: bool = False
    root: str = "/clickhouse/tables"

    @property
    def paths(self) -> list[str]:
        """The shard paths."""
        return [f"{self.root}/{number:04}/events" for number in range(self.shard_paths)]


def write_generated(
    data_dir: Path, tree: GeneratedTree, *, zxid: int = 1000, compression: str = "", first_zxid: int = 1
) -> None:
    """Write a snapshot of the tree into a data folder of a server; 1 million parts take about a second.

    All of it was created by the transaction ``first_zxid``.
    """
    with snapshot_file(data_dir, zxid, compression) as snapshot:
        snapshot.zxid = first_zxid
        snapshot.begin()
        for path in ["", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", *_ancestors(tree.root)]:
            snapshot.znode(path)
        for path in tree.paths:
            snapshot.znode(path.rpartition("/")[0])
            _write_table(snapshot, tree, path)
        snapshot.end()


def _write_table(snapshot: SnapshotWriter, tree: GeneratedTree, path: str) -> None:
    days = [_day(number) for number in range(tree.partitions)]
    snapshot.znode(path)
    snapshot.znode(f"{path}/replicas")
    for replica in range(1, tree.replicas + 1):
        _write_replica(snapshot, tree, f"{path}/replicas/r{replica}", days)
    for name in ("blocks", "leader_election", "log", "mutations", "quorum", "temp"):
        snapshot.znode(f"{path}/{name}")
    snapshot.znode(f"{path}/block_numbers")
    for number, day in enumerate(days):
        snapshot.znode(f"{path}/block_numbers/{day}")
        if number < tree.cold:
            snapshot.znode(f"{path}/block_numbers/{day}/State", b"COLD")
    snapshot.znode(f"{path}/columns", LEGACY["columns"])
    snapshot.znode(f"{path}/metadata", definition(1))


def _write_replica(snapshot: SnapshotWriter, tree: GeneratedTree, path: str, days: list[str]) -> None:
    for name in ("", "/columns", "/flags", "/host", "/is_lost", "/log_pointer", "/queue", "/parts"):
        snapshot.znode(f"{path}{name}")
    count = tree.parts // tree.shard_paths // tree.replicas
    data = _text(b"" if tree.legacy else MINIMALISTIC)
    children = (
        {f"/{name}".encode(): _text(content) for name, content in LEGACY.items()} if tree.legacy else {}
    )
    tails = [stored(snapshot.zxid, NOW - (len(days) - number) * DAY) for number in range(len(days))]
    for number in range(count):
        day = number % len(days)
        part = f"{path}/parts/{days[day]}_{number}_{number}_0".encode()
        snapshot.add(_INT.pack(len(part)) + part + data + tails[day])
        for child, content in children.items():
            snapshot.add(_text(part + child) + content + tails[day])


def _ancestors(path: str) -> list[str]:
    names = path.split("/")[1:]
    return ["/" + "/".join(names[: depth + 1]) for depth in range(len(names))]


def _day(number: int) -> str:
    """A partition id for each number, as of PARTITION BY day."""
    year, rest = divmod(number, 336)
    month, day = divmod(rest, 28)
    return f"{2019 + year}{month + 1:02}{day + 1:02}"


def _text(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


class _SnappyFile:
    """Writes what snappy-java's SnappyOutputStream writes."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._codec = pa.Codec("snappy")
        target.write(_SNAPPY_HEADER)

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), _SNAPPY_BLOCK):
            block = self._codec.compress(bytes(data[start : start + _SNAPPY_BLOCK]), asbytes=True)
            self._target.write(_text(block))
