# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark data source ``zookeeper_snapshot``: the inventory of ensembles from copied files.

Never connects to an ensemble. Reads the newest snapshot and the following transaction log of one member of
each ensemble: the rows equal the rows of source ``zookeeper`` at the last logged transaction.

Options:

- ``root``: path in hot below the chroot; shard paths are searched at and below it;
- ``hot``, and optionally ``cold``: data folders, as JSON: ``{"data_dir": "/copy/zk1", "data_log_dir":
  "/copy/zk1-log", "chroot": "/a"}``; only ``data_dir`` is required. Or a list of such folders, one for each
  ensemble;
- ``tasks``: maximum number of input partitions; by default, as many as the amount of work requires;
- ``older_snapshot``: ``true`` to skip damaged snapshots and read the newest undamaged one; ``false``
  (default) to fail unless the newest snapshot is only cut off;
- ``groups``: ``true`` for rows of PartGroup; by default, one row for each part.

The files must exist at the same paths on the driver and every executor, and stay unchanged until the job
ends; a running server may append to its log.

The driver reads each file once, to verify it and to locate the shard paths. An input partition consists of
slices: shard paths, or ranges of a large shard path. Its task reads their ranges of the snapshot, and the
log. There is one input partition for every 32 MiB, or fewer if the overhead of each task (the log, and a
compressed snapshot up to the ranges) would be as large. A task holds in memory: log changes to the parts of
its shard paths, and the States of one shard path. Ranges of a compressed snapshot go to a temporary file.

Several hot folders are different ensembles of different clusters; their rows are combined. A shard path may
be in only one of them, because a plan could not distinguish two tables with the same path. Several cold
folders are ensembles with the moved parts of different shard paths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from olap_partmove._partmove.errors import SameEnsemble
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.shard.inventory import COLD, HOT, InventoryRow

from ..progress import log_line
from ..zookeeper_files.content import COMPRESSED
from ..zookeeper_files.damage import DamagedFile
from ..zookeeper_files.folders import DataFolder, folders_of
from ..zookeeper_files.member import NOT_IN_SNAPSHOT, MemberFiles, TreeReader
from ..zookeeper_files.rows import group_of, table_rows
from ..zookeeper_files.survey import SurveyedTable, survey
from ..zookeeper_files.table_slices import TableSlice, table_slices
from .distribution import SizedPartition, distribute, tasks_text
from .inventory_rows import INVENTORY_SCHEMA, record_batches
from .part_groups import GROUP_SCHEMA, PartGroup, part_groups

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "zookeeper_snapshot"
BYTES_PER_TASK = 32 << 20
"""Below this size, starting a task takes longer than reading."""

MOST_TASKS = 10_000
# Skipping this number of bytes of a compressed file takes as long as converting a single byte to rows.
_DECOMPRESSION_GAIN = 8
# A part znode has a path, and a record of RECORD_BYTES in a snapshot and no less in a log.
_LEAST_BYTES_OF_PART = 100
# Unit of st_blocks. Preallocated zeros at the end of a log occupy no blocks.
_BLOCK = 512


@dataclass(frozen=True)
class SnapshotInputPartition(SizedPartition):
    """The table slices that one task reads."""

    slices: tuple[TableSlice, ...]
    parts_at_most: int


class SnapshotSource(DataSource):
    """Data source ``zookeeper_snapshot``; the module docstring has the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``spark.read.format``."""
        return FORMAT

    def schema(self) -> StructType:
        """Return INVENTORY_SCHEMA or GROUP_SCHEMA."""
        return GROUP_SCHEMA if self._is_grouped else INVENTORY_SCHEMA

    def reader(self, schema: StructType) -> SnapshotReader:
        """Return the reader. Raises EnsembleError for invalid settings."""
        cold = self.options.get("cold")
        return SnapshotReader(
            root=self.options["root"],
            hot=folders_of("hot", json.loads(self.options["hot"])),
            cold=folders_of("cold", json.loads(cold)) if cold else (),
            tasks=int(self.options.get("tasks", MOST_TASKS)),
            older_snapshot=self.options.get("older_snapshot", "false") == "true",
            is_grouped=self._is_grouped,
        )

    @property
    def _is_grouped(self) -> bool:
        return self.options.get("groups", "false") == "true"


