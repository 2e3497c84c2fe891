# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a report, against a plain-Python model of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from olap_partmove._partmove.plan.file import PlanHeader
from partition_classify.report.figures import Amount, DayFigures, ReportFigures, json_text
from partition_classify.report.sums import MOST_TO_GAIN, PARTITIONS_LISTED, TABLES_LISTED, figures_of
from partition_classify.sources.ensemble_size import EnsembleSize

DAY = 86_400_000
NOW = int(datetime(2026, 11, 20, 22, 15, tzinfo=UTC).timestamp() * 1000)
HEADER = PlanHeader("0" * 64, "test", (), NOW, 0, "0" * 64)
KINDS = (
    ("move", None, True),
    ("move", "one_part", True),
    ("reheat", None, True),
    ("reheat", None, False),
    ("stay", None, True),
    ("stay", None, False),
    ("busy", "queue_clear", True),
    ("busy", "mutations_applied", True),
    ("leave", None, True),
    ("leave", None, False),
)


class PlanRow(NamedTuple):
    """A row as `decided` gives it, with the columns that figures are made of."""

    table: str
    shard_path: str
    partition: str
    action: str
    gate: str | None
    has_hot: bool
    last_modified: int
    znodes: int
    bytes: int
    snapshot_bytes: int
    statement: str | None


SCHEMA = (
    "table string, shard_path string, partition string, action string, gate string, has_hot boolean, "
    "last_modified bigint, znodes bigint, bytes bigint, snapshot_bytes bigint, statement string"
)


def made(tables: int) -> list[PlanRow]:
    numbers = random.Random(tables)
    rows = []
    for number in range(tables):
        for shard in range(numbers.randrange(1, 3)):
            for partition in range(numbers.randrange(1, 12)):
                action, gate, has_hot = numbers.choice(KINDS)
                # Few values, so that there are ties.
                znodes = numbers.randrange(1, 9)
                rows.append(
                    PlanRow(
                        f"/ch/*/{number}",
                        f"/ch/{shard}/{number}",
                        str(partition),
                        action,
                        gate,
                        has_hot,
                        NOW - numbers.randrange(900 * DAY),
                        znodes,
                        90 * znodes,
                        300 * znodes,
                        "OPTIMIZE" if gate == "one_part" else None,
                    )
                )
    return rows


def total(rows: Iterable[PlanRow]) -> Amount:
    found = list(rows)
    sums = (sum(getattr(row, name) for row in found) for name in ("znodes", "bytes", "snapshot_bytes"))
    return Amount(len(found), *sums)


def after(rows: Sequence[PlanRow]) -> Amount:
    """What hot has when the plan has been carried out, partition by partition."""
    return total(row for row in rows if (row.has_hot or row.action == "reheat") and row.action != "move")


@pytest.fixture(scope="module")
def rows() -> list[PlanRow]:
    return made(TABLES_LISTED + 20)


@pytest.fixture(scope="module")
def figures(spark: SparkSession, rows: list[PlanRow]) -> ReportFigures:
    return figures_of(spark.createDataFrame(rows, SCHEMA), HEADER, EnsembleSize(10**6, 10**9))


def test_sums_of_hot_are_those_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    conditions: dict[str, Callable[[PlanRow], bool]] = {
        "today": lambda row: row.has_hot,
        "moved": lambda row: row.action == "move",
        "gated": lambda row: row.gate == "one_part",
        "reheated": lambda row: row.action == "reheat" and not row.has_hot,
        "busy": lambda row: row.action == "busy",
        "left_alone": lambda row: row.action == "leave" and row.has_hot,
    }
    assert {name: getattr(figures.hot, name) for name in conditions} == {
        name: total(filter(holds, rows)) for name, holds in conditions.items()
    }
    assert figures.hot.after == after(rows)
    assert figures.cold == total(row for row in rows if not row.has_hot)
    assert (figures.tables, figures.shard_paths) == (
        len({row.table for row in rows}),
        len({row.shard_path for row in rows}),
    )
    gained = figures.hot.today.znodes - figures.hot.after.znodes
    assert figures.ensemble is not None
    assert figures.ensemble.znodes_after == 10**6 - gained
    assert figures.ensemble.snapshot_bytes_after == 10**9 - 300 * gained


def test_tables_are_those_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    by_table: dict[str, list[PlanRow]] = {}
    for row in rows:
        by_table.setdefault(row.table, []).append(row)
    today = {name: total(row for row in own if row.has_hot) for name, own in by_table.items()}
    gained = {name: today[name].znodes - after(own).znodes for name, own in by_table.items()}
    listed = sorted(by_table, key=lambda name: (-today[name].znodes, name))[:TABLES_LISTED]
    most = sorted((name for name in by_table if gained[name] > 0), key=lambda name: (-gained[name], name))
    assert [each.table for each in figures.largest_tables] == listed
    assert [each.table for each in figures.most_to_gain] == most[:MOST_TO_GAIN]
    for each in (*figures.largest_tables, *figures.most_to_gain):
        assert (each.today, each.after) == (today[each.table], after(by_table[each.table]))
        assert each.gained_znodes == gained[each.table]
        assert each.share == round(each.today.znodes / figures.hot.today.znodes, 6)
    others = [row for name, own in by_table.items() if name not in listed for row in own]
    assert figures.other_tables.tables == 20
    assert figures.other_tables.today == total(row for row in others if row.has_hot)
    assert figures.other_tables.after == after(others)


def test_gates_are_those_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    assert [each.gate for each in figures.gates] == ["queue_clear", "one_part", "mutations_applied"]
    for each in figures.gates:
        stopped = [row for row in rows if row.gate == each.gate]
        assert each.stopped == total(stopped)
        largest = sorted(stopped, key=lambda row: (-row.znodes, row.shard_path, row.partition))
        assert [(row.shard_path, row.partition, row.statement) for row in each.largest] == [
            (row.shard_path, row.partition, row.statement) for row in largest[:PARTITIONS_LISTED]
        ]
        assert each.remedy.endswith("run again")


def test_calendar_is_that_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    by_day: dict[str, list[PlanRow]] = {}
    for row in rows:
        if row.has_hot:
            day = datetime.fromtimestamp(row.last_modified / 1000, UTC).date().isoformat()
            by_day.setdefault(day if day >= "2025-12-01" else day[:4], []).append(row)
    assert [*figures.years, *figures.days] == [
        DayFigures(when, len(own), sum(row.znodes for row in own), sum(row.action == "move" for row in own))
        for when, own in sorted(by_day.items(), key=lambda item: (len(item[0]), item[0]))
    ]
    assert {each.when for each in figures.years} == {"2024", "2025"}


def test_order_and_partitioning_of_rows_do_not_matter(
    spark: SparkSession, figures: ReportFigures, rows: list[PlanRow]
) -> None:
    other = spark.createDataFrame(rows[::-1], SCHEMA).repartition(5)
    assert json_text(figures_of(other, HEADER, EnsembleSize(10**6, 10**9))) == json_text(figures)


def test_nothing_at_all_is_a_report_too(spark: SparkSession) -> None:
    found = figures_of(spark.createDataFrame([], SCHEMA), HEADER, None)
    assert (found.tables, found.hot.today, found.days, found.gates) == (0, Amount(), (), ())
    assert found.ensemble is None


def test_ensemble_that_is_smaller_than_its_parts_is_not_believed(
    spark: SparkSession, rows: list[PlanRow]
) -> None:
    assert figures_of(spark.createDataFrame(rows[:50], SCHEMA), HEADER, EnsembleSize(1, 1)).ensemble is None
