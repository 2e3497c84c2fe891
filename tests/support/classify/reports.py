# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures of a report: as many as there can be, and none."""

from __future__ import annotations

import random
from datetime import date, timedelta

from partition_classify.report.figures import (
    Amount,
    DayFigures,
    EnsembleFigures,
    GatedPartition,
    GateFigures,
    HotFigures,
    OtherTables,
    ReportFigures,
    TableFigures,
)

NOTHING = Amount()


def amount(znodes: int) -> Amount:
    """What partitions with so many znodes add up to."""
    return Amount(znodes // 30, znodes, znodes * 90, znodes * 250)


def table(name: str, znodes: int, after: int) -> TableFigures:
    """A table with so many znodes today, and after the plan."""
    return TableFigures(name, 16, amount(znodes), amount(after), znodes - after, 0.123456)


def large(name: str = "/clickhouse/tables/*/database/events_of_a_long_name") -> ReportFigures:
    """A report with as many rows as there can be."""
    numbers = random.Random(7)
    tables = [table(f"{name}_{each}", 3_000_000 - each, numbers.randrange(3_000_000)) for each in range(100)]
    newest = date(2026, 11, 20)
    days = [
        DayFigures((newest - timedelta(days=age)).isoformat(), numbers.randrange(1, 9_999), 10**6, age)
        for age in range(353, -1, -1)
    ]
    stopped = tuple(GatedPartition(name, f"2026{each}", 10**6, f"OPTIMIZE {name}") for each in range(10, 15))
    gates = [
        GateFigures(gate, "Why.", f"Wait for {name}", amount(10**6), stopped)
        for gate in ("queue_clear", "one_part", "mutations_applied")
    ]
    hot = HotFigures(*(amount(number * 10**6) for number in (29, 13, 4, 1, 2, 3, 17)))
    return ReportFigures(
        as_of="2026-11-20T22:15:00.000Z",
        source=f"zookeeper hot=zk1:2181 root={name}",
        policy_digest="0" * 64,
        tables=10_000,
        shard_paths=160_000,
        hot=hot,
        cold=amount(10**6),
        ensemble=EnsembleFigures(40_000_000, 28_000_000, 0.725, 9 * 10**9, 5 * 10**9),
        most_to_gain=tuple(tables[:10]),
        largest_tables=tuple(tables),
        other_tables=OtherTables(9_900, amount(10**7), amount(10**6)),
        gates=tuple(gates),
        days=tuple(days),
        years=tuple(DayFigures(str(year), 10**5, 10**7, 10**4) for year in range(2015, 2026)),
    )


def empty() -> ReportFigures:
    """A report of ensembles in which nothing is registered."""
    hot = HotFigures(*[NOTHING] * 7)
    nothing = OtherTables(0, NOTHING, NOTHING)
    return ReportFigures(
        "2026-11-20T22:15:00.000Z", "x", "0" * 64, 0, 0, hot, NOTHING, None, (), (), nothing, (), (), ()
    )
