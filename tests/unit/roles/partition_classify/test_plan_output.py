# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output files of the job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql.types import TimestampType

from olap_partmove._partmove.errors import PartMoveError, PlanError
from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.gates.names import GateName
from olap_partmove._partmove.plan.file import PlanRow, read_plan
from olap_partmove._partmove.plan.origin import OriginZnode
from olap_partmove._partmove.plan.writing import write_plan
from partition_classify import plan_output
from partition_classify.plan_output import (
    check_local_parquet,
    check_parquet,
    staged_plan_file,
    write_parquet,
)
from partition_classify.spark_errors import message_of

SCHEMA = (
    "shard_path string, partition string, state string, reason string, last_modified bigint, "
    "parts bigint, znodes bigint, bytes bigint, gate string, action string, rows bigint"
)
# As Java compares text, U+1D11E would come before U+FFEE: plan files have them by code point.
PATHS = ["/ch/a", "/ch/a-b", "/ch/a/b", "/ch/Z", "/ch/é", "/ch/\uffee", "/ch/\U0001d11e"]
ROWS = [
    PlanRow(path, partition, State.COLD, "old", 1_790_000_000_123, 1, 3, 10**12, GateName.ONE_PART)
    for path in PATHS
    for partition in ("10", "9", "2019--1", "all")
]


def frame(spark: SparkSession, rows: list[PlanRow], action: str = "move") -> DataFrame:
    return spark.createDataFrame([(*columns(row), action, 7) for row in rows], SCHEMA)


def columns(row: PlanRow) -> tuple[object, ...]:
    """The row of the classification, with enums as text."""
    gate = None if row.gate is None else row.gate.value
    return (*row[:2], row.state.value, *row[3:-1], gate)


def origin(paths: Sequence[str]) -> list[OriginZnode]:
    return [OriginZnode(path, 17, 0) for path in paths]


def write(rows: DataFrame, path: Path) -> bytes:
    count = rows.count()
    with staged_plan_file(rows, path, count, policy_digest="0" * 64, source="test", origin=origin, as_of=0):
        assert not path.exists()
    return path.read_bytes()


def test_plan_is_sorted_whatever_the_order_of_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    first = write(frame(spark, ROWS), tmp_path / "first.jsonl")
    second = write(frame(spark, ROWS[::-1]).repartition(5), tmp_path / "second.jsonl")
    assert first == second
    assert list(read_plan(tmp_path / "first.jsonl").rows()) == sorted(ROWS)


@pytest.mark.parametrize(("few", "rows_at_once"), [(0, 1), (0, 5), (0, 1000), (len(ROWS), 1)])
def test_plan_equals_the_plan_of_one_process(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, rows_at_once: int
) -> None:
    monkeypatch.setattr(plan_output, "_FEW_ROWS", few)
    monkeypatch.setattr(plan_output, "_ROWS_PER_CHUNK", rows_at_once)
    found = write(frame(spark, ROWS[::-1]).repartition(3), tmp_path / "tasks.jsonl")
    write_plan(
        tmp_path / "one.jsonl", sorted(ROWS), policy_digest="0" * 64, source="test", origin=origin, as_of=0
    )
    assert found == (tmp_path / "one.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (ROWS[0], "partition 10 of /ch/a is listed twice"),
        (ROWS[0]._replace(reason=""), "reason is ''. It has to be text that is not empty"),
    ],
)
def test_invalid_row_is_refused_by_the_driver_and_by_a_task(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: PlanRow, message: str
) -> None:
    path = tmp_path / "plan.jsonl"
    rows = frame(spark, [*ROWS[: 1 if row is ROWS[0] else 0], row])
    with pytest.raises(PlanError, match=re.escape(message)):
        write(rows, path)
    monkeypatch.setattr(plan_output, "_FEW_ROWS", 0)
    with pytest.raises(PySparkException) as error:
        write(rows, path)
    assert message in message_of(error.value)
    assert not path.exists()


def test_fetched_results_are_released(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the driver would need a heap as large as the plan."""
    monkeypatch.setattr(plan_output, "_FEW_ROWS", 0)
    monkeypatch.setattr(plan_output, "_ROWS_PER_CHUNK", 300)
    numbers = spark.range(2000).select(F.format_string("/ch/%05d", "id").alias("shard_path"))
    rows = numbers.join(frame(spark, [ROWS[0]._replace(reason="x" * 20_000)]).drop("shard_path"))
    # The first plan has whatever is loaded once.
    write(rows.limit(1).select(*PlanRow._fields, "action"), tmp_path / "plan.jsonl")
    before = used_heap(spark)
    write(rows.select(*PlanRow._fields, "action"), tmp_path / "large.jsonl")
    assert (tmp_path / "large.jsonl").stat().st_size > 2000 * 20_000
    # Spark keeps some of what its threads used last; results would be all of the 40 MB.
    assert used_heap(spark) - before < 20_000_000


def used_heap(spark: SparkSession) -> int:
    """Used bytes of the Java heap after a garbage collection."""
    java: Any = spark.sparkContext._jvm
    # What is weakly held goes with the first.
    java.System.gc()
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def test_plan_without_rows_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    write(frame(spark, []), tmp_path / "plan.jsonl")
    assert read_plan(tmp_path / "plan.jsonl").header.rows == 0


@pytest.mark.parametrize("action", ["leave", "unread"])
def test_plan_omits_left_alone_and_unreadable_partitions(
    spark: SparkSession, tmp_path: Path, action: str
) -> None:
    left = frame(spark, [row._replace(shard_path=f"{row.shard_path}-left") for row in ROWS], action)
    write(frame(spark, ROWS).union(left), tmp_path / "plan.jsonl")
    assert list(read_plan(tmp_path / "plan.jsonl").rows()) == sorted(ROWS)


def test_parquet_has_all_rows_and_columns(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "rows")
    write_parquet(frame(spark, ROWS[:3]), folder, 2)
    write_parquet(frame(spark, ROWS, "leave"), folder, 2)
    write_parquet(frame(spark, ROWS[:1]), folder, 1)
    everything = spark.read.parquet(folder)
    assert everything.columns == [*PlanRow._fields, "action", "rows", "as_of"]
    assert everything.where("as_of = 1").count() == 1
    found = everything.where("as_of = 2").drop("as_of")
    assert found.schema["last_modified"].dataType == TimestampType()
    in_milliseconds = found.selectExpr(
        *(f"unix_millis({name})" if name == "last_modified" else name for name in found.columns)
    )
    assert sorted(tuple(row) for row in in_milliseconds.collect()) == [
        (*columns(row), "leave", 7) for row in sorted(ROWS)
    ]


def test_unwritable_parquet_folders(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "file"
    taken.write_text("no folder")
    sentence = "/file: the rows cannot be written there as Parquet. "
    for folder in (str(taken), f"file://{taken}"):
        with pytest.raises(PartMoveError, match=f"{sentence}Not a directory. Give a folder "):
            check_local_parquet(folder)
        with pytest.raises(PartMoveError, match=f"{sentence}.*not a directory"):
            check_parquet(spark, folder)
    # Only Spark knows where these are.
    check_local_parquet("hdfs://none/rows")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    check_local_parquet(str(taken))


def test_writable_parquet_folders(spark: SparkSession, tmp_path: Path) -> None:
    check_local_parquet(f"{tmp_path}/rows")
    assert list(tmp_path.iterdir()) == []
    check_parquet(spark, f"{tmp_path}/rows/")
    assert list((tmp_path / "rows").iterdir()) == []
