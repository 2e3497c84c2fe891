# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rows of a source, in the job of this collection.

To Spark a data source in Python is a stranger: it starts one Python after another to look for such sources,
to make this one, and to have it divide its work. This process knows it, divides the work while Spark starts,
and lets Spark deal it out.
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


class Reading:
    """What a reader reads. It begins to divide its work at once, which may take asking ensembles.

    ``columns`` are those of the record batches that it gives.
    """

    def __init__(self, reader: DataSourceReader, columns: StructType) -> None:
        self._reader = reader
        self._columns = columns
        self._shares = _aside(lambda: [pickle.dumps(each) for each in reader.partitions()])

    def rows(self, spark: SparkSession) -> DataFrame:
        """The rows, which the tasks of a query read.

        Raises what the reader raises when it divides its work.
        """
        reader = self._reader
        # A task needs its own share only, and there may be thousands.
        shares = spark.sparkContext.broadcast(self._shares.result())
        tasks = len(shares.value)

        def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield from reader.read(pickle.loads(shares.value[number]))

        if is_on_one_machine(spark):
            # It takes as long to plan a query as to start a Python. What goes wrong here the query meets too.
            _aside(lambda: self._start_workers(spark, min(tasks, spark.sparkContext.defaultParallelism)))
        return spark.range(0, tasks, 1, tasks).mapInArrow(read, self._columns)

    def _start_workers(self, spark: SparkSession, number: int) -> None:
        """Have so many workers load all that reading takes; Spark keeps them for the tasks that come."""
        reader, columns = self._reader, self._columns

        def load(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # To name the reader here is what makes a worker load its modules.
            assert isinstance(reader, DataSourceReader)
            for _batch in numbers:
                yield from record_batches(iter(()), columns)

        spark.range(0, number, 1, number).mapInArrow(load, columns).collect()


def _aside(work: Callable[[], T]) -> Future[T]:
    """Do it while this thread goes on, or waits for something else; nobody waits for it when the job ends."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the result is taken
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future
