# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what a reading table over a table and its twin costs readers, beside one table with the same rows.

Environment: VERSION (25.8) of the server, ROWS (10,000,000) in 24 partitions, half of them in the twin, and
RUNS (5), each with every query four times in turn.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.machine import this_machine
from benchmark.spread import RUNS, Spread
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, modern_shard
from support.servers.zookeeper import Ensemble

ONE, READING = "hits_one", "hits_all"
_HOT, _COLD = "hits", "hits_cold"
_FIRST_OF_HOT = "2024-01-01"
_TURNS = 4

QUERIES: Mapping[str, str] = {
    "count()": "SELECT count() FROM TABLE",
    "min and max of the partition column": "SELECT min(day), max(day) FROM TABLE",
    "an aggregate of a projection": "SELECT site, sum(visits) FROM TABLE GROUP BY site",
    "an aggregate of all rows": "SELECT site % 9 AS of, sum(visits), uniq(visitor) FROM TABLE GROUP BY of",
    "an aggregate of one month": "SELECT sum(visits) FROM TABLE WHERE toYYYYMM(day) = 202403",
    "rows of a key": "SELECT count(), sum(visits) FROM TABLE WHERE site = 7 AND visitor = 7",
    "the last rows": "SELECT day, site, visitor FROM TABLE ORDER BY day DESC, site LIMIT 10",
}
"""What is asked, by name; TABLE is the one table or the reading table."""
BY_HAND = (
    "an aggregate of a projection, by hand",
    "an aggregate of a projection",
    (
        f"SELECT site, sum(of) FROM (SELECT site, sum(visits) AS of FROM {_HOT} GROUP BY site"
        f" UNION ALL SELECT site, sum(visits) FROM {_COLD} GROUP BY site) GROUP BY site"
    ),
)
"""A query of both tables in place of the reading table: its name, the query of one table, and its text."""


def main() -> None:
    """Measure and print."""
    version, rows = os.environ.get("VERSION") or "25.8", int(os.environ.get("ROWS") or 10_000_000)
    print(
        f"ClickHouse {version}, {rows:,} rows in 24 partitions, half of them in the twin.\n{this_machine()}\n"
    )
    with tempfile.TemporaryDirectory(prefix="bench-reading-") as name, Ensemble(Path(name, "hot")) as hot:
        shard = modern_shard(Path(name), ZooKeeperSource(hot.connect_string), replicas=1, version=version)
        with shard:
            fill(shard.servers[0], rows)
            report(measure(shard.servers[0], RUNS))


def fill(server: ModernServer, rows: int) -> None:
    """Create the tables with a projection: one with all rows, and two with half of them each."""
    for table in (ONE, _HOT, _COLD):
        server.execute(
            f"CREATE TABLE {table} (day Date, site UInt16, visitor UInt32, visits UInt32,"
            " PROJECTION by_site (SELECT site, sum(visits) GROUP BY site))"
            " ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (site, visitor)"
        )
    every = (
        "SELECT toDate('2023-01-01') + number % 731 AS day, cityHash64(number) % 1000 AS site,"
        f" cityHash64(number, 1) % 1000000 AS visitor, 1 AS visits FROM numbers({rows})"
    )
    is_hot = f"day >= '{_FIRST_OF_HOT}'"
    for table, condition in ((ONE, "1"), (_HOT, is_hot), (_COLD, f"NOT ({is_hot})")):
        server.execute(f"INSERT INTO {table} SELECT * FROM ({every}) WHERE {condition}")
        server.execute(f"OPTIMIZE TABLE {table} FINAL")
    server.execute(f"CREATE TABLE {READING} AS {_HOT} ENGINE = Merge('default', '^({_HOT}|{_COLD})$')")


def measure(server: ModernServer, runs: int) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    """Map each query to its milliseconds on the one table, and on both. Raises RuntimeError on other rows."""
    pairs = {
        name: (text.replace("TABLE", ONE), text.replace("TABLE", READING)) for name, text in QUERIES.items()
    }
    name, of_one, by_hand = BY_HAND
    pairs[name] = (pairs[of_one][0], by_hand)
    for name, (one, both) in pairs.items():
        if sorted(server.query(one)) != sorted(server.query(both)):
            raise RuntimeError(f"{name}: the answers of {one} and {both} differ")
    return {name: _measure_pair(server, one, both, runs) for name, (one, both) in pairs.items()}


def _measure_pair(
    server: ModernServer, one: str, both: str, runs: int
) -> tuple[Sequence[float], Sequence[float]]:
    found: tuple[list[float], list[float]] = ([], [])
    for _turn in range(_TURNS * runs):
        for milliseconds, sql in zip(found, (one, both), strict=True):
            begin = time.perf_counter()
            server.query(sql)
            milliseconds.append(1000 * (time.perf_counter() - begin))
    return found


def report(measured: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
    """A line for each query: the medians in milliseconds, and how many times as long both tables take."""
    print(f"{'median, ms':<40}{'one table':>12}{'both':>12}{'times':>8}")
    for name, pair in measured.items():
        one, both = (Spread.of(each).median for each in pair)
        print(f"{name:<40}{one:>12.1f}{both:>12.1f}{both / one:>8.1f}")


if __name__ == "__main__":
    main()
