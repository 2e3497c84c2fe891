# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures how the time of a move grows: with the parts of one shard path, shard paths, and latency.

Each size is moved at full speed and with the default `latency_target`, near and far away. From these times
the constants of `_partmove/run/duration.py` are fitted. Prints the times, the constants, and for each time
what the fitted constants and those in the code predict, as a share of the measured time. Writes
build/bench-growth.json and a picture, build/bench-growth.svg.

For figures to keep, run it on a machine that does nothing else. Environment: MOST_PARTS (100000) from 10,000
and MOST_SHARD_PATHS (1000) from 1, which are reached by factors of ten; LATENCIES_MS ("0,2,5,10") of each
packet, so that a round trip takes twice as long; RUNS (1) of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.duration import (
    FULL_SPEED,
    WITH_TARGET,
    Speed,
)
from benchmark.growth import TOLERANCE, Row, Setting, first_and_daily, fitted, tables_moved
from benchmark.growth_plot import picture
from benchmark.machine import this_machine
from benchmark.pair import REPLICAS, Pair, running_pair

OUTPUT = Path("build/bench-growth.json")
PICTURE = OUTPUT.with_suffix(".svg")
FEWEST_PARTS = 10_000
TARGET = 0.005
"""The default of the option ``latency_target``."""
SPEEDS = {0.0: ("FULL_SPEED", FULL_SPEED), TARGET: ("WITH_TARGET", WITH_TARGET)}
_OWN_SERVERS = 300_000
"""Parts of a shard path from which on each move has servers of its own, because of the heap."""
_FIRST_MOVES = 100
"""The most shard paths that are made for each setting: building them takes longer than moving them."""

Pairs = Callable[[], AbstractContextManager[Pair]]


@dataclass(frozen=True)
class Grid:
    """What is measured: each size in each setting."""

    parts: Sequence[int]
    """Of one shard path."""
    shard_paths: Sequence[int]
    """With one partition each to move."""
    mixed: tuple[int, int]
    """Shard paths, and partitions of each, of a move that the constants do not depend on."""
    settings: Sequence[Setting]
    runs: int


def main() -> None:
    """Measure, print and write down."""
    latencies = [float(each) / 1000 for each in os.environ.get("LATENCIES_MS", "0,2,5,10").split(",")]
    grid = Grid(
        parts=[*_tens(FEWEST_PARTS, int(os.environ.get("MOST_PARTS") or 100_000))],
        shard_paths=[*_tens(1, int(os.environ.get("MOST_SHARD_PATHS") or 1_000))],
        mixed=(20, 100),
        settings=[Setting(*each) for each in product((0.0, TARGET), latencies)],
        runs=int(os.environ.get("RUNS") or 1),
    )
    print(f"Growth: moves of {len(REPLICAS)} replicas, {grid.runs} of each.\n{this_machine()}\n", flush=True)
    rows = []
    for row in measured(grid):
        print(_measured_line(row), flush=True)
        rows.append(row)
    speeds = {target: fitted(_of(rows, target), speed) for target, (_name, speed) in SPEEDS.items()}
    print_check(rows, speeds)
    OUTPUT.parent.mkdir(exist_ok=True)
    found = {
        "machine": this_machine(),
        "speeds": {SPEEDS[target][0]: speed._asdict() for target, speed in speeds.items()},
        "rows": [asdict(row) | {"work": row.work._asdict()} for row in rows],
    }
    OUTPUT.write_text(json.dumps(found, indent=2) + "\n")
    PICTURE.write_text(picture(rows, speeds))
    print(f"\n{this_machine()}\nWritten to {OUTPUT} and {PICTURE}")


@contextmanager
def warm_pair() -> Iterator[Pair]:
    """Give servers that have done such work before."""
    with running_pair(cold_members=1) as pair:
        pair.warm_up()
        yield pair


def measured(grid: Grid, pairs: Pairs = warm_pair) -> Iterator[Row]:
    """Yield the rows."""
    large = [each for each in grid.parts if each >= _OWN_SERVERS]
    with pairs() as pair:
        for setting in grid.settings:
            for shard_paths in grid.shard_paths:
                if shard_paths <= _FIRST_MOVES:
                    yield from first_and_daily(pair, shard_paths, [setting], grid.runs)
            for parts in grid.parts:
                if parts not in large:
                    yield tables_moved(pair, 1, parts // len(REPLICAS), setting, grid.runs)
            yield tables_moved(pair, *grid.mixed, setting, grid.runs, is_fitted=False)
        for shard_paths in grid.shard_paths:
            if shard_paths > _FIRST_MOVES:
                yield from first_and_daily(pair, shard_paths, grid.settings, grid.runs)
    for parts, setting in product(large, grid.settings):
        with pairs() as pair:
            yield tables_moved(pair, 1, parts // len(REPLICAS), setting, grid.runs)


def print_check(rows: Sequence[Row], speeds: dict[float, Speed]) -> None:
    """Print the fitted constants, and how well they predict what was measured."""
    for target, speed in speeds.items():
        name, known = SPEEDS[target]
        own = _of(rows, target)
        print(f"\n{name} = Speed({', '.join(f'{value:.3g}' for value in speed)})")
        print(f"{'':60} measured  fitted  in the code")
        for row in own:
            marks = [] if row.is_predicted(speed) else [f"outside {TOLERANCE:.0%}"]
            marks += [] if row.is_fitted else ["not fitted"]
            ratios = f"{row.ratio(speed):7.2f} {row.ratio(known):12.2f}"
            print(f"{_size(row):60} {row.seconds.median:6.2f} s {ratios}  {', '.join(marks)}".rstrip())
        for words, constants in (("the fitted constants", speed), ("the constants in the code", known)):
            within = sum(row.is_predicted(constants) for row in own)
            print(f"{words}: {within} of {len(own)} times predicted within {TOLERANCE:.0%}")


def _of(rows: Sequence[Row], target: float) -> list[Row]:
    return [row for row in rows if row.setting.latency_target == target]


def _measured_line(row: Row) -> str:
    target = "default" if row.setting.latency_target else "full speed"
    rate = max(row.work.parts, row.work.shard_paths) / row.seconds.median
    return (
        f"{target:<10} {_size(row):60} {row.seconds:.2f} s, {rate:,.0f} parts/s,"
        f" {row.work.shard_paths / row.seconds.median:,.1f} shard paths/s, {row.peak_rss_mb:.0f} MB"
    )


def _size(row: Row) -> str:
    work = row.work
    return (
        f"{row.setting.round_trip * 1000:g} ms round trip, {row.kind}, {work.shard_paths:,} shard paths,"
        f" {work.parts:,.0f} parts"
    )


def _tens(first: int, most: int) -> Iterator[int]:
    while first <= most:
        yield first
        first *= 10


if __name__ == "__main__":
    main()
