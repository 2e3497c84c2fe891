# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures how all tables of a root go to another ensemble and back, on servers of a modern ClickHouse.

The tables have one shard of two replicas, and different numbers of partitions. So the time of a partition and
the time of a table besides can be told apart: the time of a table is fitted by a line.

Prints a summary, and writes build/bench-root.json. For figures to keep, run it on a machine that does
nothing else. Environment: VERSION (25.8) of the servers, TABLES (10), STEP (10) more partitions in each table
than in the one before it, PARTS (3) of each partition, ROWS (100) of each part, and RUNS (3) there and back,
besides one before them that warms the servers up.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.machine import this_machine
from benchmark.spread import Spread
from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.zookeeper import Ensemble

OUTPUT = Path("build/bench-root.json")
ROOT = "/clickhouse/bench_root"
DATABASE = "bench_root"
FIRST_DAY = "2020-01-01"


@dataclass(frozen=True)
class Size:
    """How much is moved."""

    tables: int
    step: int
    """How many partitions a table has more than the one before it; the first has so many."""
    parts: int
    """Of each partition, on each replica."""
    rows: int
    """Of each part."""

    @property
    def partitions(self) -> int:
        """Of all tables."""
        return self.step * self.tables * (self.tables + 1) // 2


@dataclass(frozen=True)
class Way:
    """A run over all tables.

    estimated: the seconds that the plan says. tables: partitions and seconds of each table.
    """

    seconds: float
    estimated: float
    tables: Sequence[tuple[int, float]]

    @property
    def line(self) -> tuple[float, float]:
        """Seconds of a partition, and of a table besides."""
        fitted = statistics.linear_regression(*zip(*self.tables, strict=True))
        return fitted.slope, fitted.intercept


@dataclass(frozen=True)
class Measured:
    """What was measured.

    again: seconds of runs after which nothing was left to do.
    znodes: of parts, block numbers and blocks in hot before and after a run there.
    """

    size: Size
    there: Sequence[Way]
    back: Sequence[Way]
    again: Sequence[float]
    znodes: tuple[int, int]


class Servers:
    """Tables on two replicas, and the module that moves all of them."""

    def __init__(self, hot: Ensemble, shard: ModernShard) -> None:
        self._hot = hot
        self._shard = shard

    def fill(self, size: Size) -> None:
        """Create the tables and insert the parts."""
        self._shard.execute(f"CREATE DATABASE {DATABASE} ENGINE = Atomic")
        for number in range(size.tables):
            self._shard.execute(
                f"CREATE TABLE {DATABASE}.t{number} (day Date, id UInt64, text String)"
                f" ENGINE = ReplicatedMergeTree('{ROOT}/01/t{number}', '{{replica}}')"
                " PARTITION BY day ORDER BY id SETTINGS max_replicated_merges_in_queue = 0"
            )
            partitions = size.step * (number + 1)
            for part in range(size.parts):
                self._shard.servers[part % 2].execute(
                    f"INSERT INTO {DATABASE}.t{number} SELECT toDate('{FIRST_DAY}') + number % {partitions},"
                    f" number + {part} * 1000000000, toString(number)"
                    f" FROM numbers({partitions * size.rows})",
                    max_partitions_per_insert_block=0,
                )
            self._shard.execute(f"SYSTEM SYNC REPLICA {DATABASE}.t{number}")

    def call(self, state: str, *, check: bool = False) -> tuple[dict[str, Any], float]:
        """What the module answers, and after how many seconds."""
        given = {
            "hot": {"hosts": self._hot.connect_string.split(",")},
            "root": ROOT,
            "state": state,
            "min_age": "0",
            "journal": "",
            "clickhouse": {"endpoints": self._shard.endpoints, "timeout": 300.0},
        }
        begin = time.perf_counter()
        (answer,) = run_modules(Call("table_move", given, check))
        return answer, time.perf_counter() - begin

    def move(self, state: str, size: Size) -> Way:
        """Move all tables; raises RuntimeError where one is not finished, or where a row is lost."""
        plan, _seconds = self.call(state, check=True)
        answer, seconds = self.call(state)
        if not answer["finished"]:
            raise RuntimeError(f"not all tables are finished: {answer['msg']}")
        for number in range(size.tables):
            wanted = size.step * (number + 1) * size.parts * size.rows
            for server in self._shard.servers:
                found = int(server.value(f"SELECT toString(count()) FROM {DATABASE}.t{number}"))
                if found != wanted:
                    raise RuntimeError(f"{server.name} has {found} rows in t{number}, and not {wanted}")
        tables = [(each["partitions"], each["seconds"]) for each in answer["outcomes"]]
        return Way(seconds, plan["estimate"]["seconds"], tables)

    def znodes(self, state: str) -> int:
        """How many znodes hot has of all tables."""
        plan, _seconds = self.call(state, check=True)
        return sum(each["hot_znodes"] for each in plan["outcomes"])


def main() -> None:
    """Measure, print and write down."""
    names = (("TABLES", "10"), ("STEP", "10"), ("PARTS", "3"), ("ROWS", "100"))
    size = Size(*(int(os.environ.get(*each)) for each in names))
    version, runs = os.environ.get("VERSION") or "25.8", int(os.environ.get("RUNS") or "3")
    print(
        f"ClickHouse {version}: {size.tables} tables with {size.partitions:,} partitions of {size.parts}"
        f" parts, one shard of two replicas.\n{this_machine()}\n",
        flush=True,
    )
    measured = measure(size, version, runs)
    report(measured)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(asdict(measured), indent=2) + "\n")
    print(f"\nWritten to {OUTPUT}")


def measure(size: Size, version: str, runs: int) -> Measured:
    """Start everything, and measure it."""
    with tempfile.TemporaryDirectory(prefix="bench-root-") as name:
        folder = Path(name)
        with Ensemble(folder / "hot") as hot, Ensemble(folder / "cold") as cold:
            sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
            with modern_shard(folder, sources[0], {"cold": sources[1]}, version=version) as shard:
                return measure_on(hot, shard, size, runs)


def measure_on(hot: Ensemble, shard: ModernShard, size: Size, runs: int) -> Measured:
    """Move all tables there and back so often, and once more before that."""
    servers = Servers(hot, shard)
    servers.fill(size)
    before = servers.znodes("cold")
    servers.move("cold", size)
    after = servers.znodes("cold")
    servers.move("hot", size)
    there, back, again = [], [], []
    for _run in range(runs):
        there.append(servers.move("cold", size))
        again.append(servers.call("cold")[1])
        back.append(servers.move("hot", size))
    return Measured(size, there, back, again, (before, after))


def report(measured: Measured) -> None:
    """A line for each way, and what the hot ensemble has."""
    for name, ways in (("there", measured.there), ("back", measured.back)):
        seconds, estimated = (
            Spread.of(values) for values in ([way.seconds for way in ways], [way.estimated for way in ways])
        )
        rate = Spread.of(1 / way.line[0] for way in ways)
        besides = Spread.of(way.line[1] for way in ways)
        print(
            f"{name}: {seconds:.1f} s, {estimated:.1f} s by the plan; {rate:.1f} partitions/s and"
            f" {besides:.2f} s for each table"
        )
    print(f"again, with nothing to do: {Spread.of(measured.again):.2f} s")
    print(
        f"znodes of parts, block numbers and blocks in hot: {measured.znodes[0]:,} before,"
        f" {measured.znodes[1]:,} after"
    )


if __name__ == "__main__":
    main()
