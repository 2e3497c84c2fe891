# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of ensembles as their files tell it, as a Spark data source, ``zookeeper_snapshot``.

No ensemble is asked for anything. Of each, one member's newest snapshot and the transaction log after it
are read: the rows are those that the source ``zookeeper`` would give at the last logged transaction.

Options:

- ``root``: where shard paths are looked for, in hot, below the chroot;
- ``hot``, and optionally ``cold``: where the files are, as JSON: ``{"data_dir": "/copy/zk1",
  "data_log_dir": "/copy/zk1-log", "chroot": "/a"}``, of which only ``data_dir`` has to be there; or a list of
  such folders, one for each ensemble;
- ``tasks``: how many input partitions there are at most; without it, as many as there is work for;
- ``older_snapshot``: ``true`` to read the newest snapshot that is not damaged, where the newest one is;
  ``false``, as without the option, to refuse unless it is only cut off;
- ``groups``: ``true`` for rows of PartGroup; without it there is one for each part.

The files have to be at these paths on the driver and on every executor, and stay as they are until the job
has ended, but that a running server may go on with its log.

The driver goes over each file once, which shows whether it is complete, and where in it each shard path is.
An input partition has some of the shard paths, or a piece of one that is large: it reads their ranges of the
snapshot, and the log. There is one for every 32 MiB, and fewer where each would have to read as much besides:
the log, and a compressed snapshot up to where its ranges are. A task has in memory what the log did to the
parts of its shard paths, and the states of one shard path; of a compressed snapshot it has its ranges in a
temporary file.

Several hot folders are several ensembles, of different clusters: their rows come together. A shard path may
be in one of them only, because a plan could not tell two tables of that path apart. Several cold folders are
ensembles that have taken parts of different shard paths.
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

from ..progress import tell
from ..zookeeper_files.content import COMPRESSED
from ..zookeeper_files.damage import DamagedFile
from ..zookeeper_files.folders import DataFolder, folders_of
from ..zookeeper_files.member import NOT_THERE, Member, Tree
from ..zookeeper_files.rows import group_of, table_rows
from ..zookeeper_files.shares import Share, shares_of
from ..zookeeper_files.survey import Table, survey
from .dealing import deal, tasks_told
from .inventory_rows import INVENTORY_SCHEMA, record_batches
from .part_groups import GROUP_SCHEMA, PartGroup, part_groups

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "zookeeper_snapshot"
BYTES_OF_A_TASK = 32 << 20
"""A task for fewer would take longer to begin than to read them."""

MOST_TASKS = 10_000
# To pass over so many bytes of a compressed file takes about as long as to make rows of one byte.
_DECOMPRESSION_GAIN = 8
# What st_blocks counts: the zeros that a server puts after its log take up none.
_BLOCK = 512


@dataclass(frozen=True)
class Shares(InputPartition):
    """What one task reads."""

    shares: tuple[Share, ...]


class SnapshotSource(DataSource):
    """The data source ``zookeeper_snapshot``; the module names its options."""

    @classmethod
    def name(cls) -> str:
        """The name that ``spark.read.format`` takes."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema of the rows, which is INVENTORY_SCHEMA, or GROUP_SCHEMA."""
        return GROUP_SCHEMA if self._is_grouped else INVENTORY_SCHEMA

    def reader(self, schema: StructType) -> SnapshotReader:
        """The reader; raises EnsembleError for settings that are not understood."""
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
    """Goes over the files on the driver; reads the parts in the tasks."""

    root: str
    hot: tuple[DataFolder, ...]
    cold: tuple[DataFolder, ...] = ()
    tasks: int = MOST_TASKS
    older_snapshot: bool = False
    is_grouped: bool = False
    bytes_of_a_task: int = BYTES_OF_A_TASK

    def partitions(self) -> Sequence[InputPartition]:
        """The shard paths, divided where they are large, and dealt out so that each task has about as much.

        Raises EnsembleError when files cannot be used, or no table is there.
        """
        self._check_distinct()
        tables = survey(
            self.hot, self.cold, self.root, passed_over=_passed_over, older_snapshot=self.older_snapshot
        )
        members = _members(tables)
        for member in members:
            tell(f"{member.folder.label}: {member.snapshot.name} and the log up to 0x{member.until:x}")
        size = max(self.bytes_of_a_task, sum(map(_read_by_each_task, members)))
        shares = [share for table in tables for share in shares_of(table, size)]
        sizes = [share.size for share in shares]
        hands = deal(sizes, min(self.tasks, 1 + sum(sizes) // size))
        tell(f"shard paths at or below {self.root}: {len(tables)}, to be read by {tasks_told(len(hands))}")
        return [Shares(tuple(shares[number] for number in hand)) for hand in hands]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the shard paths of one input partition."""
        if not isinstance(partition, Shares):
            raise TypeError(f"{partition!r} is no partition of this source")
        if self.is_grouped:
            yield from record_batches(_groups(partition.shares), GROUP_SCHEMA)
        else:
            yield from record_batches(chain.from_iterable(rows for _share, rows in _rows(partition.shares)))

    def _check_distinct(self) -> None:
        folders = [Path(each.data_dir).resolve() for each in (*self.hot, *self.cold)]
        for each in folders:
            if folders.count(each) > 1:
                raise SameEnsemble(
                    f"The folder {each} was given twice", remedy="Give a folder of each ensemble"
                )


def _groups(shares: Sequence[Share]) -> Iterator[PartGroup]:
    for share, rows in _rows(shares):
        # A piece of cold alone is of a large shard path: other pieces have what hot has of its parts.
        yield from part_groups(rows, has_all=share.hot is not None)


def _rows(shares: Sequence[Share]) -> Iterator[tuple[Share, Iterator[InventoryRow]]]:
    """Each share with its rows, which are to be taken before the next one."""
    with ExitStack() as stack:
        trees = _open_trees(shares, stack)
        for share in shares:
            table, hot, cold = share
            tree = trees[table.hot.member]
            pieces = [] if hot is None else [(HOT, tree, hot)]
            if table.cold is not None and cold is not None:
                pieces.append((COLD, trees[table.cold.member], cold))
            yield share, table_rows(ShardLayout(table.shard_path), tree, table.hot.place, pieces)


def _open_trees(shares: Sequence[Share], stack: ExitStack) -> Mapping[Member, Tree]:
    """A tree of each member that can read the ranges of the shares, open for as long as the stack."""
    ranges: dict[Member, set[tuple[int, int]]] = {}
    for share in shares:
        for member, each in share.ranges():
            ranges.setdefault(member, set()).add(each)
    trees = {}
    for member, its_ranges in ranges.items():
        chroot = member.folder.chroot
        paths = frozenset(f"{chroot}{share.table.shard_path}".encode() for share in shares)
        group = partial(group_of, shard_paths=paths)
        there = sorted(each for each in its_ranges if each[0] != NOT_THERE)
        trees[member] = stack.enter_context(Tree(member, there, group))
    return trees


def _read_by_each_task(member: Member) -> int:
    """About how many bytes a task reads of the member's files, whatever it makes rows of."""
    log = sum(each.path.stat().st_blocks * _BLOCK for each in member.logs)
    if member.snapshot.suffix not in COMPRESSED:
        return log
    return log + member.snapshot.stat().st_size // _DECOMPRESSION_GAIN


def _members(tables: Sequence[Table]) -> Sequence[Member]:
    files = [each for table in tables for each in (table.hot, table.cold) if each is not None]
    return list(dict.fromkeys(each.member for each in files))


def _passed_over(error: DamagedFile) -> None:
    tell(f"{error.message}; an older snapshot is read instead")
