# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of live ensembles as a Spark data source, ``zookeeper``.

Options:

- ``root``: where shard paths are looked for, in the hot ensemble;
- ``hot_secret``, and optionally ``cold_secret``: how to connect, as JSON with the keys that `options_of`
  knows. They may carry credentials; Spark does not show the options of a Python data source, and would hide
  the value of an option with such a name;
- ``sessions``: how many sessions the job may have with each ensemble at one moment;
- ``znodes_per_second``: how many znodes the job may read of each ensemble in a second, 0 for any number;
- ``groups``: ``true`` for rows of PartGroup; without it there is one for each part.

There is one input partition for each shard path, and one for each of its replicas where these have very many
parts. Where that would make more than ``sessions``, each gets several. A task has one session with each
ensemble, so however many tasks run at once, there are never more sessions than input partitions; each reads
at its share of ``znodes_per_second``.

A znode that may not be read does not end the job. Rows without a state, or without ``is_marked_cold`` where
they are groups, tell of what is not known for that reason: a partition, or, with an empty partition id, all
that is at and below a path.
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
from olap_partmove._partmove.lease.two_ensembles import check_distinct, check_unlike
from olap_partmove._partmove.shard.inventory import (
    HOT,
    InventoryRow,
    count_parts,
    find_shard_paths,
    read_inventory,
)
from olap_partmove._partmove.shard.row_split import RowSplit, portions_of
from olap_partmove._partmove.tree.skip_denied import SkipDeniedReader
from olap_partmove._zookeeper.options import EnsembleOptions
from olap_partmove._zookeeper.settings import options_of
from olap_partmove._zookeeper.store import ZooKeeperStore, connect

from ..progress import tell
from .dealing import deal, tasks_told
from .inventory_rows import INVENTORY_SCHEMA, record_batches
from .part_groups import GROUP_SCHEMA, part_groups

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "zookeeper"
DEFAULT_SESSIONS = 32
"""It is below 60, which is how many connections of one host ZooKeeper accepts by default."""

RETRIES = 3
_FIRST_DELAY = 1.0
# A shard path costs a few requests even if it has no parts.
_PATH_COST = 100
# What a session reads in ten seconds or so: to list the replicas once more for fewer would not pay.
_PARTS_OF_A_SHARE = 200_000


@dataclass(frozen=True)
class ShardPaths(InputPartition):
    """The shard paths that one task reads, or which portions of them it does.

    It may read so many znodes of each ensemble in a second.
    """

    shares: tuple[tuple[str, RowSplit], ...]
    znodes_per_second: float
    unread: tuple[str, ...] = ()
    """Paths of tables that may not be read, and of what nobody knows the tables of; one task tells them."""


class ZooKeeperSource(DataSource):
    """The data source ``zookeeper``; the module says what its options are."""

    @classmethod
    def name(cls) -> str:
        """The name that ``spark.read.format`` takes."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema of the rows, which is INVENTORY_SCHEMA, or GROUP_SCHEMA."""
        return GROUP_SCHEMA if self._is_grouped else INVENTORY_SCHEMA

    def reader(self, schema: StructType) -> InventoryReader:
        """The reader; raises EnsembleError for connection settings that are not understood."""
        cold = self.options.get("cold_secret")
        return InventoryReader(
            root=self.options["root"],
            hot=options_of("hot", json.loads(self.options["hot_secret"])),
            cold=options_of("cold", json.loads(cold)) if cold else None,
            sessions=int(self.options.get("sessions", DEFAULT_SESSIONS)),
            znodes_per_second=float(self.options.get("znodes_per_second", 0)),
            is_grouped=self._is_grouped,
        )

    @property
    def _is_grouped(self) -> bool:
        return self.options.get("groups", "false") == "true"


