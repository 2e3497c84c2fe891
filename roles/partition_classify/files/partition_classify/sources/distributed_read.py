# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a source in Spark tasks, without Spark's own handling of Python data sources.

For a Python data source, Spark starts several Python processes one after another: to find the source, to
create it, and to plan its input partitions. Here the driver process plans the input partitions while Spark
starts, and Spark only distributes them.

Few parts on one machine are read here, too, while Spark starts: starting a worker takes longer than reading
them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.types import StructType

from ..session import is_on_one_machine
from .distribution import SizedPartition
from .inventory_rows import record_batches

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

FEW_PARTS = 10_000
"""The driver reads up to this number of parts itself. It holds their rows in memory, 10 MB at most."""
_SESSIONS = 32


class DistributedRead:
    """Reads the input partitions of a reader in tasks. Starts planning the partitions immediately.

    Planning may query the ensembles. ``columns``: schema of the record batches. ``here``: whether the driver
    may read few parts itself.
    """

    def __init__(self, reader: DataSourceReader, columns: StructType, *, here: bool = False) -> None:
        self._reader = reader
        self._columns = columns
        self._here = here
        self._planned = _in_background(self._plan)

    @property
    def is_small(self) -> bool:
        """Whether the driver has read the rows. Raises the errors of the reader."""
        return self._planned.result().batches is not None

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame; tasks of its queries read the source.

        Raises the errors of ``reader.partitions()``, and of reading where the driver has read.
        """
        reader, planned = self._reader, self._planned.result()
        if planned.batches is not None:
            return _frame_of(spark, planned.batches, self._columns)
        # Stays pickled: a task unpickles its own input partition only, of possibly thousands.
        partitions = spark.sparkContext.broadcast(planned.pickled)
        tasks = len(partitions.value)

        def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield from reader.read(pickle.loads(partitions.value[number]))

        if is_on_one_machine(spark):
            # Starting workers takes as long as planning the query: do both at once. The query repeats errors.
            _in_background(
                lambda: self._start_workers(spark, min(tasks, spark.sparkContext.defaultParallelism))
            )
        return spark.range(0, tasks, 1, tasks).mapInArrow(read, self._columns)

    def _plan(self) -> _Planned:
        """Plan the input partitions, and read them if there are few parts."""
        partitions = self._reader.partitions()
        sized = [each for each in partitions if isinstance(each, SizedPartition)]
        is_small = len(sized) == len(partitions) and sum(each.parts_at_most for each in sized) <= FEW_PARTS
        if not (self._here and is_small):
            return _Planned([pickle.dumps(each) for each in partitions], None)
        # One session of each partition, as in tasks: there are no more partitions than sessions.
        with ThreadPoolExecutor(min(len(partitions), _SESSIONS)) as pool:
            read = pool.map(lambda each: list(self._reader.read(each)), partitions)
            return _Planned([], [batch for batches in read for batch in batches])

    def _start_workers(self, spark: SparkSession, number: int) -> None:
        """Make ``number`` workers import all modules for reading; Spark reuses them for later tasks."""
        reader, columns = self._reader, self._columns

        def load(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # Referring to the reader makes the worker import its modules.
            assert isinstance(reader, DataSourceReader)
            for _batch in numbers:
                yield from record_batches(iter(()), columns)

        spark.range(0, number, 1, number).mapInArrow(load, columns).collect()


class _Planned(NamedTuple):
    """Pickled input partitions for tasks; or the rows, where the driver has read them."""

    pickled: list[bytes]
    batches: list[pa.RecordBatch] | None


def _frame_of(spark: SparkSession, batches: list[pa.RecordBatch], columns: StructType) -> DataFrame:
    """Return the rows of the batches. Arrow data reaches Java without a Python worker, unlike tuples."""
    import pyarrow as pa  # noqa: PLC0415 - reading has imported it
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - imports pyarrow

    if not batches:
        # Java finds no schema in a stream without batches.
        return spark.createDataFrame([], columns)
    return spark.createDataFrame(pa.Table.from_batches(batches, to_arrow_schema(columns)), columns)


def _in_background(work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a daemon thread; the end of the job does not wait for it."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by Future.result
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
