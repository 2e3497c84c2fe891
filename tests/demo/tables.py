# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tables of the demo, when each is written to, and what becomes of their partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DATABASE = "jason"
ROOT = "/clickhouse/demo"
SHARD = "01"
REPLICAS = ("r1", "r2")

COLD_AFTER_SECONDS = 5
PAUSE_SECONDS = 7
"""Between the first inserts and the last ones."""

POLICY = f"""\
# In service these would be days or weeks.
version: 1
defaults:
  cold_after: {COLD_AFTER_SECONDS}s
rules:
  - table: "**/visits_by_site/*"
    cold_after: {COLD_AFTER_SECONDS}s
    keep_newest: 1
"""

COLD = "COLD"
HOT = "HOT"
DEFERRED = "deferred"


@dataclass(frozen=True)
class DemoTable:
    """A replicated table.

    first, last: SELECTs of the rows that are inserted before and after the pause, one INSERT each.
    outcome: what becomes of each partition: COLD, HOT, or DEFERRED for one that is old but not moved.
    story: why.
    settled_rows: a condition for the rows that nobody adds to any more.
    """

    name: str
    columns: str
    partition_by: str
    first: tuple[str, ...]
    outcome: Mapping[str, str]
    story: str
    last: tuple[str, ...] = ()
    settled_rows: str = "1"

    @property
    def full_name(self) -> str:
        """The name in SQL."""
        return f"{DATABASE}.{self.name}"

    @property
    def shard_path(self) -> str:
        """The path of the table in ZooKeeper."""
        return f"{ROOT}/{DATABASE}/{self.name}/{SHARD}"

    @property
    def create(self) -> str:
        """The CREATE TABLE statement."""
        path = f"{ROOT}/{DATABASE}/{self.name}/{{shard}}"
        return (
            f"CREATE TABLE {self.full_name} ({self.columns}) "
            f"ENGINE = ReplicatedMergeTree('{path}', '{{replica}}') "
            f"PARTITION BY {self.partition_by} ORDER BY id"
        )

    def drop(self, partition: str) -> str:
        """Return the statement that drops a partition by days or months."""
        return f"ALTER TABLE {self.full_name} DROP PARTITION {partition}"


def _of_day(day: str, rows: int) -> str:
    return f"SELECT toDate('{day}'), number FROM numbers({rows})"


_MONTHS = {f"2019{month:02}": COLD for month in range(1, 13)}

TABLES = (
    DemoTable(
        name="table_test_local",
        columns="day Date, id UInt64",
        partition_by="toYYYYMMDD(day)",
        first=tuple(_of_day(day, 1000) for day in ("2019-12-13", "2019-12-14", "2019-12-15")),
        last=(_of_day("2019-12-13", 500),),
        outcome={"20191213": HOT, "20191214": COLD, "20191215": COLD},
        story="by day; the oldest day was written to last",
    ),
    DemoTable(
        name="orders_by_month",
        columns="day Date, id UInt64",
        partition_by="toYYYYMM(day)",
        first=(
            "SELECT addMonths(toDate('2019-01-01'), number % 12), number FROM numbers(2400)",
            _of_day("2019-11-30", 100),
        ),
        last=(_of_day("2019-12-31", 100),),
        outcome=_MONTHS | {"201911": DEFERRED, "201912": HOT},
        story="by month; two parts of November are not merged",
    ),
    DemoTable(
        name="visits_by_site",
        columns="site String, id UInt64",
        partition_by="site",
        first=tuple(
            f"SELECT '{site}', number FROM numbers(300)"
            for site in ("example.com", "example.net", "example.org")
        ),
        outcome={
            "8044d9efc6623562844e500db140992c": COLD,
            "fb6e77d534d2690a64d4a3e143fbccb6": COLD,
            "e9768dcc676e32d8a86bd8f92d7bffd3": HOT,
        },
        story="by a text; the policy keeps the newest one hot",
    ),
    DemoTable(
        name="live_events",
        columns="day Date, id UInt64",
        partition_by="toYYYYMMDD(day)",
        first=tuple(_of_day(day, 200) for day in ("2019-12-14", "2019-12-15")),
        last=(_of_day("2019-12-16", 200),),
        outcome={"20191214": COLD, "20191215": COLD, "20191216": HOT},
        story="by day; goes on getting inserts all the time",
        settled_rows="day < '2019-12-16'",
    ),
)
SEED, *_OTHERS, LIVE = TABLES
DROPPED = {HOT: "20191213", COLD: "20191214"}
"""Partitions of SEED that are dropped at the end, by State."""
ROWS_LEFT = 1000
"""Of SEED then."""
BUSY = (LIVE.shard_path, "20191216")
"""Shard path and id of the partition that gets inserts all the time."""


def outcomes(outcome: str) -> set[tuple[str, str]]:
    """Return shard path and id of the partitions that have this outcome."""
    return {
        (table.shard_path, partition)
        for table in TABLES
        for partition, its_outcome in table.outcome.items()
        if its_outcome == outcome
    }


def table_at(shard_path: str) -> DemoTable:
    """Return the table with this path."""
    (table,) = [table for table in TABLES if table.shard_path == shard_path]
    return table
