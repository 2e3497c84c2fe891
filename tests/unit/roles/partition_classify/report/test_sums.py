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
from partition_classify.report.durations import Volume, durations_of
from partition_classify.report.figures import (
    Amount,
    MergeFigures,
    MonthFigures,
    PartsFigures,
    ReportFigures,
    json_text,
)
from partition_classify.report.merges import MERGES_LISTED, all_merges
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
    """A row of `with_decisions`, with the columns used by figures."""

    table: str
    shard_path: str
    partition: str
    action: str
    gate: str | None
    has_hot: bool
    last_modified: int
    parts: int
    znodes: int
    bytes: int
    snapshot_bytes: int
    statement: str | None
    parts_per_replica: int
    bytes_on_disk: int | None


SCHEMA = (
    "table string, shard_path string, partition string, action string, gate string, has_hot boolean, "
    "last_modified bigint, parts bigint, znodes bigint, bytes bigint, snapshot_bytes bigint, "
    "statement string, parts_per_replica bigint, bytes_on_disk bigint"
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
                        NOW - numbers.randrange(-DAY, 900 * DAY),
                        (znodes + 1) // 2,
                        znodes,
                        90 * znodes,
                        300 * znodes,
                        # Of some the servers have merged what is registered.
                        "OPTIMIZE" if gate == "one_part" and numbers.randrange(5) else None,
                        numbers.choice([1, 2, 3, 5, 6, 100, 101, 5000]),
                        numbers.choice([None, 0, 500, 1000, 2000]),
                    )
                )
    return rows


def total(rows: Iterable[PlanRow]) -> Amount:
    found = list(rows)
    sums = (sum(getattr(row, name) for row in found) for name in ("znodes", "bytes", "snapshot_bytes"))
    return Amount(len(found), *sums)


def after(rows: Sequence[PlanRow]) -> Amount:
    """Content of hot after the plan, by partition."""
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
        "now": lambda row: row.action == "move" and row.gate is None,
        "gated": lambda row: row.gate == "one_part",
        "one_part": lambda row: row.action == "move" and row.parts_per_replica == 1,
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
        going = [row for row in by_table[each.table] if row.action == "move"]
        assert each.now_znodes == total(row for row in going if row.gate is None).znodes
        assert each.gated_znodes == total(row for row in going if row.gate is not None).znodes
        assert each.share == round(each.today.znodes / figures.hot.today.znodes, 6)
    others = [row for name, own in by_table.items() if name not in listed for row in own]
    assert figures.other_tables.tables == 20
    assert figures.other_tables.today == total(row for row in others if row.has_hot)
    assert figures.other_tables.after == after(others)
    going = [row for row in others if row.action == "move"]
    assert figures.other_tables.now_znodes == total(row for row in going if row.gate is None).znodes
    assert figures.other_tables.gated_znodes == total(row for row in going if row.gate is not None).znodes


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


def test_months_are_those_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    by_month: dict[str, list[PlanRow]] = {}
    for row in rows:
        if row.has_hot:
            moment = datetime.fromtimestamp(min(row.last_modified, NOW) / 1000, UTC)
            by_month.setdefault(f"{moment:%Y-%m}", []).append(row)
    whens = [f"{number // 12}-{number % 12 + 1:02}" for number in range(2024 * 12 + 5, 2026 * 12 + 11)]
    assert by_month.keys() <= set(whens)
    assert figures.earlier is None
    assert whens[0] in by_month
    assert list(figures.months) == [
        MonthFigures(
            when,
            len(own := by_month.get(when, [])),
            sum(row.znodes for row in own if row.action != "move"),
            sum(row.znodes for row in own if row.action == "move" and row.gate),
            sum(row.znodes for row in own if row.action == "move" and not row.gate),
        )
        for when in whens
    ]
    hot = figures.hot
    assert sum(month.znodes for month in figures.months) == hot.today.znodes
    assert sum(month.now for month in figures.months) == hot.now.znodes
    assert sum(month.merge for month in figures.months) == hot.gated.znodes


