# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the daily run: many shard paths with one partition each, near and far away.

Prints a summary and writes build/bench-daily.json. For figures to keep, run it on a machine that does nothing
else. Environment: SHARD_PATHS (1000), LATENCY_MS (5), RUNS (5).
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmark.machine import this_machine
from benchmark.measured_daily import DailyRun
from benchmark.pair import REPLICAS, Pair, running_pair
from benchmark.spread import RUNS, Spread
from support.memory.tables import Table, days

OUTPUT = Path("build/bench-daily.json")


def main() -> None:
    """Measure, print and write down."""
    shard_paths = int(os.environ.get("SHARD_PATHS", "1000"))
    latency = float(os.environ.get("LATENCY_MS", "5")) / 1000
    print(
        f"Daily run: {shard_paths:,} shard paths of {len(REPLICAS)} replicas, one partition to move each.\n"
        f"{this_machine()}\n",
        flush=True,
    )
    first, *rest = days(2 + 3 * RUNS)
    with running_pair(cold_members=1) as pair:
        tables = [pair.build(f"t{number:05}", len(rest) + 1) for number in range(shard_paths)]
        pair.measure_daily(tables, first)
        found = {
            "one worker": [pair.measure_daily(tables, each, workers=1) for each in rest[:RUNS]],
            "workers": [pair.measure_daily(tables, each) for each in rest[RUNS : 2 * RUNS]],
            f"workers, {latency * 1000:g} ms": [
                pair.measure_daily(tables, each, latency=latency) for each in rest[2 * RUNS : 3 * RUNS]
            ],
            "nothing to do": nothing_to_do(pair, tables, first),
            f"nothing, {latency * 1000:g} ms": nothing_to_do(pair, tables, first, latency),
        }
    for name, runs in found.items():
        print_runs(name, runs, shard_paths)
    OUTPUT.parent.mkdir(exist_ok=True)
    told = {name: [asdict(each) for each in runs] for name, runs in found.items()}
    OUTPUT.write_text(json.dumps({"shard_paths": shard_paths, "runs": told}, indent=2) + "\n")


def nothing_to_do(
    pair: Pair, tables: Sequence[Table], partition: str, latency: float = 0.0
) -> list[DailyRun]:
    """The run over partitions that are cold already."""
    return [pair.measure_daily(tables, partition, latency=latency) for _run in range(RUNS)]


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
        f"{name:<20} {rate:,.1f} shard paths/s, {requests:.1f} requests each,"
        f" {max(each.peak_rss_mb for each in runs):.0f} MB at most\n"
        f"{'':<20} CPU: {client * 1000:.1f} ms each in the client, {servers * 1000:.1f} in the servers",
        flush=True,
    )


if __name__ == "__main__":
    main()
