# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which znodes of a snapshot and its log are shard paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files.folders import DataFolder
from support.classify.members import TOP, TREE, generated, rows_of, surveyed
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.snapshot_files import snapshot_file

MARKS = ("block_numbers", "blocks", "columns", "log", "metadata", "replicas")


def test_log_alone_may_create_and_drop_a_table(tmp_path: Path) -> None:
    folder = generated(tmp_path)
    writer = LogWriter(1001)
    made = f"{TOP}/tables/made"
    writer.add(log.CREATE, log.create(made))
    for name in ("block_numbers", "blocks", "columns", "log", "replicas"):
        writer.add(log.CREATE, log.create(f"{made}/{name}"))
    metadata = b"metadata format version: 1\ndate column: d\nsampling expression: \nindex granularity: 8192\n"
    metadata += b"mode: 0\nsign column: \nprimary key: d\n"
    writer.add(log.CREATE, log.create(f"{made}/metadata", metadata))
    for name in ("replicas/r1", "replicas/r1/parts", "replicas/r1/parts/20190101_20190102_1_2_1"):
        writer.add(log.CREATE, log.create(f"{made}/{name}", b"data"))
    writer.add(log.DELETE, log.delete(f"{TREE.paths[1]}/metadata"))
    writer.write(tmp_path)
    rows = rows_of(SnapshotReader(TOP, (folder,)))
    assert {row.shard_path for row in rows} == {TREE.paths[0], TREE.paths[2], made}
    (row,) = [row for row in rows if row.shard_path == made]
    assert (row.part, row.partition_id, row.bytes, row.znodes) == ("20190101_20190102_1_2_1", "201901", 4, 1)


def tables_of(
    data_dir: Path, shards: list[str], root: str, *, chroot: str = "", marks: tuple[str, ...] = MARKS
) -> list[str]:
    """Find shard paths in a tree in which each of ``shards`` has the children ``marks``."""
    paths = {f"{shard}/{mark}" for shard in shards for mark in marks}
    paths |= {path[:at] for path in paths for at, sign in enumerate(path) if sign == "/"}
    with snapshot_file(data_dir, 10) as snapshot:
        snapshot.begin()
        for path in sorted(paths, key=lambda path: path.split("/")):
            snapshot.znode(path)
        snapshot.end()
    folder = DataFolder("hot", str(data_dir), chroot=chroot)
    return sorted(table.shard_path for table in surveyed([folder], (), root))


def test_no_search_below_a_shard_path(tmp_path: Path) -> None:
    assert tables_of(tmp_path, ["/a/hits", "/a/hits/log/hits", "/a/hits2"], "/") == ["/a/hits", "/a/hits2"]


@pytest.mark.parametrize("missing", MARKS)
def test_znode_without_one_of_the_marks_is_no_shard_path(tmp_path: Path, missing: str) -> None:
    marks = tuple(each for each in MARKS if each != missing)
    with pytest.raises(EnsembleError, match="There is no replicated table"):
        tables_of(tmp_path, ["/hits"], "/", marks=marks)


@pytest.mark.parametrize(
    ("root", "chroot", "found"),
    [
        ("/", "", ["/a/b/hits", "/a/hits", "/ab/hits"]),
        ("/a", "", ["/a/b/hits", "/a/hits"]),
        ("/a/b/hits", "", ["/a/b/hits"]),
        ("/", "/a", ["/b/hits", "/hits"]),
        ("/b", "/a", ["/b/hits"]),
    ],
)
def test_tables_are_searched_below_chroot_and_root(
    tmp_path: Path, root: str, chroot: str, found: list[str]
) -> None:
    # The last one is where ZooKeeper has its own znodes.
    shards = ["/a/b/hits", "/a/hits", "/ab/hits", "/zookeeper/hits"]
    assert tables_of(tmp_path, shards, root, chroot=chroot) == found
