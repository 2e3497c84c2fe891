# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ClickHouse servers know of partitions, as a Spark data source, ``clickhouse_usage``.

The one option is ``clickhouse_secret``: how to connect, as JSON with the keys that `clients_of` knows; the
source ``zookeeper`` says why it has that name. There is one input partition for each server, and each asks
its server a handful of questions, whatever the number of tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from olap_partmove._clickhouse.client import ClickHouseClient
from olap_partmove._clickhouse.settings import clients_of
from olap_partmove._clickhouse.usage import read_usage

if TYPE_CHECKING:
    import pyarrow as pa

# Not clickhouse, which is the name that the Spark connector of ClickHouse has.
FORMAT = "clickhouse_usage"
_BATCH_ROWS = 5000

SIGNAL_SCHEMA = StructType(
    [
        StructField("shard_path", StringType()),
        StructField("partition_id", StringType()),
        StructField("sql_table", StringType()),
        StructField("active_parts", LongType()),
        StructField("rows", LongType()),
        StructField("bytes_on_disk", LongType()),
        StructField("data_version", LongType()),
        StructField("is_queued", LongType()),
        StructField("mutation", LongType()),
        StructField("has_log", BooleanType()),
        StructField("reads", LongType()),
    ]
)
"""The columns of PartitionUsage, in its order."""


@dataclass(frozen=True)
class Server(InputPartition):
    """The server that one task asks."""

    client: ClickHouseClient


class ClickHouseSource(DataSource):
    """The data source ``clickhouse_usage``, which gives rows of PartitionUsage."""

    @classmethod
    def name(cls) -> str:
        """The name that ``spark.read.format`` takes."""
        return FORMAT

    def schema(self) -> StructType:
        """The schema of the rows, which is SIGNAL_SCHEMA."""
        return SIGNAL_SCHEMA

    def reader(self, schema: StructType) -> SignalReader:
        """The reader; raises PartMoveError for connection settings that are not understood."""
        return SignalReader(tuple(clients_of(json.loads(self.options["clickhouse_secret"]))))


@dataclass(frozen=True)
class SignalReader(DataSourceReader):
    """Asks each server in a task of its own."""

    clients: tuple[ClickHouseClient, ...]

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
        rows = read_usage(partition.client)
        while batch := [row._asdict() for row in islice(rows, _BATCH_ROWS)]:
            yield pa.RecordBatch.from_pylist(batch, schema=schema)


def read_signal(spark: SparkSession, settings: object) -> DataFrame:
    """What all servers know, with the columns of SIGNAL_SCHEMA."""
    spark.dataSource.register(ClickHouseSource)
    return spark.read.format(FORMAT).option("clickhouse_secret", json.dumps(settings)).load()
