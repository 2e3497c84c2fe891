# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows as Spark takes them, the same from every source."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import LongType, StringType, StructField, StructType

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


def record_batches(
    rows: Iterator[tuple[Any, ...]], columns: StructType = INVENTORY_SCHEMA
) -> Iterator[pa.RecordBatch]:
    """The rows in batches, with the columns of a schema; only those of one batch are in memory."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only the tasks need
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - imports pyarrow

    # Rows come and go by the million, and none refers to another: what the worker has loaded so far is not
    # worth looking through again each time that garbage is collected.
    gc.freeze()
    schema = to_arrow_schema(columns)
    while batch := list(islice(rows, _BATCH_ROWS)):
        arrays = map(pa.array, zip(*batch, strict=True), schema.types)
        yield pa.RecordBatch.from_arrays(list(arrays), schema=schema)
