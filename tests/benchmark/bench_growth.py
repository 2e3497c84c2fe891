# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures how the cost of a move grows: with the parts of one shard path, and with the shard paths.

Prints a summary, and writes build/bench-growth.json and a picture, build/bench-growth.svg. For figures to
keep, run it on a machine that does nothing else. Environment: MOST_PARTS (1000000) and MOST_SHARD_PATHS
(10000), which are reached by factors of ten, and RUNS (5) of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmark.effect_plot import Bars, plot
from benchmark.machine import this_machine
from benchmark.pair import REPLICAS, Pair, running_pair
from benchmark.spread import RUNS, Spread

OUTPUT = Path("build/bench-growth.json")
PICTURE = OUTPUT.with_suffix(".svg")
FEWEST_PARTS = 10_000

Pairs = Callable[[], AbstractContextManager[Pair]]


@dataclass(frozen=True)
class Size:
    """What so many runs that moved so many things took."""

    count: int
    runs: int
    per_second: Spread
    peak_rss_mb: float


@dataclass(frozen=True)
class Growth:
    """What was measured, from small to large."""

    parts: Sequence[Size]
    """Of one shard path."""
    shard_paths: Sequence[Size]
    """With one partition each to move."""


def main() -> None:
    """Measure, print and write down."""
    most_parts = int(os.environ.get("MOST_PARTS", "1000000"))
    most_shard_paths = int(os.environ.get("MOST_SHARD_PATHS", "10000"))
    print(
        f"Growth: moves of {len(REPLICAS)} replicas, of one large shard path and of many small ones.\n"
        f"{this_machine()}\n",
        flush=True,
    )
    growth = measure([*_tens(FEWEST_PARTS, most_parts)], [*_tens(1, most_shard_paths)], RUNS)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(asdict(growth), indent=2) + "\n")
    PICTURE.write_text(picture(growth))
    print(f"\nWritten to {OUTPUT} and {PICTURE}")


@contextmanager
def warm_pair() -> Iterator[Pair]:
    """Servers of their own for a size, so that none has to do with what is left of another; they are warm."""
    with running_pair(cold_members=1) as pair:
        pair.warm_up()
        yield pair


def measure(parts: Sequence[int], shard_paths: Sequence[int], runs: int, pairs: Pairs = warm_pair) -> Growth:
    """Move tables of about so many parts, and one partition each of so many shard paths, many times each."""
    return Growth(
        _measured(parts, runs, "parts of one shard path", _one_shard_path, pairs),
        _measured(shard_paths, runs, "shard paths", _many_shard_paths, pairs),
    )


def picture(growth: Growth) -> str:
    """The medians as bars."""
    rates = [
        *(Bars(f"{size.count:,} parts", "parts/s", [size.per_second.median]) for size in growth.parts),
        *(
            Bars(f"{size.count:,} shard paths", "shard paths/s", [size.per_second.median])
            for size in growth.shard_paths
        ),
    ]
    return plot("How fast a move is, by the parts of one shard path and by shard paths", ["median"], rates)


def _measured(
    counts: Sequence[int],
    runs: int,
    things: str,
    measured: Callable[[Pair, int, int], tuple[float, float]],
    pairs: Pairs,
) -> list[Size]:
    sizes = []
    for count in counts:
        found: list[tuple[float, float]] = []
        # A server would have more znodes after five runs of the largest than its heap has room for.
        for at_once in [1] * runs if count == counts[-1] else [runs]:
            with pairs() as pair:
                found += [measured(pair, count, len(found) + number) for number in range(at_once)]
        rates, peaks = zip(*found, strict=True)
        sizes.append(Size(count, len(rates), Spread.of(rates), max(peaks)))
        print_size(things, sizes[-1])
    return sizes


def _one_shard_path(pair: Pair, parts: int, run: int) -> tuple[float, float]:
    """Parts moved in a second, and the memory that took."""
    moved = pair.measure(pair.build(f"large_{parts}_{run}", max(parts // len(REPLICAS), 1)))
    return moved.parts / moved.seconds, moved.peak_rss_mb


def _many_shard_paths(pair: Pair, shard_paths: int, run: int) -> tuple[float, float]:
    """Shard paths done in a second, and the memory that took."""
    tables = [pair.build(f"small_{shard_paths}_{run}_{number:05}", 2) for number in range(shard_paths)]
    moved = pair.measure_daily(tables, tables[0].options.partitions[0])
    if moved.moved != shard_paths:
        raise RuntimeError(f"{moved.moved} of {shard_paths} partitions were moved")
    return shard_paths / moved.seconds, moved.peak_rss_mb


def print_size(things: str, size: Size) -> None:
    """One line: the median, the spread and the memory."""
    print(
        f"{size.count:>10,} {things:<24} {size.per_second:,.1f} a second, {size.runs} runs,"
        f" {size.peak_rss_mb:.0f} MB at most",
        flush=True,
    )


def _tens(first: int, most: int) -> Iterator[int]:
    while first <= most:
        yield first
        first *= 10


if __name__ == "__main__":
    main()
