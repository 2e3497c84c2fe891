# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spark data source ``zookeeper``: the inventory of running ensembles.

Options:

- ``root``: path in the hot ensemble; shard paths are searched at and below it;
- ``hot_secret``, and optionally ``cold_secret``: connection settings, as JSON with the keys of `options_of`.
  They may contain credentials. Spark does not display the options of a Python data source, and redacts
  options with such a name;
- ``sessions``: maximum number of concurrent sessions of the job with each ensemble;
- ``znodes_per_second``: maximum number of znodes the job reads per second and ensemble, 0 for no limit;
- ``latency_target``: seconds that each task may add to the latency of an ensemble, 0 for full speed;
- ``groups``: ``true`` for rows of PartGroup; by default, one row for each part.

A shard path is one worker share, or one for each replica with very many parts. Each share is an input
partition; with more shares than tasks may have sessions, an input partition gets several. A task has one
session with each ensemble, and with a latency target a second one, which measures the latency. A single
session measures nothing. Each task reads at an equal fraction of ``znodes_per_second``.

An unreadable znode does not end the job. A row without a state (in groups: without ``is_marked_cold``) marks
an unreadable partition, or, with an empty partition id, everything at and below a path.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from olap_partmove._partmove.errors import AccessDenied, EnsembleError, EnsembleUnreachable, NoSuchTable
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.lease.two_ensembles import check_different_history, check_distinct_addresses
from olap_partmove._partmove.shard.inventory import (
    HOT,
    InventoryRow,
    count_parts,
    find_shard_paths,
    read_inventory,
)
from olap_partmove._partmove.shard.worker_share import WorkerShare, worker_shares
from olap_partmove._partmove.tree.skip_denied import SkipDeniedReader
from olap_partmove._zookeeper.options import EnsembleOptions
from olap_partmove._zookeeper.settings import options_of
from olap_partmove._zookeeper.store import ZooKeeperStore, connect

from ..progress import log_line
from .distribution import SizedPartition, distribute, tasks_text
from .inventory_rows import INVENTORY_SCHEMA, record_batches
from .part_groups import GROUP_SCHEMA, part_groups

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "zookeeper"
DEFAULT_SESSIONS = 32
"""Below 60, ZooKeeper's default limit of connections from one host."""
DEFAULT_LATENCY_TARGET = 0.005

RETRIES = 3
_FIRST_DELAY = 1.0
# Cost of a shard path without parts, a few requests, in parts.
_PATH_COST = 100
# About ten seconds of reading for a session; smaller shares would not repay listing the replicas again.
_PARTS_PER_SHARE = 200_000


@dataclass(frozen=True)
class LiveInputPartition(SizedPartition):
    """The shares of shard paths that one task reads, and its rate limit for each ensemble."""

    shares: tuple[tuple[str, WorkerShare], ...]
    """Shard path and share of its parts."""
    parts_at_most: int
    """Number of their parts when the driver listed them; inserts may add some."""
    znodes_per_second: float
    unread: tuple[str, ...] = ()
    """Unreadable tables, and paths below which tables cannot be listed; reported by one task."""


class ZooKeeperSource(DataSource):
    """Data source ``zookeeper``; the module docstring has the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``spark.read.format``."""
        return FORMAT

    def schema(self) -> StructType:
        """Return INVENTORY_SCHEMA or GROUP_SCHEMA."""
        return GROUP_SCHEMA if self._is_grouped else INVENTORY_SCHEMA

    def reader(self, schema: StructType) -> InventoryReader:
        """Return the reader. Raises EnsembleError for invalid connection settings."""
        cold = self.options.get("cold_secret")
        return InventoryReader(
            root=self.options["root"],
            hot=options_of("hot", json.loads(self.options["hot_secret"])),
            cold=options_of("cold", json.loads(cold)) if cold else None,
            sessions=int(self.options.get("sessions", DEFAULT_SESSIONS)),
            znodes_per_second=float(self.options.get("znodes_per_second", 0)),
            latency_target=float(self.options.get("latency_target", DEFAULT_LATENCY_TARGET)),
            is_grouped=self._is_grouped,
        )

    @property
    def _is_grouped(self) -> bool:
        return self.options.get("groups", "false") == "true"


