# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what inserts notice of a move, with the default `latency_target` and at full speed.

Prints a table: a steady load of inserts, an ensemble of one and of three members, without and with latency of
the network. Then the load rises tenfold in the middle of a move and falls again: throughput and latency over
time are in a picture. Writes build/bench-inserts.json and build/bench-inserts.svg.

For figures to keep, run it on a machine that does nothing else. Environment: RUNS (5), TABLES (20) with 1000
partitions on three replicas each, SECONDS (6) without a move, PHASE (10), the seconds of each load in the
picture, RATE (100), the inserts a second at its begin and end, PICTURE (empty; anything else draws only the
picture).
"""

from __future__ import annotations

import json
import os
import threading
import time
from bisect import bisect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from statistics import median

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
RATE = int(os.environ.get("RATE") or 100)
MEMBERS, LATENCIES, RATES = (1, 3), (0.0, 0.002), (100, 1000)
JVM = (*IN_SERVICE, "-XX:MaxGCPauseMillis=10")
"""With the default, 200 ms, pauses of the collector alone take longer than what is measured here."""
PHASE = float(os.environ.get("PHASE") or 10)
_SAMPLE_SECONDS = 0.1
_BUCKET_SECONDS = 0.5
_RATE_SECONDS = 2.0
"""Parts are counted over so long: many are moved at one moment."""
_STEADY = 0.25
"""A rate that differs from another by this share at most has reached it."""
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
    if not os.environ.get("PICTURE"):
        measure_all()
    with running_pair(cold_members=1, jvm=JVM) as pair:
        pair.warm_up()
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(reaction(pair))
    print(f"Written to {PICTURE}")


def measure_all() -> None:
    """Measure all situations, print them and write them down."""
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
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(found, indent=2) + "\n")
    print(f"\nWritten to {OUTPUT}")


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
    """Return the picture of a move during which the load rises tenfold, and falls; print its figures."""
    planned = _tables(pair, 4 * TABLES)
    move = pair.planned(planned, latency_target=TARGET)
    samples: list[tuple[float, float]] = []
    moved = threading.Event()

    def run() -> None:
        move()
        moved.set()

    print(f"A move while the load rises tenfold and falls.\n{this_machine()}", flush=True)
    with inserting([member.address for member in pair.hot.members]) as inserts:
        inserts.rate(RATE)
        time.sleep(1)
        with _sampled(pair, samples):
            mover = threading.Thread(target=run)
            mover.start()
            # The run reads first; then its window grows.
            while not moved.is_set() and not (samples and samples[-1][1] < samples[0][1] - PARTITIONS):
                time.sleep(_SAMPLE_SECONDS)
            time.sleep(PHASE / 2)
            begin = time.monotonic()
            for rate in (RATE, 10 * RATE, RATE):
                inserts.rate(rate)
                time.sleep(PHASE)
            end = time.monotonic()
            if moved.is_set():
                print("The move ended too early for the picture: use more TABLES, or a shorter PHASE")
            mover.join()
    rates = _rates(samples, len(planned) * len(REPLICAS), begin, end)
    buckets = int((end - begin) / _BUCKET_SECONDS)
    starts = [begin + number * _BUCKET_SECONDS for number in range(buckets)]
    slowest = [
        (start - begin + _BUCKET_SECONDS / 2, _p99(inserts.between(start, start + _BUCKET_SECONDS)))
        for start in starts
    ]
    _print_reaction(rates, [inserts.between(begin + at * PHASE, begin + (at + 1) * PHASE) for at in range(3)])
    return plot_lines(
        "A move while the load of inserts rises tenfold and falls",
        [
            Panel("parts moved per second", rates),
            Panel("insert, 99th percentile of each half second, ms", slowest),
        ],
        [Phase(PHASE, 2 * PHASE, f"{10 * RATE:,} inserts/s, otherwise {RATE:,}")],
    )


def _rates(
    samples: Sequence[tuple[float, float]], parts: int, begin: float, end: float
) -> list[tuple[float, float]]:
    """Return seconds since the begin, and the parts a second around this time.

    A part counts half once it is copied to cold, and half once it is removed from hot: many are removed at
    one moment.

    samples: as of `_sampled`, from before the move to after it. Their difference stands for all parts.
    """
    of_a_znode = parts / (samples[0][1] - samples[-1][1])
    times = [at for at, _znodes in samples]
    rates = []
    for at in times:
        if begin <= at <= end:
            first = samples[max(0, bisect(times, at - _RATE_SECONDS / 2) - 1)]
            last = samples[min(len(samples), bisect(times, at + _RATE_SECONDS / 2)) - 1]
            rates.append((at - begin, max(0.0, (first[1] - last[1]) * of_a_znode / (last[0] - first[0]))))
    return rates


def _print_reaction(rates: Sequence[tuple[float, float]], inserts: Sequence[Sequence[float]]) -> None:
    """Print the rates and latencies of the three phases, and how soon the rate follows the load.

    inserts: milliseconds in each phase, sorted.
    """
    halves = [(PHASE / 2, PHASE), (1.5 * PHASE, 2 * PHASE), (2.5 * PHASE, 3 * PHASE)]
    steady = [median(rate for at, rate in rates if begin <= at < end) for begin, end in halves]
    for name, rate, took in zip(
        (f"{RATE:,}/s", f"{10 * RATE:,}/s", f"{RATE:,}/s again"), steady, inserts, strict=True
    ):
        print(
            f"{name:<12}{rate:>8,.0f} parts/s in its second half; an insert {median(took):.1f} ms,"
            f" 99th percentile {_p99(took):.1f} ms"
        )
    slow = next((at - PHASE for at, rate in rates if at >= PHASE and rate <= steady[1] * (1 + _STEADY)), None)
    fast = next(
        (at - 2 * PHASE for at, rate in rates if at >= 2 * PHASE and rate >= steady[2] * (1 - _STEADY)), None
    )
    print(f"Seconds until the rate is within {_STEADY:.0%} of the new one: down {slow}, up {fast}")


def _tables(pair: Pair, tables: int) -> list[tuple[str, str]]:
    """Build new tables; return their shard paths and partitions, sorted."""
    built = [pair.build(f"t{next(_numbers):06}", PARTITIONS) for _table in range(tables)]
    return [(table.path, each) for table in built for each in table.options.partitions]


@contextmanager
def _sampled(pair: Pair, samples: list[tuple[float, float]]) -> Iterator[None]:
    """Note the time and how many znodes hot has more than cold until the block ends."""
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            hot, cold = (int(each.members[0].monitor()["zk_znode_count"]) for each in (pair.hot, pair.cold))
            samples.append((time.monotonic(), float(hot - cold)))

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
