# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what others notice on the ClickHouse servers while partitions of many tables move to their twins.

Prints a table: inserts and queries of another client without a move, and during moves with the default
`latency_target`, at full speed, and at full speed with one worker. Writes build/bench-servers.json.

For figures to keep, run it on a machine that does nothing else. Environment: VERSION (25.8) of the servers,
RUNS (5), TABLES (16) on the same two servers, with PARTITIONS (30) each to move and IDLE (70) that stay, and
RATE (10) inserts and as many queries a second.
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

from benchmark.machine import this_machine
from benchmark.measured_statements import KINDS, sending
from benchmark.spread import RUNS, Spread
from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.zookeeper import Ensemble

OUTPUT = Path("build/bench-servers.json")
TABLES, PARTITIONS, IDLE = (
    int(os.environ.get(*each)) for each in (("TABLES", "16"), ("PARTITIONS", "30"), ("IDLE", "70"))
)
RATE = float(os.environ.get("RATE") or 10)
FIRST_DAY, OTHER = "2020-01-01", "other"
_QUIET_SECONDS = 8.0
WAYS: dict[str, dict[str, Any]] = {
    "target": {"latency_target": 0.005},
    "full speed": {"latency_target": 0},
    "one worker": {"latency_target": 0, "workers": 1},
}


@dataclass(frozen=True)
class Noticed:
    """What statements of another client took, by kind: the 99th percentiles in milliseconds."""

    quiet: dict[str, float]
    during: dict[str, float]
    partitions_per_second: float
    seen_twice: float
    """The median of the seconds for which rows were in both tables."""


class Tables:
    """Tables with twins on the two replicas of a shard."""

    def __init__(self, hot: Ensemble, shard: ModernShard) -> None:
        """Create and fill all tables."""
        self._hot, self._shard = hot, shard
        self.ports = [each.http_port for each in shard.servers]
        self._create(OTHER, f"/clickhouse/tables/01/{OTHER}", "(id UInt64)", "tuple()")
        self._names = [f"hits{number:02}" for number in range(TABLES)]
        for name in self._names:
            columns = "(day Date, id UInt64, text String)"
            self._create(name, self._path(name), columns, "day")
            self._create(f"{name}_cold", f"cold:{self._path(name)}_cold", columns, "day")
            for part in range(2):
                shard.servers[part].execute(
                    f"INSERT INTO {name} SELECT toDate('{FIRST_DAY}') + number % {PARTITIONS + IDLE},"
                    f" number + {part} * 1000000000, toString(number)"
                    f" FROM numbers({(PARTITIONS + IDLE) * 100})",
                    max_partitions_per_insert_block=0,
                )
        for name in self._names:
            shard.execute(f"SYSTEM SYNC REPLICA {name}")
        days = shard.servers[0].query(
            f"SELECT DISTINCT partition_id FROM system.parts WHERE table = '{self._names[0]}' ORDER BY 1"
            f" LIMIT {PARTITIONS}"
        )
        self._work = [
            {"shard_path": self._path(name), "partition": day} for name in self._names for (day,) in days
        ]

    def move(self, state: str, options: dict[str, Any]) -> tuple[float, list[float]]:
        """Move all partitions; return the seconds, and for how long the rows of each were seen twice."""
        given = {
            "hot": {"hosts": self._hot.connect_string.split(",")},
            "partitions": self._work,
            "state": state,
            "min_age": "0",
            "journal": "",
            "max_listed": len(self._work),
            "clickhouse": {"endpoints": self._shard.endpoints, "timeout": 300.0},
            **options,
        }
        begin = time.monotonic()
        (answer,) = run_modules(Call("twin_move", given))
        seconds = time.monotonic() - begin
        if len(answer["moved"]) != len(self._work):
            raise RuntimeError(f"of {len(self._work)} partitions {len(answer['moved'])} were moved: {answer}")
        return seconds, [each["seen_twice_seconds"] for each in answer["moved"]]

    def _create(self, name: str, place: str, columns: str, by: str) -> None:
        self._shard.execute(
            f"CREATE TABLE {name} {columns} ENGINE = ReplicatedMergeTree('{place}', '{{replica}}')"
            f" PARTITION BY {by} ORDER BY id"
            + ("" if name == OTHER else " SETTINGS max_replicated_merges_in_queue = 0")
        )

    def _path(self, name: str) -> str:
        return f"/clickhouse/tables/01/{name}"


def main() -> None:
    """Measure, print and write down."""
    version = os.environ.get("VERSION") or "25.8"
    print(
        f"ClickHouse {version}: {TABLES} tables on two servers, {PARTITIONS} of {PARTITIONS + IDLE}"
        f" partitions of two parts move; {RATE:g} inserts and {RATE:g} queries a second.\n{this_machine()}\n"
    )
    print(
        _row(
            "", "insert without", "insert during", "query without", "query during", "partitions/s", "twice, s"
        )
    )
    found: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-servers-") as name:
        folder = Path(name)
        with Ensemble(folder / "hot") as hot, Ensemble(folder / "cold") as cold:
            sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
            with modern_shard(folder, sources[0], {"cold": sources[1]}, version=version) as shard:
                tables = Tables(hot, shard)
                tables.move("cold", {})
                tables.move("hot", {})
                for way, options in WAYS.items():
                    runs = [measure(tables, options) for _run in range(RUNS)]
                    _print(way, runs)
                    found[way] = [asdict(each) for each in runs]
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(found, indent=2) + "\n")
    print(f"\nWritten to {OUTPUT}")


def measure(tables: Tables, options: dict[str, Any]) -> Noticed:
    """Move all partitions to the twins during statements of another client, and back without them."""
    with sending(RATE, tables.ports, OTHER) as statements:
        time.sleep(1)
        begin = time.monotonic()
        time.sleep(_QUIET_SECONDS)
        middle = time.monotonic()
        seconds, twice = tables.move("cold", options)
        end = time.monotonic()
    tables.move("hot", {"latency_target": 0})
    return Noticed(
        {kind: _p99(statements.between(kind, begin, middle)) for kind in KINDS},
        {kind: _p99(statements.between(kind, middle, end)) for kind in KINDS},
        len(twice) / seconds,
        sorted(twice)[len(twice) // 2],
    )


def _print(way: str, runs: Sequence[Noticed]) -> None:
    cells = [
        f"{Spread.of(getattr(each, when)[kind] for each in runs):.0f}"
        for kind in KINDS
        for when in ("quiet", "during")
    ]
    speed = f"{Spread.of(each.partitions_per_second for each in runs):.1f}"
    twice = f"{Spread.of(each.seen_twice for each in runs):.2f}"
    print(_row(way, *cells, speed, twice), flush=True)


def _row(*cells: str) -> str:
    return "".join(f"{cell:<20}" for cell in cells).rstrip()


def _p99(ordered: Sequence[float]) -> float:
    return ordered[int((len(ordered) - 1) * 0.99)]


if __name__ == "__main__":
    main()