@dataclass(frozen=True)
class InventoryReader(DataSourceReader):
    """Lists the shard paths on the driver, and reads them in tasks with separate sessions."""

    root: str
    hot: EnsembleOptions
    cold: EnsembleOptions | None
    sessions: int = DEFAULT_SESSIONS
    znodes_per_second: float = 0.0
    latency_target: float = DEFAULT_LATENCY_TARGET
    is_grouped: bool = False
    parts_per_share: int = _PARTS_PER_SHARE
    first_delay: float = _FIRST_DELAY
    """Seconds before the first retry of a task that lost an ensemble; doubled at each retry."""

    @property
    def most_tasks(self) -> int:
        """The most tasks, so that their sessions with an ensemble are no more than ``sessions``."""
        return self.sessions // 2 if self._has_target else self.sessions

    @property
    def _has_target(self) -> bool:
        return self.latency_target > 0 and self.sessions > 1

    def partitions(self) -> Sequence[LiveInputPartition]:
        """Distribute the shard paths, large ones in worker shares, over tasks of about equal size.

        Raises EnsembleError when an ensemble is unusable, or the root has no readable table.
        """
        with ExitStack() as stack:
            hot, cold = self._connect(stack, self.znodes_per_second)
            tables = _readable_tables(hot, cold, self.root)
            if cold is not None:
                check_different_history(hot, cold, next(iter(tables.parts)))
        paths = sorted(tables.parts)
        shares = [
            (path, *each)
            for path in paths
            for each in worker_shares(tables.parts[path], self.parts_per_share)
        ]
        parts = sum(size for _path, _share, size in shares)
        tasks = distribute([size + _PATH_COST for _path, _share, size in shares], self.most_tasks)
        log_line(
            f"shard paths at or below {self.root}: {len(paths)}, with {parts:,} parts, to be read by"
            f" {tasks_text(len(tasks))}"
        )
        rate = self.znodes_per_second / len(tasks)
        unread = [tuple(sorted(tables.unread)), *((),) * (len(tasks) - 1)]
        return [
            LiveInputPartition(
                tuple(shares[index][:2] for index in task),
                sum(shares[index][2] for index in task),
                rate,
                its_unread,
            )
            for task, its_unread in zip(tasks, unread, strict=True)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one input partition, a LiveInputPartition."""
        if not isinstance(partition, LiveInputPartition):
            raise TypeError(f"{partition!r} is not an input partition of this source")
        rows = chain(map(_unreadable_row, partition.unread), self._rows(partition))
        if self.is_grouped:
            yield from record_batches(part_groups(rows), GROUP_SCHEMA)
        else:
            yield from record_batches(rows)

    def _rows(self, partition: LiveInputPartition) -> Iterator[InventoryRow]:
        """Yield each row once, even after the loss of an ensemble for longer than a session lasts.

        Rows are sorted within a shard path: a retry skips the rows that were yielded before the loss.
        """
        left = list(reversed(partition.shares))
        last: tuple[str, ...] = ()
        failures = 0
        while left:
            try:
                with ExitStack() as stack:
                    hot, cold = self._connect(stack, partition.znodes_per_second)
                    while left:
                        for row in _rows(hot, *left[-1], cold):
                            position = _position(row)
                            if position > last:
                                yield row
                                last, failures = position, 0
                        left.pop()
                        last = ()
            except EnsembleUnreachable as error:
                failures += 1
                if failures > RETRIES:
                    raise
                log_line(f"{error.message}; try {failures} of {RETRIES} follows")
                time.sleep(self.first_delay * 2 ** (failures - 1))

    def _connect(
        self, stack: ExitStack, znodes_per_second: float
    ) -> tuple[ZooKeeperStore, ZooKeeperStore | None]:
        def opened(options: EnsembleOptions) -> ZooKeeperStore:
            target = self.latency_target if self._has_target else 0.0
            limited = replace(options, reads_per_second=znodes_per_second, latency_target=target)
            return stack.enter_context(connect(limited))

        hot = opened(self.hot)
        if self.cold is None:
            return hot, None
        cold = opened(self.cold)
        check_distinct_addresses(hot, cold)
        return hot, cold


class _ReadableTables(NamedTuple):
    """Tables found on the driver."""

    parts: Mapping[str, Mapping[str, int]]
    """Shard path → replica → approximate number of parts in both ensembles."""
    unread: Mapping[str, AccessDenied]
    """Unreadable shard paths, and paths below which tables cannot be listed, with the error."""


def _readable_tables(hot: ZooKeeperStore, cold: ZooKeeperStore | None, root: str) -> _ReadableTables:
    """List the tables at and below the root. Raises EnsembleError if none is readable."""
    denied: dict[str, AccessDenied] = {}
    readers = [SkipDeniedReader(each, denied.setdefault) for each in (hot, cold) if each is not None]
    paths = sorted(find_shard_paths(hot, root, denied=denied.setdefault))
    counts = [count_parts(each, paths) for each in readers]
    layouts = map(ShardLayout, paths)
    # Moving any partition requires the block numbers of its table.
    readers[0].read([path for each in layouts for path in (each.metadata, each.block_numbers)])
    tables = frozenset(paths)
    unread = {_table_of(path, tables): error for path, error in denied.items()}
    parts_by_path = {
        path: _sum_by_replica(in_each) for path, in_each in zip(paths, zip(*counts, strict=True), strict=True)
    }
    readable = {path: parts for path, parts in parts_by_path.items() if path not in unread}
    if not readable and unread:
        raise unread[min(unread)]
    if not readable:
        raise EnsembleError(
            f"There is no replicated table at or below {root} in the hot ensemble",
            remedy="Give a root that the shard paths of the tables begin with",
        )
    return _ReadableTables(readable, unread)


def _table_of(path: str, tables: AbstractSet[str]) -> str:
    """Return the table that contains the path; the path itself if no table does."""
    return next((each for each in map(str, PurePosixPath(path).parents) if each in tables), path)


def _unreadable_row(path: str) -> InventoryRow:
    """Return the row that marks everything at and below ``path`` as unreadable."""
    return InventoryRow(path, "", "", "", 0, 0, 0, HOT, None)


def _position(row: InventoryRow) -> tuple[str, ...]:
    """Return the sort key of a row in its shard path: `read_inventory` sorts, hot before cold."""
    return ("0" if row.ensemble == HOT else "1", row.replica, row.part)


def _sum_by_replica(in_each: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    """Return the number of parts of each replica in all ensembles."""
    total: Counter[str] = Counter()
    for parts in in_each:
        total.update(parts)
    return total


def _rows(
    hot: ZooKeeperStore, path: str, share: WorkerShare, cold: ZooKeeperStore | None
) -> Iterator[InventoryRow]:
    try:
        yield from read_inventory(hot, path, cold=cold, share=share, past_denied=True)
    except NoSuchTable:
        # The driver listed the table: a later DROP TABLE is not an error.
        log_line(f"{path} was dropped in the meantime and is left out")
