# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan rows on disk: the plan file that the move takes, and the same rows as Parquet for analysis."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructField, StructType

from olap_partmove._partmove.errors import PartMoveError
from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.gates.names import GateName
from olap_partmove._partmove.plan.file import PlanHeader, PlanRow
from olap_partmove._partmove.plan.origin import OriginOf
from olap_partmove._partmove.plan.staging import check_writable
from olap_partmove._partmove.plan.writing import Chunk, encode_rows, staged_plan

from .policy.decisions import LEAVE, UNREAD
from .spark_errors import message_of

if TYPE_CHECKING:
    import pyarrow as pa

# Of the lines of so many rows the driver has one copy in Java and one in Python, some 15 MB each.
_ROWS_PER_CHUNK = 50_000
# The columns of Chunk, in its order.
_CHUNKS = StructType([StructField("lines", BinaryType()), StructField("tops", ArrayType(StringType()))])


@contextmanager
def staged_plan_file(
    rows: DataFrame, path: Path, count: int, *, policy_digest: str, source: str, origin: OriginOf, as_of: int
) -> Iterator[PlanHeader]:
    """Write the plan file, with the lines of one Spark partition in memory at a time; see `staged_plan`.

    Tables that the policy leaves alone have no row in it, nor has what may not be read. Tasks make and check
    the lines, all at once; what is left for the driver is to put their bytes one after the other.
    ``count`` is how many rows there will be, by which they are divided.
    """
    planned = rows.where(~F.col("action").isin(LEAVE, UNREAD)).select(*PlanRow._fields)
    stretches = 1 + count // _ROWS_PER_CHUNK
    # Spark sorts text by its UTF-8 bytes, which is the order that plan files are in.
    ordered = planned.repartitionByRange(stretches, "shard_path", "partition").sortWithinPartitions(
        "shard_path", "partition"
    )
    encoded = ordered.mapInArrow(_encode_partition, _CHUNKS).persist(StorageLevel.DISK_ONLY)
    try:
        # Partitions are fetched one by one: without this each would be made only when its turn has come.
        encoded.count()
        # Not as a query: of one that has been handed out Spark keeps all results, until its driver ends.
        fetched = encoded.rdd.toLocalIterator()
        chunks = (Chunk(bytes(row.lines), row.tops) for row in fetched)
        staged = staged_plan(
            path, chunks, policy_digest=policy_digest, source=source, origin=origin, as_of=as_of
        )
        with staged as header:
            yield header
    finally:
        encoded.unpersist()


def write_parquet(rows: DataFrame, folder: str, as_of: int) -> None:
    """Add the rows to a Parquet data set with the partition column ``as_of``, in milliseconds since 1970.

    The columns are those of `decided`, ``last_modified`` as a timestamp. Only rows of the same moment are
    replaced. Raises PartMoveError where the folder cannot be written to.
    """
    with_times = rows.withColumn("last_modified", F.timestamp_millis("last_modified"))
    ordered = with_times.orderBy("shard_path", "partition")
    try:
        ordered.write.mode("overwrite").parquet(f"{folder.rstrip('/')}/as_of={as_of}")
    except (PySparkException, Py4JJavaError) as error:
        raise _no_parquet(folder, message_of(error)) from error


def check_local_parquet(folder: str) -> None:
    """Raise PartMoveError where the folder is one of this host for sure, and cannot be written to.

    Spark need not run for that.
    """
    url = urlsplit(folder)
    is_elsewhere = "HADOOP_CONF_DIR" in os.environ or "YARN_CONF_DIR" in os.environ
    if url.scheme == "file" or (not url.scheme and not is_elsewhere):
        try:
            check_writable(Path(url.path if url.scheme else folder))
        except OSError as error:
            raise _no_parquet(folder, error.strerror or str(error)) from error


def check_parquet(spark: SparkSession, folder: str) -> None:
    """Raise PartMoveError where the driver cannot write to the folder, wherever that is; it is made."""
    context: Any = spark.sparkContext
    try:
        probe = context._jvm.org.apache.hadoop.fs.Path(f"{folder.rstrip('/')}/.probe-{uuid.uuid4().hex}")
        storage = probe.getFileSystem(context._jsc.hadoopConfiguration())
        storage.create(probe, False).close()
        storage.delete(probe, False)
    except Py4JJavaError as error:
        raise _no_parquet(folder, message_of(error)) from error


def _no_parquet(folder: str, reason: str) -> PartMoveError:
    return PartMoveError(
        f"{folder}: the rows cannot be written there as Parquet. {reason}",
        remedy="Give a folder that driver and executors can write to; the old plan is still in its place",
    )


def _encode_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one Spark partition, sorted, as chunks of lines."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only the tasks need

    rows = (row for batch in batches for row in _plan_rows(batch))
    for chunk in encode_rows(rows, "of a task"):
        columns = [pa.array([chunk.lines], pa.binary()), pa.array([chunk.tops], pa.list_(pa.string()))]
        yield pa.RecordBatch.from_arrays(columns, list(Chunk._fields))


def _plan_rows(batch: pa.RecordBatch) -> Iterable[PlanRow]:
    columns = dict(zip(PlanRow._fields, (each.to_pylist() for each in batch.columns), strict=True))
    columns["state"] = [State(each) for each in columns["state"]]
    columns["gate"] = [None if each is None else GateName(each) for each in columns["gate"]]
    return map(PlanRow, *columns.values())
