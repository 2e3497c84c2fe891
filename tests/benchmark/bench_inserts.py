# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what inserts notice of a move, with the default `latency_target` and at full speed.

Prints a table: a steady load of inserts, an ensemble of one and of three members, without and with latency of
the network. Then the load rises tenfold in the middle of a move and falls again: throughput and latency over
time are in a picture. Writes build/bench-inserts.json and build/bench-inserts.svg.

For figures to keep, run it on a machine that does nothing else. Environment: RUNS (5), TABLES (20) with 1000
partitions on three replicas each, SECONDS (6) without a move.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, pairwise, product
from pathlib import Path

from benchmark.line_plot import Panel, Phase, plot_lines
from benchmark.machine import this_machine
from benchmark.measured_inserts import inserting
from benchmark.pair import IN_SERVICE, REPLICAS, Pair, running_pair
from benchmark.spread import RUNS, Spread

OUTPUT = Path("build/bench-inserts.json")
PICTURE = OUTPUT.with_suffix(".svg")
PARTITIONS = 1000
TABLES = int(os.environ.get("TABLES") or 20)
SECONDS = float(os.environ.get("SECONDS") or 6)
TARGET = 0.005
"""The default of the option."""
MEMBERS, LATENCIES, RATES = (1, 3), (0.0, 0.002), (100, 1000)
JVM = (*IN_SERVICE, "-XX:MaxGCPauseMillis=10")
"""With the default, 200 ms, pauses of the collector alone take longer than what is measured here."""
_PHASE_SECONDS = 8.0
_SAMPLE_SECONDS = 0.25
_BUCKET_SECONDS = 0.5
_numbers = count()


@dataclass(frozen=True)
class Situation:
    """Members of hot, latency of each packet in seconds, and inserts a second."""

    members: int
    latency: float
    rate: int


@dataclass(frozen=True)
class Noticed:
    """What inserts took without a move and during one, in milliseconds; and the speed of the move."""

    quiet_p99: float
    p99: float
    worst: float
    parts_per_second: float

    @property
    def goal(self) -> float:
        """Twice the 99th percentile without a move, and 5 ms."""
        return 2 * self.quiet_p99 + 5


def main() -> None:
    """Measure, print and write down."""
    print(f"Inserts during a move of {TABLES * PARTITIONS * len(REPLICAS):,} parts.\n{this_machine()}\n")
    print(_row("members", "latency", "inserts/s", "", "without", "p99 during", "worst", "goal", "parts/s"))
    found: dict[str, list[dict[str, float]]] = {}
    for members in MEMBERS:
        with running_pair(cold_members=1, hot_members=members, jvm=JVM) as pair:
            pair.warm_up()
            for latency, rate in product(LATENCIES, RATES):
                situation = Situation(members, latency, rate)
                for name, target in (("target", TARGET), ("full speed", 0.0)):
                    runs = [measure(pair, situation, target) for _run in range(RUNS)]
                    _print(situation, name, runs)
                    found[f"{situation} {name}"] = [vars(each) for each in runs]
    with running_pair(cold_members=1, jvm=JVM) as pair:
        pair.warm_up()
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(reaction(pair))
    OUTPUT.write_text(json.dumps(found, indent=2) + "\n")
    print(f"\nWritten to {OUTPUT} and {PICTURE}")


def measure(pair: Pair, situation: Situation, target: float) -> Noticed:
    """Move new tables during inserts. Raises RuntimeError if a partition is not moved."""
    planned = _tables(pair, TABLES)
    with pair.at_distance(situation.latency) as hosts:
        move = pair.planned(planned, latency_target=target, hosts=hosts)
        with inserting(hosts["hot"]) as inserts:
            inserts.rate(situation.rate)
            time.sleep(1)
            begin = time.monotonic()
            time.sleep(SECONDS)
            run = move()
            end = time.monotonic()
    # The process of the run ends right after the run.
    during = inserts.between(end - run.seconds, end)
    quiet = inserts.between(begin, begin + SECONDS)
    return Noticed(_p99(quiet), _p99(during), during[-1], len(planned) * len(REPLICAS) / run.seconds)


def reaction(pair: Pair) -> str:
    """Return the picture of a move during which the load rises tenfold, and falls."""
    planned = _tables(pair, 4 * TABLES)
    move = pair.planned(planned, latency_target=TARGET)
    parts: list[tuple[float, float]] = []
    with inserting([member.address for member in pair.hot.members]) as inserts:
        inserts.rate(100)
        time.sleep(1)
        with _sampled(pair, parts):
            mover = threading.Thread(target=move)
            mover.start()
            begin = time.monotonic()
            for rate in (100, 1000, 100):
                inserts.rate(rate)
                time.sleep(_PHASE_SECONDS)
            end = time.monotonic()
            mover.join()
    rates = [
        (later - begin, (znodes - before) / (later - earlier))
        for (earlier, before), (later, znodes) in pairwise(parts)
        if begin < later < end
    ]
    buckets = int((end - begin) / _BUCKET_SECONDS)
    starts = [begin + number * _BUCKET_SECONDS for number in range(buckets)]
    slowest = [(start - begin, _p99(inserts.between(start, start + _BUCKET_SECONDS))) for start in starts]
    phase = Phase(_PHASE_SECONDS, 2 * _PHASE_SECONDS, "1,000 inserts/s, otherwise 100")
    return plot_lines(
        "A move while the load of inserts rises tenfold and falls",
        [Panel("parts moved per second", rates), Panel("insert, 99th percentile, ms", slowest)],
        [phase],
    )


def _tables(pair: Pair, tables: int) -> list[tuple[str, str]]:
    """Build new tables; return their shard paths and partitions, sorted."""
    built = [pair.build(f"t{next(_numbers):06}", PARTITIONS) for _table in range(tables)]
    return [(table.path, each) for table in built for each in table.options.partitions]


@contextmanager
def _sampled(pair: Pair, samples: list[tuple[float, float]]) -> Iterator[None]:
    """Note the time and the number of znodes in cold until the block ends."""
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            samples.append((time.monotonic(), float(pair.cold.members[0].monitor()["zk_znode_count"])))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _print(situation: Situation, name: str, runs: Sequence[Noticed]) -> None:
    members, latency, rate = situation.members, situation.latency, situation.rate
    print(
        _row(
            str(members),
            f"{latency * 1000:g} ms",
            str(rate),
            name,
            *(
                f"{Spread.of(values):.1f}"
                for values in (
                    [each.quiet_p99 for each in runs],
                    [each.p99 for each in runs],
                    [each.worst for each in runs],
                    [each.goal for each in runs],
                )
            ),
            f"{Spread.of(each.parts_per_second for each in runs):,.0f}",
        ),
        flush=True,
    )


def _row(*cells: str) -> str:
    widths = (8, 8, 10, 11, 20, 22, 24, 20, 26)
    return "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def _p99(ordered: Sequence[float]) -> float:
    return ordered[int((len(ordered) - 1) * 0.99)]


if __name__ == "__main__":
    main()
