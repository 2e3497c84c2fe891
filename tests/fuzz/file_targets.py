# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parsers of files: policies, snapshots and logs of ZooKeeper and Keeper, backups of repairs, merges."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from olap_partmove._partmove.errors import PartMoveError
from olap_partmove._partmove.patched.repair.backup import BackupHeader, SavedZnode, parse_backup
from olap_partmove._tasks.merges_file import merges_in
from partition_classify.census import census_of
from partition_classify.policy.file import parse_policy
from partition_classify.report.figures import MergeFigures
from partition_classify.report.merges import sql_lines
from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files.folders import DataFolder
from support.classify.members import rows_of
from support.files import log_files as log
from support.files.keeper_snapshots import COMPRESSIONS, INDEX, KeeperSnapshotFile, KeeperZnode, with_children
from support.files.log_files import LogWriter
from support.files.snapshot_files import GeneratedTree, SnapshotWriter, write_generated

from .target import Target

_POLICY = b"""version: 1
defaults: {cold_after: 30d, keep_newest: 3}
rules:
  - table: /clickhouse/tables/*/shop/**
    cold_after: 7d
    max_reads: 10
    reads_within: 30d
    pin_hot: ['20191201']
"""
_TREE = GeneratedTree(shard_paths=1, parts=4, partitions=2, cold=1, root="/tables")
_TABLE = "/tables/0000/events"
_PARTS = f"{_TABLE}/replicas/r1/parts"
_STATE = f"{_TABLE}/block_numbers/20190101/State"
_OPERATIONS = (
    (log.CREATE, log.create(f"{_PARTS}/20190101_7_7_0", b"data")),
    (log.SET_DATA, log.set_data(_STATE, b"COLD", 1)),
    (
        log.MULTI,
        log.multi([(log.CREATE, log.create(f"{_TABLE}/x")), (log.DELETE, log.delete(f"{_TABLE}/x"))]),
    ),
    (log.CLOSE_SESSION, log.close_session([f"{_TABLE}/replicas/r1/is_active"])),
    (log.ERROR, log.error()),
)
_BACKUP = b"".join(
    [
        BackupHeader("2026-11-22T06:00:00.000Z", _TABLE, 7, "ghost").encode(),
        SavedZnode("cold", f"{_PARTS}/20190101_7_7_0", b"\x00\xff", 3).encode(),
        SavedZnode("hot", _STATE, b"COLD", 1).encode(),
    ]
)
_MERGES = [
    MergeFigures(
        "/tables/0000/events", "201912", "OPTIMIZE TABLE a.b PARTITION ID '201912' FINAL", 4, 2, None
    ),
    MergeFigures("/tables/é", "all", "OPTIMIZE TABLE … PARTITION ID 'all' FINAL", 4, 2, 1 << 40),
]
_KEEPER_TREE = with_children(
    KeeperZnode(path, data, ttl=ttl)
    for path, data, ttl in (
        (b"/", b"", None),
        (b"/tables", b"", None),
        (b"/tables/a", b"x" * 200, None),
        (b"/tables/a/log", b"", 60_000),
        (b"/" + b"long" * 50, b"data", None),
    )
)
_SEAL = 8 + 4 + 1
_END_OF_RECORDS = 4 + 1


def file_targets() -> list[Target]:
    """All of them; of sealed files also what comes behind the seal."""
    return [
        _target("policy file", [_POLICY], lambda data: parse_policy(data, "policy.yml")),
        _target("backup of a repair", [_BACKUP], lambda data: parse_backup(data, "a file")),
        _target("merges of a report", ["".join(sql_lines(_MERGES)).encode()], _read_merges),
        _target("snapshot file", [_snapshot()], _read_snapshot),
        _target("snapshot file, gzip", [_snapshot("gz")], _read_compressed("gz")),
        _target("snapshot file, snappy", [_snapshot("snappy")], _read_compressed("snappy")),
        _target("records of a sealed snapshot", [_records()], _read_records),
        _target("census of a sealed snapshot", [_records()], _count_records),
        _target("log file", [_log()], _read_log),
        *(
            _target(f"snapshot of Keeper, {each or 'plain'}", _keeper_files(each), _read_keeper)
            for each in COMPRESSIONS
        ),
        _target("older snapshots of Keeper", [_keeper(version) for version in range(8)], _read_keeper),
        *(
            _target(f"transaction of type {kind}", [body], _read_transaction(kind))
            for kind, body in _OPERATIONS
        ),
    ]


