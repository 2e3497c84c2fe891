# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""InventoryRows as Spark takes them, the same from every source."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from pyspark.sql.types import LongType, StringType, StructField, StructType

from olap_partmove._partmove.shard.inventory import InventoryRow

if TYPE_CHECKING:
    import pyarrow as pa

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


def record_batches(rows: Iterator[InventoryRow]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of INVENTORY_SCHEMA; only those of one batch are in memory."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only the tasks need

    # Rows come and go by the million, and none refers to another: what the worker has loaded so far is not
    # worth looking through again each time that garbage is collected.
    gc.freeze()
    schema = pa.schema(
        [(each.name, pa.int64() if each.dataType == LongType() else pa.string()) for each in INVENTORY_SCHEMA]
    )
    while batch := list(islice(rows, _BATCH_ROWS)):
        columns = map(pa.array, zip(*batch, strict=True), schema.types)
        yield pa.RecordBatch.from_arrays(list(columns), schema=schema)
