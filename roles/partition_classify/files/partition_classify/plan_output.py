# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output of plan rows: the plan file for the move, and Parquet for analysis."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
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
from olap_partmove._partmove.plan.origin import OriginReader
from olap_partmove._partmove.plan.staging import check_writable
from olap_partmove._partmove.plan.writing import Chunk, encode_rows, staged_plan

from .policy.decisions import LEAVE, UNREAD
from .spark_errors import message_of

if TYPE_CHECKING:
    import pyarrow as pa

# Up to this number of rows, the driver encodes the lines itself: starting a worker takes longer.
_FEW_ROWS = 5_000
# The driver holds the lines of a chunk twice, in Java and in Python, about 15 MB each.
_ROWS_PER_CHUNK = 50_000
# Columns of Chunk, in the order of its fields.
_CHUNKS = StructType(
    [StructField("lines", BinaryType()), StructField("topmost_paths", ArrayType(StringType()))]
)


@contextmanager
def staged_plan_file(
    rows: DataFrame,
    path: Path,
    count: int,
    *,
    policy_digest: str,
    source: str,
    origin: OriginReader,
    as_of: int,
) -> Iterator[PlanHeader]:
    """Stage the plan file, with the lines of one Spark partition in memory at a time; see `staged_plan`.

    Omits tables left alone by the policy and unreadable partitions. Tasks encode and check the lines in
    parallel; the driver only concatenates their bytes. Few rows are encoded by the driver.

    count: number of rows, to choose the number of Spark partitions.
    """
    planned = rows.where(~F.col("action").isin(LEAVE, UNREAD)).select(*PlanRow._fields)
    with _chunks_of(planned, count) as chunks:
        staged = staged_plan(
            path, chunks, policy_digest=policy_digest, source=source, origin=origin, as_of=as_of
        )
        with staged as header:
            yield header


@contextmanager
def _chunks_of(planned: DataFrame, count: int) -> Iterator[Iterable[Chunk]]:
    """Yield the encoded rows in the order of a plan."""
    if count <= _FEW_ROWS:
        few = planned.coalesce(1).sortWithinPartitions("shard_path", "partition").collect()
        yield encode_rows(_plan_rows(list(zip(*few, strict=True)) if few else []), "of the plan")
        return
    partitions = 1 + count // _ROWS_PER_CHUNK
    # Spark sorts text by UTF-8 bytes, the order of plan files.
    ordered = planned.repartitionByRange(partitions, "shard_path", "partition").sortWithinPartitions(
        "shard_path", "partition"
    )
    encoded = ordered.mapInArrow(_encode_partition, _CHUNKS).persist(StorageLevel.DISK_ONLY)
    try:
        # Computes all partitions in parallel; toLocalIterator would compute them one after another.
        encoded.count()
        # Via the RDD: Spark would keep all results of a query until the end of the driver.
        fetched = encoded.rdd.toLocalIterator()
        yield (Chunk(bytes(row.lines), row.topmost_paths) for row in fetched)
    finally:
        encoded.unpersist()


def write_parquet(rows: DataFrame, folder: str, as_of: int) -> None:
    """Add the rows to a Parquet data set partitioned by ``as_of``, in milliseconds since 1970.

    Columns: see `with_decisions`, ``last_modified`` as a timestamp. Replaces rows of the same moment only.
    Raises PartMoveError when the folder is not writable.
    """
    with_times = rows.withColumn("last_modified", F.timestamp_millis("last_modified"))
    ordered = with_times.orderBy("shard_path", "partition")
    try:
        ordered.write.mode("overwrite").parquet(f"{folder.rstrip('/')}/as_of={as_of}")
    except (PySparkException, Py4JJavaError) as error:
        raise _no_parquet(folder, message_of(error)) from error


def check_local_parquet(folder: str) -> None:
    """Raise PartMoveError if the folder is certainly on this host and not writable.

    Works without Spark.
    """
    url = urlsplit(folder)
    is_elsewhere = "HADOOP_CONF_DIR" in os.environ or "YARN_CONF_DIR" in os.environ
    if url.scheme == "file" or (not url.scheme and not is_elsewhere):
        try:
            check_writable(Path(url.path if url.scheme else folder))
        except OSError as error:
            raise _no_parquet(folder, error.strerror or str(error)) from error


def check_parquet(spark: SparkSession, folder: str) -> None:
    """Raise PartMoveError if the driver cannot write to the folder, local or remote; creates the folder."""
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
        remedy="Give a folder writable for driver and executors; the old plan is unchanged",
    )


def _encode_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Encode the sorted rows of one Spark partition as chunks of lines."""
    import pyarrow as pa  # noqa: PLC0415 - takes half a second, needed in tasks only

    rows = (row for batch in batches for row in _plan_rows([each.to_pylist() for each in batch.columns]))
    for chunk in encode_rows(rows, "of a task"):
        columns = [
            pa.array([chunk.lines], pa.binary()),
            pa.array([chunk.topmost_paths], pa.list_(pa.string())),
        ]
        yield pa.RecordBatch.from_arrays(columns, list(Chunk._fields))


def _plan_rows(values: Sequence[Sequence[Any]]) -> Iterable[PlanRow]:
    """Return the rows of columns in the order of PlanRow; no columns are no rows."""
    if not values:
        return ()
    columns: dict[str, Sequence[Any]] = dict(zip(PlanRow._fields, values, strict=True))
    columns["state"] = [State(each) for each in columns["state"]]
    columns["gate"] = [None if each is None else GateName(each) for each in columns["gate"]]
    return map(PlanRow, *columns.values())
