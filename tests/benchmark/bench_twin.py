# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures moves between a table and its cold twin on servers of a modern ClickHouse.

Prints a summary, and writes build/bench-twin.json. For figures to keep, run it on a machine that does
nothing else. Environment: VERSION (25.8) of the servers, PARTITIONS (200), PARTS (3) of each partition, ROWS
(100) of each part, RUNS (5) there and back, besides one before them that warms the servers up, and CHECKSUMS
(empty; anything else compares the rows, too).
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.cpu import cpu_seconds_of
from benchmark.effect import Weight, weigh
from benchmark.machine import this_machine
from benchmark.spread import RUNS, Spread
from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

OUTPUT = Path("build/bench-twin.json")
TABLE, TWIN = "hits", "hits_cold"
PATH = "/clickhouse/tables/01/hits"
FIRST_DAY = "2020-01-01"
GROUP, MOST_PARTS = 50, 100
"""The most partitions and parts of a statement, as in a move."""


@dataclass(frozen=True)
class Size:
    """How much is moved."""

    partitions: int
    parts: int
    """Of each partition, on each replica."""
    rows: int
    """Of each part."""


@dataclass(frozen=True)
class Way:
    """One run over all partitions."""

    seconds: float
    twice: Sequence[float]
    """For how many seconds readers saw the rows of each partition twice."""


@dataclass(frozen=True)
class Alone:
    """The statements of a run over all partitions, with nothing around them.

    clickhouse_cpu, zookeeper_cpu: CPU seconds of all servers of a kind.
    """

    seconds: float
    clickhouse_cpu: float
    zookeeper_cpu: float


@dataclass(frozen=True)
class Measured:
    """What was measured; weights are of the hot ensemble."""

    size: Size
    before: Weight
    after: Weight
    there: Sequence[Way]
    back: Sequence[Way]
    alone: Sequence[Alone]
    """The same statements, there."""


class Servers:
    """A table with its twin on two replicas, and the module that moves its partitions."""

    def __init__(self, hot: Ensemble, cold: Ensemble, shard: ModernShard, options: dict[str, Any]) -> None:
        """Create both tables."""
        self._hot = hot
        self._cold = cold
        self._shard = shard
        self._options = options
        for table, place in ((TABLE, PATH), (TWIN, f"cold:{PATH}_cold")):
            shard.execute(
                f"CREATE TABLE {table} (day Date, id UInt64, text String)"
                f" ENGINE = ReplicatedMergeTree('{place}', '{{replica}}')"
                " PARTITION BY day ORDER BY id SETTINGS max_replicated_merges_in_queue = 0"
            )

    def fill(self, size: Size) -> None:
        """Insert the parts, and wait until both replicas have them."""
        for part in range(size.parts):
            self._shard.servers[part % 2].execute(
                f"INSERT INTO {TABLE} SELECT toDate('{FIRST_DAY}') + number % {size.partitions},"
                f" number + {part} * 1000000000, toString(number)"
                f" FROM numbers({size.partitions * size.rows})",
                max_partitions_per_insert_block=0,
            )
        self._shard.execute(f"SYSTEM SYNC REPLICA {TABLE}")

    def weigh(self) -> Weight:
        """Weigh the hot ensemble, and wait until the servers have sessions with it again."""
        weight = weigh(self._hot)
        query = f"SELECT toString(is_readonly) FROM system.replicas WHERE table = '{TABLE}'"
        wait_for(lambda: all(each.value(query) == "0" for each in self._shard.servers))
        return weight

    def move(self, state: str, size: Size) -> Way:
        """Move all partitions; raises RuntimeError where one is not, or where a row is lost."""
        given = {
            "hot": {"hosts": self._hot.connect_string.split(",")},
            "shard_paths": [PATH],
            "state": state,
            "min_age": "0",
            "journal": "",
            "max_listed": size.partitions,
            "clickhouse": {"endpoints": self._shard.endpoints, "timeout": 300.0},
            **self._options,
        }
        begin = time.perf_counter()
        (answer,) = run_modules(Call("twin_move", given))
        seconds = time.perf_counter() - begin
        twice = [each["seen_twice_seconds"] for each in answer["moved"]]
        if len(twice) != size.partitions:
            raise RuntimeError(f"of {size.partitions} partitions {len(twice)} were moved: {answer}")
        self._check(TWIN if state == "cold" else TABLE, size)
        return Way(seconds, twice)

    def measure_alone(self, state: str, size: Size) -> Alone:
        """Give the statements of a move with nothing around them."""
        ensembles = [each.pid for each in (*self._hot.members, *self._cold.members)]
        of_kinds = [[each.process.pid for each in self._shard.servers], ensembles]
        before = [cpu_seconds_of(pids) for pids in of_kinds]
        seconds = self._give_alone(state, size)
        used = [cpu_seconds_of(pids) - earlier for pids, earlier in zip(of_kinds, before, strict=True)]
        return Alone(seconds, *used)

    def _give_alone(self, state: str, size: Size) -> float:
        source, to = (TABLE, TWIN) if state == "cold" else (TWIN, TABLE)
        first = self._shard.servers[0]
        parts = first.query(
            f"SELECT partition_id, name FROM system.parts WHERE active AND table = '{source}' ORDER BY name"
        )
        days = sorted({day for day, _name in parts})
        begin = time.perf_counter()
        for number in range(0, len(days), GROUP):
            group = days[number : number + GROUP]
            clones = ", ".join(f"ATTACH PARTITION ID '{each}' FROM {source}" for each in group)
            first.execute(f"ALTER TABLE {to} {clones}", alter_sync=2)
            names = [name for day, name in parts if day in group]
            for at in range(0, len(names), MOST_PARTS):
                drops = ", ".join(f"DROP PART '{name}'" for name in names[at : at + MOST_PARTS])
                first.execute(f"ALTER TABLE {source} {drops}", alter_sync=0)
                self._wait_until_gone(source, names[at : at + MOST_PARTS])
        seconds = time.perf_counter() - begin
        self._check(to, size)
        return seconds

    def _wait_until_gone(self, table: str, names: Sequence[str]) -> None:
        """Wait until no replica has one of the parts."""
        listed = ", ".join(f"'{name}'" for name in names)
        active = f"active AND table = '{table}' AND name IN ({listed})"
        query = f"SELECT toString(count()) FROM system.parts WHERE {active}"
        for server in self._shard.servers:
            while server.value(query) != "0":
                time.sleep(0.01)

    def _check(self, table: str, size: Size) -> None:
        wanted = size.partitions * size.parts * size.rows
        for server in self._shard.servers:
            found = int(server.value(f"SELECT toString(count()) FROM {table}"))
            if found != wanted:
                raise RuntimeError(f"{server.name} has {found} rows in {table}, and not {wanted}")


