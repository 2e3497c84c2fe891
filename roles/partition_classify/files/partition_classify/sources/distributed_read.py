# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a source in Spark tasks, without Spark's own handling of Python data sources.

For a Python data source, Spark starts several Python processes one after another: to find the source, to
create it, and to plan its input partitions. Here the driver process plans the input partitions while Spark
starts, and Spark only distributes them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.types import StructType

from ..session import is_on_one_machine
from .inventory_rows import record_batches

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


class DistributedRead:
    """Reads the input partitions of a reader in tasks. Starts planning the partitions immediately.

    Planning may query the ensembles. ``columns``: schema of the record batches.
    """

    def __init__(self, reader: DataSourceReader, columns: StructType) -> None:
        self._reader = reader
        self._columns = columns
        self._pickled = _in_background(lambda: [pickle.dumps(each) for each in reader.partitions()])

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return the rows as a DataFrame; tasks of its queries read the source.

        Raises the errors of ``reader.partitions()``.
        """
        reader = self._reader
        # Stays pickled: a task unpickles its own input partition only, of possibly thousands.
        partitions = spark.sparkContext.broadcast(self._pickled.result())
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

    def _start_workers(self, spark: SparkSession, number: int) -> None:
        """Make ``number`` workers import all modules for reading; Spark reuses them for later tasks."""
        reader, columns = self._reader, self._columns

        def load(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # Referring to the reader makes the worker import its modules.
            assert isinstance(reader, DataSourceReader)
            for _batch in numbers:
                yield from record_batches(iter(()), columns)

        spark.range(0, number, 1, number).mapInArrow(load, columns).collect()


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
