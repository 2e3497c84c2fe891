# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures a move of many large shard paths at full speed, in one process and in several.

Prints each rate as a share of that of a client which only sends the requests of such a move. For figures to
keep, run it on a machine that does nothing else. Environment: SHARD_PATHS (20), PARTITIONS (1000) of one part
in each, on three replicas; PROCESSES (2); RUNS (5).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

from benchmark.machine import this_machine
from benchmark.pair import IN_SERVICE, REPLICAS, Pair, running_pair
from benchmark.spread import RUNS, Spread

SHARD_PATHS = int(os.environ.get("SHARD_PATHS") or 20)
PARTITIONS = int(os.environ.get("PARTITIONS") or 1000)
PROCESSES = int(os.environ.get("PROCESSES") or 2)
_NUMBERS = count()


def main() -> None:
    """Measure and print."""
    parts = SHARD_PATHS * PARTITIONS * len(REPLICAS)
    print(
        f"Moves of {parts:,} parts of {SHARD_PATHS} shard paths at full speed.\n"
        f"Each figure is the median of {RUNS} runs, followed by the lowest and the highest.\n\n"
        f"{this_machine()} Members have {' '.join(IN_SERVICE)}.\n",
        flush=True,
    )
    with running_pair(cold_members=1, jvm=IN_SERVICE) as pair:
        pair.warm_up()
        alone = Spread.of(_alone(pair))
        print(f"{'the requests alone, one client':<34}{alone:,.0f} parts/s", flush=True)
        for processes in (1, PROCESSES):
            runs = [_planned(pair, processes) for _run in range(RUNS)]
            rate = Spread.of(parts / seconds for seconds, _cpu in runs)
            cpu = Spread.of(10_000 * taken / parts for _seconds, taken in runs)
            print(
                f"{f'the move, processes {processes}':<34}{rate:,.0f} parts/s,"
                f" {rate.median / alone.median:.0%} of that; CPU of the client: {cpu:.2f} s for 10,000 parts",
                flush=True,
            )


def _alone(pair: Pair) -> Iterator[float]:
    for _run in range(RUNS):
        client = pair.measure_requests(pair.build(f"alone_{next(_NUMBERS)}", 10_000)).client
        yield client.parts / client.seconds


def _planned(pair: Pair, processes: int) -> tuple[float, float]:
    """Build and move all; return seconds, and CPU seconds of the client."""
    tables = [pair.build(f"fleet_{next(_NUMBERS):06}", PARTITIONS) for _table in range(SHARD_PATHS)]
    partitions = [(table.path, each) for table in tables for each in table.options.partitions]
    run = pair.planned(partitions, processes=processes)()
    return run.seconds, run.client_cpu_seconds


if __name__ == "__main__":
    main()
