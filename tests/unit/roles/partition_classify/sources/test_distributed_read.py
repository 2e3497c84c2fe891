# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distribution of a source over tasks."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceReader, InputPartition

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.sources import distributed_read
from partition_classify.sources.distributed_read import DistributedRead
from partition_classify.sources.distribution import SizedPartition
from partition_classify.sources.inventory_rows import INVENTORY_SCHEMA
from partition_classify.sources.snapshot import SnapshotReader
from support.classify.members import TOP, TREE, generated, rows_of


def reader_of(folder: Path, tasks: int) -> SnapshotReader:
    return SnapshotReader(TOP, (generated(folder),), tasks=tasks, bytes_per_task=1000)


@pytest.mark.parametrize("tasks", [1, 3])
def test_each_input_partition_is_read_once_by_a_separate_task(
    spark: SparkSession, tmp_path: Path, tasks: int
) -> None:
    reader = reader_of(tmp_path, tasks)
    rows = DistributedRead(reader, INVENTORY_SCHEMA).rows(spark)
    assert rows.schema == INVENTORY_SCHEMA
    assert rows.rdd.getNumPartitions() == tasks
    assert sorted(map(tuple, rows.collect())) == sorted(map(tuple, rows_of(reader)))
    assert rows.count() == TREE.parts


def test_workers_start_before_the_query(spark: SparkSession, tmp_path: Path) -> None:
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    DistributedRead(reader_of(tmp_path, 3), INVENTORY_SCHEMA).rows(spark)
    deadline = time.monotonic() + 60
    found: set[int] = set()
    # Two run at once, of three that there will be. Another test may have left a job of one task under way.
    while 2 not in found and time.monotonic() < deadline:
        time.sleep(0.05)
        jobs = [tracker.getJobInfo(each) for each in set(tracker.getJobIdsForGroup()) - before]
        stages = [tracker.getStageInfo(each) for job in jobs if job for each in job.stageIds]
        found = {stage.numTasks for stage in stages if stage}
    assert 2 in found


def test_errors_of_the_files_are_raised_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    reader = SnapshotReader("/elsewhere", (generated(tmp_path),))
    reading = DistributedRead(reader, INVENTORY_SCHEMA)
    with pytest.raises(EnsembleError, match="There is no znode /elsewhere in the hot ensemble"):
        reading.rows(spark)


def test_driver_reads_few_parts_itself(spark: SparkSession, tmp_path: Path) -> None:
    reader = reader_of(tmp_path, 3)
    reading = DistributedRead(reader, INVENTORY_SCHEMA, here=True)
    expected = sorted(map(tuple, rows_of(reader)))
    assert reading.is_small
    # Nothing is left to read.
    shutil.rmtree(tmp_path)
    rows = reading.rows(spark)
    assert rows.schema == INVENTORY_SCHEMA
    assert sorted(map(tuple, rows.collect())) == expected


def test_driver_may_find_no_part(spark: SparkSession) -> None:
    rows = DistributedRead(Empty(), INVENTORY_SCHEMA, here=True).rows(spark)
    assert rows.schema == INVENTORY_SCHEMA
    assert rows.collect() == []


def test_tasks_read_where_the_driver_may_not_or_parts_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = reader_of(tmp_path, 3)
    assert not DistributedRead(reader, INVENTORY_SCHEMA).is_small
    # What the reader expects is no less than what there is.
    monkeypatch.setattr(distributed_read, "FEW_PARTS", TREE.parts - 1)
    assert not DistributedRead(reader, INVENTORY_SCHEMA, here=True).is_small


def test_errors_of_reading_few_parts_are_raised_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    reading = DistributedRead(Failing(), INVENTORY_SCHEMA, here=True)
    with pytest.raises(EnsembleError, match="it was lost"):
        reading.rows(spark)


@dataclass(frozen=True)
class OnePart(SizedPartition):
    """Has one part."""

    parts_at_most: int = 1


class Empty(DataSourceReader):
    """Plans one input partition without rows."""

    def partitions(self) -> Sequence[InputPartition]:
        """Return the partition."""
        return [OnePart()]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, ...]]:
        """Yield nothing."""
        return iter(())


class Failing(DataSourceReader):
    """Plans one input partition, and loses it."""

    def partitions(self) -> Sequence[InputPartition]:
        """Return the partition."""
        return [OnePart()]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, ...]]:
        """Raise the error."""
        raise EnsembleError("it was lost", remedy="none")


class Waiting(DataSourceReader):
    """Plans its partitions when allowed."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.began = threading.Event()

    def partitions(self) -> Sequence[InputPartition]:
        """Wait, then raise the error."""
        self.began.set()
        assert self.may.wait(60)
        raise EnsembleError("it was asked", remedy="none")

    def read(self, partition: InputPartition) -> Iterator[tuple[str, ...]]:
        """Never called for a reader that raises an error."""
        raise NotImplementedError


def test_partitions_are_planned_before_the_session(spark: SparkSession) -> None:
    reader = Waiting()
    reading = DistributedRead(reader, INVENTORY_SCHEMA)
    assert reader.began.wait(60)
    reader.may.set()
    with pytest.raises(EnsembleError, match="it was asked"):
        reading.rows(spark)