def _target(name: str, corpus: list[bytes], read: Callable[[bytes], object]) -> Target:
    return Target(name, corpus, read, PartMoveError)


def _read_merges(data: bytes) -> object:
    return list(merges_in(data.decode(errors="surrogateescape").splitlines(), "merges.sql"))


def _read(folder: Path) -> object:
    """What a classification makes of the folder of a server; nothing that it says of its progress."""
    reader = SnapshotReader("/tables", (DataFolder("hot", str(folder)),), tasks=1)
    with redirect_stderr(io.StringIO()):
        return rows_of(reader)


def _snapshot(compression: str = "") -> bytes:
    with TemporaryDirectory() as name:
        write_generated(Path(name), _TREE, zxid=10, compression=compression)
        (path,) = (Path(name) / "version-2").glob("snapshot.*")
        return path.read_bytes()


def _read_snapshot(data: bytes, suffix: str = "", log_file: bytes | None = None) -> object:
    with TemporaryDirectory() as name:
        _write_files(Path(name), data, suffix, log_file)
        return _read(Path(name))


def _write_files(data_dir: Path, data: bytes, suffix: str = "", log_file: bytes | None = None) -> None:
    """A snapshot, and logs written after it: up to its last transaction, and from the next one on."""
    folder = data_dir / "version-2"
    folder.mkdir()
    snapshot = folder / f"snapshot.a{suffix}"
    snapshot.write_bytes(data)
    os.utime(snapshot, (0, 0))
    last = LogWriter(10)
    last.add(log.ERROR, log.error())
    last.write(data_dir)
    if log_file is not None:
        (folder / "log.b").write_bytes(log_file + bytes(100))


def _read_compressed(compression: str) -> Callable[[bytes], object]:
    return lambda data: _read_snapshot(data, f".{compression}")


def _records() -> bytes:
    return _snapshot()[: -_SEAL - _END_OF_RECORDS]


def _read_records(data: bytes) -> object:
    buffer = io.BytesIO()
    writer = SnapshotWriter(buffer)
    writer.add(data)
    writer.end()
    return _read_snapshot(buffer.getvalue())


def _count_records(data: bytes) -> object:
    buffer = io.BytesIO()
    writer = SnapshotWriter(buffer)
    writer.add(data)
    writer.end()
    with TemporaryDirectory() as name:
        _write_files(Path(name), buffer.getvalue())
        with redirect_stderr(io.StringIO()):
            return json.dumps(census_of({"files": {"data_dir": name}}))


def _log() -> bytes:
    writer = LogWriter(11)
    for kind, body in _OPERATIONS:
        writer.add(kind, body)
    return bytes(writer.content)


def _read_log(data: bytes) -> object:
    return _read_snapshot(_WHOLE, log_file=data)


def _keeper(version: int, compression: str = "") -> bytes:
    return KeeperSnapshotFile(version, compression).encoded(_KEEPER_TREE)


def _keeper_files(compression: str) -> list[bytes]:
    file = KeeperSnapshotFile(9, compression)
    return [file.encoded(_KEEPER_TREE), replace(file, has_cluster=False, sessions={}).encoded(_KEEPER_TREE)]


def _read_keeper(data: bytes) -> object:
    with TemporaryDirectory() as name, redirect_stderr(io.StringIO()):
        (Path(name) / f"snapshot_{INDEX}.bin").write_bytes(data)
        return json.dumps(census_of({"files": {"data_dir": name, "sorted_dir": name}}))


def _read_transaction(kind: int) -> Callable[[bytes], object]:
    """A record of that type whose checksum fits."""

    def read(data: bytes) -> object:
        writer = LogWriter(11)
        writer.add(kind, data)
        return _read_log(bytes(writer.content))

    return read


_WHOLE = _snapshot()
