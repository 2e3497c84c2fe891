# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of live ensembles as a Spark data source, ``zookeeper``.

Options:

- ``root``: where shard paths are looked for, in the hot ensemble;
- ``hot_secret``, and optionally ``cold_secret``: how to connect, as JSON (see connections below). They
  may carry credentials; Spark does not show the options of a Python data source, and would hide the
  value of an option with such a name;
- ``tasks``: how many input partitions there are at most.

There is one input partition for each shard path. Where that would make more than ``tasks``, each gets
several, because every task costs a session with each ensemble.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import LongType, StringType, StructField, StructType

from olap_partmove.partmove.ensembles import check_distinct, check_unlike
from olap_partmove.partmove.errors import EnsembleError
from olap_partmove.partmove.inventory import InventoryRow, find_shard_paths, read_inventory
from olap_partmove.partmove.shard_reader import NoSuchTable
from olap_partmove.zookeeper.options import EnsembleOptions
from olap_partmove.zookeeper.settings import options_of
from olap_partmove.zookeeper.store import ZooKeeperStore, connect

from .progress import tell

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "zookeeper"
DEFAULT_TASKS = 1000
_BATCH_ROWS = 5000

INVENTORY_SCHEMA = StructType(
    [
        StructField("shard_path", StringType()),
        StructField("replica", StringType()),
        StructField("part", StringType()),
        StructField("partition_id", StringType()),
        StructField("mtime", LongType()),
        StructField("bytes", LongType()),
        StructField("znodes", LongType()),
        StructField("ensemble", StringType()),
        StructField("state", StringType()),
    ]
)
"""The columns of InventoryRow, in its order."""


@dataclass(frozen=True)
class ShardPaths(InputPartition):
    """The shard paths that one task reads."""

    paths: tuple[str, ...]


class ZooKeeperSource(DataSource):
    """Reads InventoryRows; see the module for the options."""

    @classmethod
    def name(cls) -> str:
        """What ``spark.read.format`` takes."""
        return FORMAT

    def schema(self) -> StructType:
        """INVENTORY_SCHEMA."""
        return INVENTORY_SCHEMA

    def reader(self, schema: StructType) -> InventoryReader:
        """The reader; raises EnsembleError for connection settings that are not understood."""
        cold = self.options.get("cold_secret")
        return InventoryReader(
            root=self.options["root"],
            hot=options_of("hot", json.loads(self.options["hot_secret"])),
            cold=options_of("cold", json.loads(cold)) if cold else None,
            tasks=int(self.options.get("tasks", DEFAULT_TASKS)),
        )


@dataclass(frozen=True)
class InventoryReader(DataSourceReader):
    """Finds the shard paths on the driver; reads them in the tasks, each with sessions of its own."""

    root: str
    hot: EnsembleOptions
    cold: EnsembleOptions | None
    tasks: int

    def partitions(self) -> Sequence[InputPartition]:
        """The shard paths, dealt out so that neighbours, which tend to be of one size, are spread.

        Raises EnsembleError when an ensemble cannot be used, or no table is there.
        """
        with ExitStack() as stack:
            hot, cold = self._connect(stack)
            paths = sorted(find_shard_paths(hot, self.root))
            if not paths:
                raise EnsembleError(
                    f"There is no replicated table at or below {self.root} in the hot ensemble",
                    remedy="Give a root that the shard paths of the tables begin with",
                )
            if cold is not None:
                check_unlike(hot, cold, paths[0])
        tell(f"shard paths at or below {self.root}: {len(paths)}")
        return [ShardPaths(tuple(paths[start :: self.tasks])) for start in range(min(self.tasks, len(paths)))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of the shard paths of one input partition."""
        if not isinstance(partition, ShardPaths):
            raise TypeError(f"{partition!r} is no partition of this source")
        with ExitStack() as stack:
            hot, cold = self._connect(stack)
            for path in partition.paths:
                yield from _batches(_rows(hot, path, cold))

    def _connect(self, stack: ExitStack) -> tuple[ZooKeeperStore, ZooKeeperStore | None]:
        hot = stack.enter_context(connect(self.hot))
        if self.cold is None:
            return hot, None
        cold = stack.enter_context(connect(self.cold))
        check_distinct(hot, cold)
        return hot, cold


def _rows(hot: ZooKeeperStore, path: str, cold: ZooKeeperStore | None) -> Iterator[InventoryRow]:
    try:
        yield from read_inventory(hot, path, cold=cold)
    except NoSuchTable:
        # It was there when the shard paths were looked for: dropping a table is no error.
        tell(f"{path} was dropped in the meantime and is left out")


def _batches(rows: Iterator[InventoryRow]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa  # noqa: PLC0415 - half a second that only the tasks need

    names = INVENTORY_SCHEMA.names
    while batch := list(islice(rows, _BATCH_ROWS)):
        columns = [pa.array(values) for values in zip(*batch, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, names=names)
