# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures moves between a table and its cold twin on servers of a modern ClickHouse.

Prints a summary, and writes build/bench-auxiliary.json. For figures to keep, run it on a machine that does
nothing else. Environment: PARTITIONS (1000), PARTS (3) of each partition, ROWS (100) of each part, and
CHECKSUMS (empty; anything else compares the rows, too).
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.effect import Weight, weigh
from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

OUTPUT = Path("build/bench-auxiliary.json")
TABLE, TWIN = "hits", "hits_cold"
PATH = "/clickhouse/tables/01/hits"
FIRST_DAY = "2020-01-01"


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
    """One run over all partitions; for how long readers saw rows of a partition twice, in seconds."""

    partitions: int
    seconds: float
    twice_median: float
    twice_p99: float
    twice_worst: float


@dataclass(frozen=True)
class Measured:
    """What was measured; weights are of the hot ensemble."""

    size: Size
    before: Weight
    there: Way
    after: Weight
    back: Way


class Servers:
    """A table with its twin on two replicas, and the module that moves its partitions."""

    def __init__(self, hot: Ensemble, shard: ModernShard, options: dict[str, Any]) -> None:
        """Create both tables."""
        self._hot = hot
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
        (answer,) = run_modules(Call("partition_move", given))
        seconds = time.perf_counter() - begin
        twice = sorted(each["seen_twice_seconds"] for each in answer["moved"])
        if len(twice) != size.partitions:
            raise RuntimeError(f"of {size.partitions} partitions {len(twice)} were moved: {answer}")
        self._check(TWIN if state == "cold" else TABLE, size)
        p99 = twice[min(len(twice) - 1, round(0.99 * len(twice)))]
        return Way(len(twice), seconds, statistics.median(twice), p99, twice[-1])

    def _check(self, table: str, size: Size) -> None:
        wanted = size.partitions * size.parts * size.rows
        for server in self._shard.servers:
            found = int(server.value(f"SELECT toString(count()) FROM {table}"))
            if found != wanted:
                raise RuntimeError(f"{server.name} has {found} rows in {table}, and not {wanted}")


def main() -> None:
    """Measure, print and write down."""
    size = Size(
        *(int(os.environ.get(*each)) for each in (("PARTITIONS", "1000"), ("PARTS", "3"), ("ROWS", "100")))
    )
    checksums = bool(os.environ.get("CHECKSUMS"))
    print(
        f"Twins: {size.partitions:,} partitions of {size.parts} parts, two replicas,"
        f" {'with' if checksums else 'without'} checksums.\n{os.cpu_count()} cores, Python"
        f" {platform.python_version()}, load average {os.getloadavg()[0]:.2f}; all servers run on this"
        " machine.\n",
        flush=True,
    )
    measured = measure(size, {"checksums": checksums})
    report(measured)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(asdict(measured), indent=2) + "\n")
    print(f"\nWritten to {OUTPUT}")


def measure(size: Size, options: dict[str, Any]) -> Measured:
    """Start everything, and measure it."""
    with tempfile.TemporaryDirectory(prefix="bench-auxiliary-") as name:
        folder = Path(name)
        with Ensemble(folder / "hot") as hot, Ensemble(folder / "cold") as cold:
            sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
            with modern_shard(folder, sources[0], {"cold": sources[1]}) as shard:
                return measure_on(hot, shard, size, options)


def measure_on(hot: Ensemble, shard: ModernShard, size: Size, options: dict[str, Any]) -> Measured:
    """Move all partitions there and back, and weigh hot before and after."""
    servers = Servers(hot, shard, options)
    servers.fill(size)
    before = servers.weigh()
    there = servers.move("cold", size)
    after = servers.weigh()
    return Measured(size, before, there, after, servers.move("hot", size))


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
    for name, way in (("there", measured.there), ("back", measured.back)):
        print(
            f"\n{name}: {way.partitions / way.seconds:.1f} partitions/s ({way.seconds:.1f} s); rows of one"
            f" were seen twice for {way.twice_median:.3f} s (median), {way.twice_p99:.3f} s (99 of 100),"
            f" {way.twice_worst:.3f} s (worst)"
        )


if __name__ == "__main__":
    main()
