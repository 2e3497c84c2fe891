# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what a move is good for: an ensemble before nine of ten partitions are cold, meanwhile, and after.

Prints a summary, and writes build/bench-effect.json and a picture, build/bench-effect.svg. For figures to
keep, run it on a machine that does nothing else. Environment: ZNODES (1000000), WRITES (100 a second),
SECONDS (20), for which writes are measured without a move, and RUNS (5), each on servers of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from benchmark.effect import Latency, SteadyWrites, Weight, weigh
from benchmark.effect_plot import Bars, plot, shown
from benchmark.machine import this_machine
from benchmark.pair import REPLICAS, Pair, running_pair
from benchmark.spread import RUNS, Spread
from support.memory.tables import Table, activate

OUTPUT = Path("build/bench-effect.json")
PICTURE = OUTPUT.with_suffix(".svg")
PARTITIONS = 1000
COLD_SHARE = 0.9
WARM_UP_SHARE = 1 / 6
"""Of the tables: these are moved before anything but weights is measured, after a start of the servers."""
SERIES = ("before", "while moved", "after")


@dataclass(frozen=True)
class Effect:
    """What was measured; `moving` is while partitions were moved.

    parts: that were moved in `move_seconds`, without those that warmed the servers up.
    unloaded: the latency of the same writes without a move, before it and after.
    """

    before: Weight
    after: Weight
    parts: int
    move_seconds: float
    unloaded: tuple[Latency, Latency]
    moving: Latency


def main() -> None:
    """Measure, print and write down."""
    znodes = int(os.environ.get("ZNODES", "1000000"))
    pace = float(os.environ.get("WRITES", "100"))
    seconds = float(os.environ.get("SECONDS", "20"))
    print(
        f"Effect: about {znodes:,} znodes, {COLD_SHARE:.0%} of the partitions become cold, {pace:g} writes a"
        f" second.\n{this_machine()}\n",
        flush=True,
    )
    effects = []
    for number in range(RUNS):
        with running_pair(cold_members=1) as pair:
            effects.append(measure(pair, tables_for(pair, znodes), pace, seconds))
        print(f"run {number + 1} of {RUNS} is done", flush=True)
    print_effects(effects)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps([asdict(each) for each in effects], indent=2) + "\n")
    PICTURE.write_text(picture(effects))
    print(f"\nWritten to {OUTPUT} and {PICTURE}")


def tables_for(pair: Pair, znodes: int, partitions: int = PARTITIONS) -> list[Table]:
    """Two or more whose znodes are about so many: parts of each replica, a block number each partition."""
    count = max(znodes // (partitions * (len(REPLICAS) + 1)), 2)
    return [pair.build(f"t{number:05}", partitions) for number in range(count)]


def measure(pair: Pair, tables: Sequence[Table], pace: float, seconds: float) -> Effect:
    """Weigh hot, move, and weigh it again; raises RuntimeError where a partition is not moved."""
    cold = round(len(tables[0].options.partitions) * COLD_SHARE)
    wanted = [[(table.path, each) for each in table.options.partitions[:cold]] for table in tables]
    warm_up = max(round(len(tables) * WARM_UP_SHARE), 1)
    # Else it would wait for the restart, and it is what keeps the replicas active.
    pair.hot_client.stop()
    before = weigh(pair.hot)
    pair.hot_client.start()
    for table in tables:
        for replica in REPLICAS:
            activate(table, replica)
    pair.planned([*chain(*wanted[:warm_up])])()
    planned = [*chain(*wanted[warm_up:])]
    move = pair.planned(planned)
    quiet = _steady(pair, pace, seconds)
    writes = SteadyWrites(pair.hot.connect_string, pace)
    with writes.running():
        begin = time.perf_counter()
        move()
        move_seconds = time.perf_counter() - begin
    again = _steady(pair, pace, seconds)
    pair.hot_client.stop()
    after = weigh(pair.hot)
    return Effect(before, after, len(planned) * len(REPLICAS), move_seconds, (quiet, again), writes.latency())


def _steady(pair: Pair, pace: float, seconds: float) -> Latency:
    writes = SteadyWrites(pair.hot.connect_string, pace)
    with writes.running():
        time.sleep(seconds)
    return writes.latency()


def print_effects(effects: Sequence[Effect]) -> None:
    """A table of what was before and after: medians, the lowest and the highest."""
    print(f"\n{'':<22}" + "".join(f"{name:>32}" for name in SERIES))
    for name, unit, values in _figures(effects):
        told = ("" if value is None else _told(value) for value in values)
        print(f"{f'{name}, {unit}' if unit else name:<22}" + "".join(f"{value:>32}" for value in told))
    rate = Spread.of(each.parts / each.move_seconds for each in effects)
    writes = min(each.moving.writes for each in effects)
    late = max(each.moving.late for each in effects)
    print(
        f"\n{effects[0].parts:,} parts were moved in {Spread.of(e.move_seconds for e in effects):.1f} s,"
        f" {rate:,.0f} parts/s, {len(effects)} runs;"
        f" of {writes:,} writes beside it, or more, {late} were late at most"
    )


def picture(effects: Sequence[Effect]) -> str:
    """The medians as bars."""
    bars = [
        Bars(name, unit, [value and value.median for value in values])
        for name, unit, values in _figures(effects)
    ]
    return plot("The hot ensemble before a move, meanwhile, and after", SERIES, bars)


def _told(value: Spread) -> str:
    median, lowest, highest = map(shown, value)
    return median if lowest == highest else f"{median} ({lowest} to {highest})"


def _figures(effects: Sequence[Effect]) -> list[tuple[str, str, Sequence[Spread | None]]]:
    """Of each figure its name, its unit, and what it was in the order of the series."""

    def weights(of: Callable[[Weight], float]) -> Sequence[Spread | None]:
        return [_spread(effects, lambda e: of(e.before)), None, _spread(effects, lambda e: of(e.after))]

    def latencies(of: Callable[[Latency], float]) -> Sequence[Spread | None]:
        return [
            _spread(effects, lambda e: of(e.unloaded[0])),
            _spread(effects, lambda e: of(e.moving)),
            _spread(effects, lambda e: of(e.unloaded[1])),
        ]

    return [
        ("znodes", "", weights(lambda each: each.znodes)),
        ("snapshot", "MiB", weights(lambda each: each.snapshot_mb)),
        ("restart", "s", weights(lambda each: each.restart_seconds)),
        ("heap in use", "MiB", weights(lambda each: each.heap_mb)),
        ("write, median", "ms", latencies(lambda each: each.median)),
        ("write, 99 of 100", "ms", latencies(lambda each: each.p99)),
        ("write, worst", "ms", latencies(lambda each: each.worst)),
    ]


def _spread(effects: Sequence[Effect], of: Callable[[Effect], float]) -> Spread:
    return Spread.of(of(each) for each in effects)


if __name__ == "__main__":
    main()