@dataclass(frozen=True)
class SnapshotReader(DataSourceReader):
    """Verifies the files and locates tables on the driver; reads the parts in tasks."""

    root: str
    hot: tuple[DataFolder, ...]
    cold: tuple[DataFolder, ...] = ()
    tasks: int = MOST_TASKS
    older_snapshot: bool = False
    is_grouped: bool = False
    bytes_per_task: int = BYTES_PER_TASK
    processes: int = 1
    """Most processes that verify a snapshot on the driver."""

    def partitions(self) -> Sequence[InputPartition]:
        """Distribute the shard paths, large ones in slices, over tasks of about equal size.

        Raises EnsembleError when files are unusable, or no table is found.
        """
        self._check_distinct()
        tables = survey(
            self.hot,
            self.cold,
            self.root,
            on_skipped=_log_skipped,
            older_snapshot=self.older_snapshot,
            processes=self.processes,
        )
        members = _members(tables)
        for member in members:
            if member.folder.copy_of:
                # Nothing is logged after a snapshot of Keeper; its sorting was reported.
                continue
            log_line(f"{member.folder.label}: {member.snapshot.name} and the log up to 0x{member.until:x}")
        size = max(self.bytes_per_task, sum(map(_overhead_per_task, members)))
        slices = [each for table in tables for each in table_slices(table, size)]
        sizes = [each.size for each in slices]
        tasks = distribute(sizes, min(self.tasks, 1 + sum(sizes) // size))
        log_line(
            f"shard paths at or below {self.root}: {len(tables)}, to be read by {tasks_text(len(tasks))}"
        )
        logged = sum(map(_log_bytes, members))
        return [
            SnapshotInputPartition(
                tuple(slices[index] for index in task),
                (logged + sum(sizes[index] for index in task)) // _LEAST_BYTES_OF_PART,
            )
            for task in tasks
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one input partition, a SnapshotInputPartition."""
        if not isinstance(partition, SnapshotInputPartition):
            raise TypeError(f"{partition!r} is not an input partition of this source")
        if self.is_grouped:
            yield from record_batches(_groups(partition.slices), GROUP_SCHEMA)
        else:
            yield from record_batches(chain.from_iterable(rows for _slice, rows in _rows(partition.slices)))

    def _check_distinct(self) -> None:
        folders = [Path(each.place).resolve() for each in (*self.hot, *self.cold)]
        for each in folders:
            if folders.count(each) > 1:
                raise SameEnsemble(
                    f"The folder {each} was given twice", remedy="Give one folder of each ensemble"
                )


def _groups(slices: Sequence[TableSlice]) -> Iterator[PartGroup]:
    for table_slice, rows in _rows(slices):
        # A slice of cold only belongs to a large shard path: other slices have the hot znodes of its parts.
        yield from part_groups(rows, has_all=table_slice.hot is not None)


def _rows(slices: Sequence[TableSlice]) -> Iterator[tuple[TableSlice, Iterator[InventoryRow]]]:
    """Yield each slice with its rows; consume the rows before the next slice."""
    with ExitStack() as stack:
        trees = _open_trees(slices, stack)
        for table_slice in slices:
            table, hot, cold = table_slice
            tree = trees[table.hot.member]
            part_ranges = [] if hot is None else [(HOT, tree, hot)]
            if table.cold is not None and cold is not None:
                part_ranges.append((COLD, trees[table.cold.member], cold))
            rows = table_rows(ShardLayout(table.shard_path), tree, table.hot.records, part_ranges)
            yield table_slice, rows


def _open_trees(slices: Sequence[TableSlice], stack: ExitStack) -> Mapping[MemberFiles, TreeReader]:
    """Open a reader of each member's tree for the ranges of the slices; the stack closes them."""
    ranges: dict[MemberFiles, set[tuple[int, int]]] = {}
    for table_slice in slices:
        for member, each in table_slice.ranges():
            ranges.setdefault(member, set()).add(each)
    trees = {}
    for member, its_ranges in ranges.items():
        chroot = member.folder.chroot
        paths = frozenset(f"{chroot}{each.table.shard_path}".encode() for each in slices)
        group = partial(group_of, shard_paths=paths)
        present = sorted(each for each in its_ranges if each[0] != NOT_IN_SNAPSHOT)
        trees[member] = stack.enter_context(TreeReader(member, present, group))
    return trees


def _overhead_per_task(member: MemberFiles) -> int:
    """Return about how many bytes of the member's files a task reads beside its own ranges."""
    log_bytes = _log_bytes(member)
    if member.snapshot.suffix not in COMPRESSED:
        return log_bytes
    return log_bytes + member.snapshot.stat().st_size // _DECOMPRESSION_GAIN


def _log_bytes(member: MemberFiles) -> int:
    return sum(each.path.stat().st_blocks * _BLOCK for each in member.logs)


def _members(tables: Sequence[SurveyedTable]) -> Sequence[MemberFiles]:
    files = [each for table in tables for each in (table.hot, table.cold) if each is not None]
    return list(dict.fromkeys(each.member for each in files))


def _log_skipped(error: DamagedFile) -> None:
    log_line(f"{error.message}; an older snapshot is read instead")
