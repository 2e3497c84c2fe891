# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conversion of inventory rows to Arrow batches, common to all sources."""

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
"""Columns of InventoryRow, in the order of its fields."""


def record_batches(
    rows: Iterator[tuple[Any, ...]], columns: StructType = INVENTORY_SCHEMA
) -> Iterator[pa.RecordBatch]:
    """Convert rows to Arrow batches with the given columns; holds one batch in memory."""
    import pyarrow as pa  # noqa: PLC0415 - takes half a second, needed in tasks only
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - imports pyarrow

    # Millions of short-lived rows trigger many garbage collections: exclude the loaded modules from them.
    gc.freeze()
    schema = to_arrow_schema(columns)
    while batch := list(islice(rows, _BATCH_ROWS)):
        arrays = map(pa.array, zip(*batch, strict=True), schema.types)
        yield pa.RecordBatch.from_arrays(list(arrays), schema=schema)