@dataclass(frozen=True)
class InventoryReader(DataSourceReader):
    """Finds the shard paths on the driver; reads them in the tasks, each with sessions of its own."""

    root: str
    hot: EnsembleOptions
    cold: EnsembleOptions | None
    sessions: int = DEFAULT_SESSIONS
    znodes_per_second: float = 0.0
    is_grouped: bool = False
    parts_of_a_share: int = _PARTS_OF_A_SHARE
    first_delay: float = _FIRST_DELAY
    """Seconds before a task that lost an ensemble tries again; doubled each time."""

    def partitions(self) -> Sequence[ShardPaths]:
        """The shard paths, divided where they are large, and dealt out: each task has about as many parts.

        Raises EnsembleError when an ensemble cannot be used, or no table is there that may be read.
        """
        with ExitStack() as stack:
            hot, cold = self._connect(stack, self.znodes_per_second)
            found = _tables(hot, cold, self.root)
            if cold is not None:
                check_unlike(hot, cold, next(iter(found.parts)))
        paths = sorted(found.parts)
        shares = [
            (path, *each) for path in paths for each in portions_of(found.parts[path], self.parts_of_a_share)
        ]
        parts = sum(size for _path, _portion, size in shares)
        hands = deal([size + _PATH_COST for _path, _portion, size in shares], self.sessions)
        tell(
            f"shard paths at or below {self.root}: {len(paths)}, with {parts:,} parts, to be read by"
            f" {tasks_told(len(hands))}"
        )
        share = self.znodes_per_second / len(hands)
        unread = [tuple(sorted(found.unread)), *((),) * (len(hands) - 1)]
        return [
            ShardPaths(tuple(shares[number][:2] for number in hand), share, its_unread)
            for hand, its_unread in zip(hands, unread, strict=True)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the shard paths of one input partition."""
        if not isinstance(partition, ShardPaths):
            raise TypeError(f"{partition!r} is no partition of this source")
        rows = chain(map(_unread, partition.unread), self._rows(partition))
        if self.is_grouped:
            yield from record_batches(part_groups(rows), GROUP_SCHEMA)
        else:
            yield from record_batches(rows)

    def _rows(self, partition: ShardPaths) -> Iterator[InventoryRow]:
        """Yield each row once, even where an ensemble is lost for longer than a session can bridge.

        Rows come sorted within a shard path, so a new try passes over those that came before the loss.
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
                tell(f"{error.message}; try {failures} of {RETRIES} follows")
                time.sleep(self.first_delay * 2 ** (failures - 1))

    def _connect(
        self, stack: ExitStack, znodes_per_second: float
    ) -> tuple[ZooKeeperStore, ZooKeeperStore | None]:
        hot = stack.enter_context(connect(replace(self.hot, reads_per_second=znodes_per_second)))
        if self.cold is None:
            return hot, None
        cold = stack.enter_context(connect(replace(self.cold, reads_per_second=znodes_per_second)))
        check_distinct(hot, cold)
        return hot, cold


class _Tables(NamedTuple):
    """What was found on the driver."""

    parts: Mapping[str, Mapping[str, int]]
    """Shard path → about how many parts each replica has in both ensembles."""
    unread: Mapping[str, AccessDenied]
    """Shard paths, and paths that nobody knows the tables below of, and what of them may not be read."""


def _tables(hot: ZooKeeperStore, cold: ZooKeeperStore | None, root: str) -> _Tables:
    """The tables at and below the root. Raises EnsembleError where there is none that may be read."""
    denied: dict[str, AccessDenied] = {}
    readers = [SkipDeniedReader(each, denied.setdefault) for each in (hot, cold) if each is not None]
    paths = sorted(find_shard_paths(hot, root, denied=denied.setdefault))
    counts = [count_parts(each, paths) for each in readers]
    layouts = map(ShardLayout, paths)
    # The move needs the block numbers, of whatever partition.
    readers[0].read([path for each in layouts for path in (each.metadata, each.block_numbers)])
    tables = frozenset(paths)
    unread = {_table_of(path, tables): error for path, error in denied.items()}
    found = {path: _added(in_each) for path, in_each in zip(paths, zip(*counts, strict=True), strict=True)}
    readable = {path: parts for path, parts in found.items() if path not in unread}
    if not readable and unread:
        raise unread[min(unread)]
    if not readable:
        raise EnsembleError(
            f"There is no replicated table at or below {root} in the hot ensemble",
            remedy="Give a root that the shard paths of the tables begin with",
        )
    return _Tables(readable, unread)


def _table_of(path: str, tables: AbstractSet[str]) -> str:
    """The table that the path is in; the path itself where it is in none."""
    return next((each for each in map(str, PurePosixPath(path).parents) if each in tables), path)


def _unread(path: str) -> InventoryRow:
    """The row that says that nothing is known of what is at and below the path."""
    return InventoryRow(path, "", "", "", 0, 0, 0, HOT, None)


def _position(row: InventoryRow) -> tuple[str, ...]:
    """The place of a row among those of its shard path, which `read_inventory` sorts, hot before cold."""
    return ("0" if row.ensemble == HOT else "1", row.replica, row.part)


def _added(in_each: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    """What each replica has in all ensembles."""
    total: Counter[str] = Counter()
    for parts in in_each:
        total.update(parts)
    return total


def _rows(
    hot: ZooKeeperStore, path: str, portion: RowSplit, cold: ZooKeeperStore | None
) -> Iterator[InventoryRow]:
    try:
        yield from read_inventory(hot, path, cold=cold, portion=portion, past_denied=True)
    except NoSuchTable:
        # It was there when the shard paths were looked for: dropping a table is no error.
        tell(f"{path} was dropped in the meantime and is left out")
