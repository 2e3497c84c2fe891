# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the daily run: many shard paths with one partition each, near and far away.

Prints a summary and writes build/bench-daily.json. For figures to keep, run it on a machine that does nothing
else. Environment: SHARD_PATHS (1000), LATENCY_MS (5), PROCESSES (2), RUNS (5), MOVES (as RUNS): the runs of
each row that move something, 0 to measure only those with nothing to do.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from benchmark.machine import this_machine
from benchmark.measured_daily import DailyRun
from benchmark.pair import REPLICAS, Pair, running_pair
from benchmark.spread import RUNS, Spread
from support.memory.tables import Table, days

OUTPUT = Path("build/bench-daily.json")
ALL = "workers"
NOTHING = "nothing to do"


class Row(NamedTuple):
    """How the runs of one row are made."""

    name: str
    workers: int = 0
    processes: int = 1
    latency: float = 0.0
    """Seconds."""


def main() -> None:
    """Measure, print and write down."""
    shard_paths = int(os.environ.get("SHARD_PATHS", "1000"))
    rows = chosen_rows(float(os.environ.get("LATENCY_MS", "5")), int(os.environ.get("PROCESSES", "2")))
    print(
        f"Daily run: {shard_paths:,} shard paths of {len(REPLICAS)} replicas, one partition to move each.\n"
        f"{this_machine()}\n",
        flush=True,
    )
    moves = int(os.environ.get("MOVES", RUNS))
    first, *rest = days(1 + len(rows) * moves)
    found: dict[str, list[DailyRun]] = {}
    with running_pair(cold_members=1) as pair:
        tables = [pair.build(f"t{number:05}", 1 + len(rest)) for number in range(shard_paths)]
        pair.measure_daily(tables, first)
        for number, row in enumerate(rows if moves else ()):
            partitions = rest[number * moves : (number + 1) * moves]
            found[row.name] = [measured(pair, tables, each, row) for each in partitions]
            print_runs(row.name, found[row.name], shard_paths)
        # These partitions are cold already.
        for row in rows[1:]:
            name = f"{NOTHING}{row.name.removeprefix(ALL)}"
            found[name] = [measured(pair, tables, first, row) for _run in range(RUNS)]
            print_runs(name, found[name], shard_paths)
    OUTPUT.parent.mkdir(exist_ok=True)
    told = {name: [asdict(each) for each in runs] for name, runs in found.items()}
    OUTPUT.write_text(json.dumps({"shard_paths": shard_paths, "runs": told}, indent=2) + "\n")


def chosen_rows(latency_ms: float, processes: int) -> Sequence[Row]:
    """One worker alone; then workers chosen by the module, in one process and in several, near and far."""
    rows = [Row("one worker", workers=1)]
    for far in (0.0, latency_ms):
        for number in dict.fromkeys((1, processes)):
            name = ALL + (f", {number} processes" if number > 1 else "") + (f", {far:g} ms" if far else "")
            rows.append(Row(name, processes=number, latency=far / 1000))
    return rows


def measured(pair: Pair, tables: Sequence[Table], partition: str, row: Row) -> DailyRun:
    """One run over all tables."""
    return pair.measure_daily(
        tables, partition, workers=row.workers, processes=row.processes, latency=row.latency
    )


def print_runs(name: str, runs: Sequence[DailyRun], shard_paths: int) -> None:
    """Two lines: the median, the spread, and what each shard path takes."""
    rate = Spread.of(shard_paths / each.seconds for each in runs)
    requests, client, servers = (
        statistics.median(values) / shard_paths
        for values in (
            [each.requests for each in runs],
            [each.client_cpu_seconds for each in runs],
            [each.servers_cpu_seconds for each in runs],
        )
    )
    print(
        f"{name:<34} {rate:,.1f} shard paths/s, {requests:.1f} requests each,"
        f" {max(each.peak_rss_mb for each in runs):.0f} MB in a process\n"
        f"{'':<34} CPU: {client * 1000:.1f} ms each in the client, {servers * 1000:.1f} in the servers",
        flush=True,
    )


if __name__ == "__main__":
    main()
