# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of members for tests: with a few znodes below /a, or with shard paths and the rows they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from olap_partmove._partmove.shard.inventory import InventoryRow
from partition_classify.sources.snapshot import SnapshotReader
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.survey import SurveyedTable, survey
from support.files import log_files as log
from support.files.log_files import LogWriter
from support.files.member_files import tree_of
from support.files.snapshot_files import GeneratedTree, Trailers, snapshot_file, write_generated

COMPRESSIONS = ["", "gz", "snappy"]
TREE = GeneratedTree(shard_paths=3, parts=60, partitions=5, cold=2)
TOP = "/clickhouse"
"""A root with all shard paths of TREE below it."""


def write_snapshot(
    data_dir: Path,
    *names: str,
    zxid: int = 10,
    compression: str = "",
    trailers: Trailers | None = None,
    newest: int = 1,
) -> Path:
    """A snapshot with the znode /a and these below it, which were written last by the transaction newest."""
    with snapshot_file(data_dir, zxid, compression) as snapshot:
        snapshot.zxid = min(snapshot.zxid, newest)
        snapshot.begin({0x100: 30_000})
        for path in ["", "/zookeeper", "/zookeeper/quota", "/a"]:
            snapshot.znode(path)
        for name in names:
            snapshot.znode(f"/a/{name}", name.encode() * 100, zxid=newest)
        snapshot.end(trailers)
    return next((data_dir / "version-2").glob(f"snapshot.{zxid:x}*"))


def names_of(data_dir: Path, **options: Path | bool | Callable[[DamagedFile], None]) -> list[str]:
    """The names of the znodes below /a; the options are those of `tree_of`."""
    found = tree_of(data_dir, "/a", **options)  # type: ignore[arg-type]  # each is of the type of its name
    return sorted(path.removeprefix("/a/") for path in found if path != "/a")


def write_log(data_dir: Path, first: int, *names: str) -> LogWriter:
    """A log that creates these znodes below /a."""
    writer = LogWriter(first)
    for name in names:
        writer.add(log.CREATE, log.create(f"/a/{name}"))
    writer.write(data_dir)
    return writer


def generated(data_dir: Path, tree: GeneratedTree = TREE, *, zxid: int = 1000) -> DataFolder:
    """The folder of a member of hot that has the tree."""
    write_generated(data_dir, tree, zxid=zxid)
    return DataFolder("hot", str(data_dir))


def surveyed(hot: Sequence[DataFolder], cold: Sequence[DataFolder], root: str) -> list[SurveyedTable]:
    """The shard paths in the folders, of which every newest snapshot has to be whole."""

    def on_skipped(error: DamagedFile) -> None:
        raise AssertionError(error)

    return survey(hot, cold, root, on_skipped=on_skipped)


def rows_of(reader: SnapshotReader) -> list[InventoryRow]:
    """The rows of all input partitions of the reader."""
    return [
        InventoryRow(**row)
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]
