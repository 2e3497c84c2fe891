# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partition data from ClickHouse servers: sizes, reads, queues and mutations.

One task queries each server, with a handful of queries for any number of tables.
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

from .distributed_read import DistributedRead

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
"""Columns of PartitionUsage, in the order of its fields."""


@dataclass(frozen=True)
class ServerInputPartition(InputPartition):
    """The server that one task queries."""

    client: ClickHouseClient


@dataclass(frozen=True)
class SignalReader(DataSourceReader):
    """Queries each server in a separate task."""

    clients: tuple[ClickHouseClient, ...]
    windows: Mapping[int, int]
    """Length of each read-counting window in milliseconds → its start; see `read_usage`."""

    def partitions(self) -> Sequence[ServerInputPartition]:
        """Return one input partition for each server."""
        return [ServerInputPartition(client) for client in self.clients]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the data of one server. Raises PartMoveError when the query fails."""
        import pyarrow as pa  # noqa: PLC0415 - takes half a second, needed in tasks only
        from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - imports pyarrow

        if not isinstance(partition, ServerInputPartition):
            raise TypeError(f"{partition!r} is not an input partition of this source")
        schema = to_arrow_schema(SIGNAL_SCHEMA)
        rows = read_usage(partition.client, self.windows)
        while batch := [_for_arrow(row) for row in islice(rows, _BATCH_ROWS)]:
            yield pa.RecordBatch.from_pylist(batch, schema=schema)


def _for_arrow(row: PartitionUsage) -> dict[str, Any]:
    # Arrow represents a map as a list of pairs.
    within = None if row.reads_within is None else list(row.reads_within.items())
    return row._asdict() | {"reads_within": within}


def read_signal(
    spark: SparkSession, settings: object, windows: Iterable[int] = (), until: int = 0
) -> DataFrame:
    """Return the data of all servers, with the columns of SIGNAL_SCHEMA.

    settings: connection settings, as for `clients_of`.
    windows: lengths of the read-counting windows, in milliseconds.
    until: end of the windows, in milliseconds since 1970. Later reads count, too.

    Raises PartMoveError for invalid settings.
    """
    reader = SignalReader(tuple(clients_of(settings)), dict(window_starts(windows, until)))
    return DistributedRead(reader, SIGNAL_SCHEMA).rows(spark)


def window_starts(windows: Iterable[int], until: int) -> list[tuple[int, int]]:
    """Return each window with its start in seconds since 1970; windows longer than that start in 1970."""
    return [(window, max(until - window, 0) // 1000) for window in sorted(windows)]
