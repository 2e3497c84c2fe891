# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ClickHouse servers know of partitions.

Each server is asked by a task of its own, a handful of questions, whatever the number of tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import BooleanType, LongType, MapType, StringType, StructField, StructType

from olap_partmove._clickhouse.client import ClickHouseClient
from olap_partmove._clickhouse.settings import clients_of
from olap_partmove._clickhouse.usage import PartitionUsage, read_usage

from .reading import Reading

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 5000

SIGNAL_SCHEMA = StructType(
    [
        StructField("shard_path", StringType()),
        StructField("partition_id", StringType()),
        StructField("sql_table", StringType()),
        StructField("replica", StringType()),
        StructField("active_parts", LongType()),
        StructField("rows", LongType()),
        StructField("bytes_on_disk", LongType()),
        StructField("data_version", LongType()),
        StructField("is_queued", LongType()),
        StructField("mutation", LongType()),
        StructField("has_log", BooleanType()),
        StructField("reads", LongType()),
        StructField("reads_within", MapType(LongType(), LongType())),
    ]
)
"""The columns of PartitionUsage, in its order."""


@dataclass(frozen=True)
class Server(InputPartition):
    """The server that one task asks."""

    client: ClickHouseClient


@dataclass(frozen=True)
class SignalReader(DataSourceReader):
    """Asks each server in a task of its own."""

    clients: tuple[ClickHouseClient, ...]
    windows: Mapping[int, int]
    """Length of each window to count reads in, in milliseconds → when it begins; see `read_usage`."""

    def partitions(self) -> Sequence[Server]:
        """One input partition for each server."""
        return [Server(client) for client in self.clients]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What one server knows; raises PartMoveError when it cannot be asked."""
        import pyarrow as pa  # noqa: PLC0415 - half a second that only the tasks need
        from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - imports pyarrow

        if not isinstance(partition, Server):
            raise TypeError(f"{partition!r} is no partition of this source")
        schema = to_arrow_schema(SIGNAL_SCHEMA)
        rows = read_usage(partition.client, self.windows)
        while batch := [_for_arrow(row) for row in islice(rows, _BATCH_ROWS)]:
            yield pa.RecordBatch.from_pylist(batch, schema=schema)


def _for_arrow(row: PartitionUsage) -> dict[str, Any]:
    # A map is a list of pairs to Arrow.
    within = None if row.reads_within is None else list(row.reads_within.items())
    return row._asdict() | {"reads_within": within}


def read_signal(
    spark: SparkSession, settings: object, windows: Iterable[int] = (), until: int = 0
) -> DataFrame:
    """What all servers know, with the columns of SIGNAL_SCHEMA.

    ``settings`` is how to connect, as `clients_of` takes it. ``windows`` are the lengths of those to count
    reads in, in milliseconds, and ``until`` is the moment that they are before. What has read a partition
    since that moment counts too. Raises PartMoveError for settings that are not understood.
    """
    reader = SignalReader(tuple(clients_of(settings)), dict(begins(windows, until)))
    return Reading(reader, SIGNAL_SCHEMA).rows(spark)


def begins(windows: Iterable[int], until: int) -> list[tuple[int, int]]:
    """Each window with when it begins, in seconds; one that is longer than time itself begins in 1970."""
    return [(window, max(until - window, 0) // 1000) for window in sorted(windows)]