def main() -> None:
    """Measure, print and write down."""
    size = Size(
        *(int(os.environ.get(*each)) for each in (("PARTITIONS", "200"), ("PARTS", "3"), ("ROWS", "100")))
    )
    checksums, version = bool(os.environ.get("CHECKSUMS")), os.environ.get("VERSION") or "25.8"
    print(
        f"ClickHouse {version}: {size.partitions:,} partitions of {size.parts} parts, two replicas,"
        f" {'with' if checksums else 'without'} checksums.\n{this_machine()}\n",
        flush=True,
    )
    measured = measure(size, version, {"checksums": checksums})
    report(measured)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(asdict(measured), indent=2) + "\n")
    print(f"\nWritten to {OUTPUT}")


def measure(size: Size, version: str, options: dict[str, Any]) -> Measured:
    """Start everything, and measure it."""
    with tempfile.TemporaryDirectory(prefix="bench-twin-") as name:
        folder = Path(name)
        with Ensemble(folder / "hot") as hot, Ensemble(folder / "cold") as cold:
            sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
            with modern_shard(folder, sources[0], {"cold": sources[1]}, version=version) as shard:
                return measure_on((hot, cold), shard, size, options)


def measure_on(
    ensembles: tuple[Ensemble, Ensemble],
    shard: ModernShard,
    size: Size,
    options: dict[str, Any],
    runs: int = RUNS,
) -> Measured:
    """Move all partitions there and back so often, once more before that, and weigh hot in that first run."""
    servers = Servers(*ensembles, shard, options)
    servers.fill(size)
    before = servers.weigh()
    servers.move("cold", size)
    after = servers.weigh()
    servers.move("hot", size)
    there, back, alone = [], [], []
    for _run in range(runs):
        there.append(servers.move("cold", size))
        back.append(servers.move("hot", size))
        alone.append(servers.measure_alone("cold", size))
        servers.measure_alone("hot", size)
    return Measured(size, before, after, there, back, alone)


def report(measured: Measured) -> None:
    """A table of what was before and after, and a line for each way."""
    print(f"{'the hot ensemble':<24}{'before':>12}{'after':>12}")
    for name, field in (
        ("znodes", "znodes"),
        ("snapshot, MiB", "snapshot_mb"),
        ("heap in use, MiB", "heap_mb"),
    ):
        values = [getattr(each, field) for each in (measured.before, measured.after)]
        print(f"{name:<24}" + "".join(f"{value:>12,.6g}" for value in values))
    for name, ways in (("there", measured.there), ("back", measured.back)):
        rate = Spread.of(measured.size.partitions / way.seconds for way in ways)
        twice = sorted(seconds for way in ways for seconds in way.twice)
        median, p99 = (twice[int((len(twice) - 1) * share)] for share in (0.5, 0.99))
        print(
            f"\n{name}: {rate:.1f} partitions/s, {len(ways)} runs; rows of one were seen twice for"
            f" {median:.3f} s (median), {p99:.3f} s (99 of 100), {twice[-1]:.3f} s (worst)"
        )
    alone = Spread.of(measured.size.partitions / each.seconds for each in measured.alone)
    share = 100 * sum(each.seconds for each in measured.alone) / sum(way.seconds for way in measured.there)
    print(f"\nthe same statements alone: {alone:.1f} partitions/s there, {share:.0f} % of the time of a run")
    clickhouse = Spread.of(each.clickhouse_cpu for each in measured.alone)
    zookeeper = Spread.of(each.zookeeper_cpu for each in measured.alone)
    print(f"CPU seconds of the statements: {clickhouse:.1f} of ClickHouse, {zookeeper:.1f} of ZooKeeper")


if __name__ == "__main__":
    main()
