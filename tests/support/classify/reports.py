# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures of a report: of a fleet with 500 tables and five years of daily partitions, and of nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from partition_classify.report.durations import Volume, durations_of
from partition_classify.report.figures import (
    Amount,
    EnsembleFigures,
    GatedPartition,
    GateFigures,
    HotFigures,
    MergeFigures,
    MergesFigures,
    MonthFigures,
    OtherTables,
    PartsFigures,
    ReportFigures,
    TableFigures,
)
from partition_classify.report.forecast import MonthZnodes, forecast_of, month_text

NOTHING = Amount()
TABLES = 500
MONTHS = 60
NAME = "/clickhouse/tables/*/analytics/events_of_a_product_with_a_long_name"
THIS_MONTH = 2026 * 12 + 10


def amount(znodes: int) -> Amount:
    """What partitions with so many znodes add up to."""
    return Amount(znodes // 30, znodes, znodes * 90, znodes * 250)


def large(name: str = NAME) -> ReportFigures:
    """A report of 500 tables and five years, whose figures fit together."""
    months = _months(random.Random(7))
    now, merge, stay = (sum(getattr(month, kind) for month in months) for kind in ("now", "merge", "stay"))
    hot = HotFigures(
        today=amount(now + merge + stay),
        moved=amount(now + merge),
        now=amount(now),
        gated=amount(merge),
        reheated=amount(1_200),
        busy=amount(stay // 20),
        left_alone=amount(stay // 10),
        after=amount(stay + 1_200),
        one_part=amount(now),
    )
    tables = _tables(name, hot)
    first_month = THIS_MONTH - MONTHS + 1
    znodes = {
        first_month + number: MonthZnodes(month.znodes, month.znodes // 50)
        for number, month in enumerate(months)
    }
    return ReportFigures(
        as_of="2026-11-20T22:15:00.000Z",
        source=f"zookeeper hot=zk1:2181,zk2:2181,zk3:2181 root={name.split('*', maxsplit=1)[0]}",
        policy_digest="0" * 64,
        tables=TABLES,
        shard_paths=16 * TABLES,
        hot=hot,
        cold=amount(1_200),
        ensemble=EnsembleFigures(
            hot.today.znodes + 10**6,
            stay + 10**6,
            0.9,
            hot.today.snapshot_bytes + 10**8,
            hot.after.snapshot_bytes + 10**8,
        ),
        most_to_gain=tuple(sorted(tables, key=lambda table: -table.gained_znodes)[:10]),
        largest_tables=tables,
        other_tables=OtherTables(0, NOTHING, NOTHING, 0, 0),
        gates=_gates(name, merge),
        months=tuple(months),
        earlier=MonthFigures(month_text(first_month - 1), 3, 0, 0, 90),
        parts=_parts(now, merge, stay),
        merges=_merges(name, merge),
        forecast=forecast_of(znodes, THIS_MONTH, hot),
        durations=durations_of(Volume(16 * TABLES, now // 3, now, now, 2_000, 6_000, 6_000)),
        comparison=_comparison(name),
        rules=_rules(name, hot),
    )


def _rules(name: str, hot: HotFigures) -> list[dict[str, Any]]:
    """A policy of which one rule is misspelt; the summary of the job has the same."""
    used: dict[str, Any] = {"unused_pins": [], "reads_known": None}
    return [
        {"rule": "rules[0]", "table": f"{name}_[0-9]", "partitions": 0, **used},
        {"rule": "rules[1]", "table": f"{name}_*", "partitions": hot.moved.partitions, **used}
        | {"unused_pins": ["201901"], "reads_known": hot.moved.partitions // 2},
        {"rule": "defaults", "table": None, "partitions": hot.today.partitions // 2, **used},
    ]


def _comparison(name: str) -> dict[str, Any]:
    """Another policy that moves more of 30 tables, and less of one; the summary of the job has the same."""

    def side(znodes: int) -> dict[str, int]:
        return {"partitions": znodes // 30, "parts": znodes // 10, "znodes": znodes, "bytes": 90 * znodes}

    def changes(more: int, less: int) -> dict[str, dict[str, dict[str, int]]]:
        return {
            "to_move": {"more": side(more), "less": side(less)},
            "to_reheat": {"more": side(60), "less": side(0)},
        }

    tables = [{"table": f"{name}_{number}", **changes(90_000 - 3_000 * number, 0)} for number in range(29)]
    return {
        "policy_digest": "1" * 64,
        **changes(1_500_000, 123_000),
        "tables": [*tables, {"table": f"{name}_less", **changes(0, 1_800)}],
        "other_tables": 12,
        "rules": [],
        "misfits": [f"rules[3], {name}, decides nothing"],
        "text": ["with the other policy"],
    }


def _months(numbers: random.Random) -> list[MonthFigures]:
    """A fleet that grows, in which some of what is old was never merged."""
    months = []
    for number in range(MONTHS):
        age = MONTHS - 1 - number
        znodes = 40_000 + 2_600 * number + numbers.randrange(12_000)
        stay = znodes if age < 2 else znodes // 25
        merge = 0 if age < 2 else (znodes - stay) * (12 + numbers.randrange(10) + number // 3) // 100
        when = month_text(THIS_MONTH - age)
        months.append(MonthFigures(when, znodes // 30, stay, merge, znodes - stay - merge))
    return months


def _tables(name: str, hot: HotFigures) -> tuple[TableFigures, ...]:
    """The tables of the fleet, whose sums are those of hot but for what is lost by rounding."""
    weights = [1 / (number + 12) for number in range(TABLES)]
    tables = []
    for number, weight in enumerate(weights):
        share = weight / sum(weights)
        today, now, gated = (int(each.znodes * share) for each in (hot.today, hot.now, hot.gated))
        after = today - now - gated
        tables.append(
            TableFigures(
                f"{name}_{number}", 16, amount(today), amount(after), now + gated, now, gated, round(share, 6)
            )
        )
    return tuple(tables)


def _gates(name: str, merge: int) -> tuple[GateFigures, ...]:
    stopped = tuple(
        GatedPartition(name.replace("*", "03"), f"202611{day}", 900 - day, f"OPTIMIZE {name}")
        for day in range(10, 15)
    )
    return tuple(
        GateFigures(gate, "Why it is there.", f"Wait for {name}", amount(znodes), stopped)
        for gate, znodes in (("queue_clear", 12_000), ("one_part", merge), ("mutations_applied", 900))
    )


def _parts(now: int, merge: int, stay: int) -> tuple[PartsFigures, ...]:
    ranges: Sequence[tuple[int, int | None]] = (
        (1, 1), (2, 2), (3, 5), (6, 10), (11, 50), (51, 100), (101, None),
    )  # fmt: skip
    one = PartsFigures(1, 1, (now + stay) // 6, now + stay, now // 6)
    several = [
        PartsFigures(first, last, merge // 6 // 2**number, merge // 2**number, merge // 7 // 2**number)
        for number, (first, last) in enumerate(ranges[1:], start=1)
    ]
    return (one, *several)


def _merges(name: str, znodes: int) -> MergesFigures:
    path = name.replace("*", "03")
    first = tuple(
        MergeFigures(
            path,
            str(20230101 + number),
            f"OPTIMIZE TABLE analytics.events PARTITION ID '{20230101 + number}' FINAL",
            120 - number,
            20 - number // 5,
            None if number % 10 == 9 else 10**8 * (1 + number),
        )
        for number in range(100)
    )
    return MergesFigures(znodes // 30, znodes, 7 * 10**12, znodes // 300, 41, first)


def empty() -> ReportFigures:
    """A report of ensembles in which nothing is registered."""
    hot = HotFigures(*[NOTHING] * 9)
    return ReportFigures(
        as_of="2026-11-20T22:15:00.000Z",
        source="x",
        policy_digest="0" * 64,
        tables=0,
        shard_paths=0,
        hot=hot,
        cold=NOTHING,
        ensemble=None,
        most_to_gain=(),
        largest_tables=(),
        other_tables=OtherTables(0, NOTHING, NOTHING, 0, 0),
        gates=(),
        months=(),
        earlier=None,
        parts=(),
        merges=MergesFigures(0, 0, 0, 0, 0, ()),
        forecast=None,
        durations=(),
    )