def test_parts_are_those_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    expected = []
    for first, last in ((1, 1), (2, 2), (3, 5), (6, 10), (11, 50), (51, 100), (101, None)):
        own = [row for row in rows if row.has_hot and first <= row.parts_per_replica <= (last or 10**9)]
        moved = sum(row.action == "move" for row in own)
        expected.append(PartsFigures(first, last, len(own), sum(row.znodes for row in own), moved))
    assert list(figures.parts) == expected


def test_durations_are_those_of_the_model(figures: ReportFigures, rows: list[PlanRow]) -> None:
    by_path: dict[str, list[PlanRow]] = {}
    for row in rows:
        if row.action == "move" and row.parts_per_replica == 1:
            by_path.setdefault(row.shard_path, []).append(row)
    sums = [
        (len(own), sum(row.parts for row in own), sum(row.znodes for row in own)) for own in by_path.values()
    ]
    volume = Volume(len(by_path), *(sum(column) for column in zip(*sums, strict=True)), *map(max, *sums))
    assert volume.shard_paths < volume.partitions < volume.parts
    assert figures.durations == durations_of(volume)


def test_merges_are_those_of_the_model(
    spark: SparkSession, figures: ReportFigures, rows: list[PlanRow]
) -> None:
    """Most gained znodes per written byte first, then most per part."""
    gated = [row for row in rows if row.gate == "one_part"]
    needed = [row for row in gated if row.statement]
    assert any(row.bytes_on_disk is None for row in needed)

    def worth(row: PlanRow) -> tuple[object, ...]:
        known = bool(row.bytes_on_disk)
        per_byte = row.znodes / row.bytes_on_disk if row.bytes_on_disk else 0.0
        per_part = row.znodes / row.parts_per_replica
        return (not known, -per_byte, -per_part, -row.znodes, row.shard_path, row.partition)

    ordered = [
        MergeFigures(
            row.shard_path, row.partition, "OPTIMIZE", row.znodes, row.parts_per_replica, row.bytes_on_disk
        )
        for row in sorted(needed, key=worth)
    ]
    found = figures.merges
    assert list(found.first) == ordered[:MERGES_LISTED]
    assert list(all_merges(spark.createDataFrame(rows, SCHEMA))) == ordered
    assert (found.partitions, found.waiting) == (len(needed), len(gated) - len(needed))
    assert found.znodes == sum(row.znodes for row in needed)
    assert found.bytes_on_disk == sum(row.bytes_on_disk or 0 for row in needed)
    assert found.unknown == sum(row.bytes_on_disk is None for row in needed)


def test_forecast_begins_with_the_current_count(figures: ReportFigures) -> None:
    forecast = figures.forecast
    assert forecast is not None
    assert forecast.months_counted == 12
    assert forecast.so_far[-1].znodes == figures.hot.today.znodes
    assert [
        *(each.when for each in forecast.so_far[-2:]),
        *(each.when for each in forecast.to_come[:2]),
    ] == [
        "2026-10",
        "2026-11",
        "2026-12",
        "2027-01",
    ]
    assert forecast.to_come[0].without == figures.hot.today.znodes + forecast.znodes_per_month


def test_order_and_partitioning_of_rows_do_not_matter(
    spark: SparkSession, figures: ReportFigures, rows: list[PlanRow]
) -> None:
    other = spark.createDataFrame(rows[::-1], SCHEMA).repartition(5)
    assert json_text(figures_of(other, HEADER, EnsembleSize(10**6, 10**9))) == json_text(figures)


def test_report_of_no_data(spark: SparkSession) -> None:
    found = figures_of(spark.createDataFrame([], SCHEMA), HEADER, None)
    assert (found.tables, found.hot.today, found.months, found.gates) == (0, Amount(), (), ())
    assert found.ensemble is None
    assert found.forecast is None
    assert found.merges.first == ()


def test_ensemble_smaller_than_its_parts_is_ignored(spark: SparkSession, rows: list[PlanRow]) -> None:
    assert figures_of(spark.createDataFrame(rows[:50], SCHEMA), HEADER, EnsembleSize(1, 1)).ensemble is None
