# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of the benchmark that measures the classification."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from benchmark.classification import HEAP, LIVE, SNAPSHOT, Classification, running_server, snapshot_of
from benchmark.measured_census import CensusMeasurement
from benchmark.measured_inventory import Reading
from benchmark.spread import RUNS, Spread
from support.files.snapshot_files import GeneratedTree

PARTS = 1_000_000
MANY_PARTS = 5_000_000
CORES = (1, 2)
TARGETS = {SNAPSHOT: 200_000, LIVE: 25_000}
"""Znodes per second that reading has to reach in one process."""
TITLES = {
    SNAPSHOT: f"Snapshot of {PARTS:,} part znodes, one process",
    LIVE: f"Server with {PARTS:,} part znodes, one session",
}

T = TypeVar("T")


def measure_classification() -> dict[str, Any]:
    """Measure and print.

    Raises:
        RuntimeError: not every part was read, or two plans of one tree differ.
    """
    print(
        f"\nClassification of {PARTS:,} part znodes: {_tree(PARTS).shard_paths} shard paths of "
        f"{_tree(PARTS).replicas} replicas and {_tree(PARTS).partitions:,} partitions.",
        flush=True,
    )
    with snapshot_of(_tree(MANY_PARTS)) as scene:
        readings = {
            f"Snapshot of {MANY_PARTS:,} part znodes, {processes} process(es)": repeat(
                partial(scene.read, processes=processes), SNAPSHOT
            )
            for processes in CORES
        }
        whole_many = [scene.classify(SNAPSHOT, CORES[-1]) for _run in range(RUNS)]
    censuses: dict[str, list[CensusMeasurement]] = {}
    with snapshot_of(_tree(PARTS)) as scene:
        archives = [scene.folder / f"{number}.jsa" for number in range(RUNS)]
        whole = [scene.classify(SNAPSHOT, CORES[-1], archive) for archive in archives]
        # Of files with no server beside, which none needs.
        for source, running in (SNAPSHOT, nullcontext(scene)), (LIVE, running_server(scene)):
            with running as place:
                # Else the first would be of a server that has compiled nothing.
                place.read(source)
                readings[TITLES[source]] = repeat(place.read, source)
                censuses[source] = repeat(place.census, source)
                whole += [place.classify(source, cores) for cores in CORES for _run in range(RUNS)]
                whole += [place.classify(source, CORES[-1], archives[0]) for _run in range(RUNS)]
    require_one_plan(whole)
    require_one_plan(whole_many)
    for title, runs in readings.items():
        _print_readings(title, runs)
    print_classifications([*whole, *whole_many])
    for source, counted in censuses.items():
        _print_censuses(source, counted)
    for source, title in TITLES.items():
        _print_verdict(source, readings[title])
    return {
        "readings": {title: _summary(runs) for title, runs in readings.items()},
        "whole": [asdict(each) for each in [*whole, *whole_many]],
        "census": {source: _summary(runs) for source, runs in censuses.items()},
        "heap_of_the_server": HEAP,
    }


def repeat(measured: Callable[[str], T], source: str) -> list[T]:
    """Measure it of a source as often as a figure needs."""
    return [measured(source) for _run in range(RUNS)]


def require_one_plan(runs: Sequence[Classification]) -> None:
    """Refuse runs whose plans have different rows.

    Raises:
        RuntimeError: they do.
    """
    if len({each.rows_digest for each in runs}) != 1:
        raise RuntimeError(f"the plans of one tree differ: {runs}")


def print_classifications(runs: Iterable[Classification]) -> None:
    """A line for those that differ in nothing but time."""
    seconds: dict[tuple[str, int, int, str], list[float]] = defaultdict(list)
    for each in runs:
        seconds[each.source, each.parts, each.cores, each.archive].append(each.seconds)
    print("\nWhole classification, from the start of Python to the plan")
    for (source, parts, cores, archive), taken in seconds.items():
        told = f"  an archive of classes was {archive}" if archive else ""
        print(f"  {source:<20}{parts:>10,} parts  local[{cores}]  {Spread.of(taken):.1f} s{told}")
    print("  Those of the same parts wrote the same plan.", flush=True)


def _tree(parts: int) -> GeneratedTree:
    return GeneratedTree(parts=parts)


def _rate(runs: Sequence[Reading] | Sequence[CensusMeasurement]) -> Spread:
    return Spread.of(each.znodes / each.seconds for each in runs)


def _summary(runs: Sequence[Reading] | Sequence[CensusMeasurement]) -> dict[str, Any]:
    return {"znodes_per_second": _rate(runs)._asdict(), "runs": [asdict(each) for each in runs]}


def _print_readings(title: str, runs: Sequence[Reading]) -> None:
    print(
        f"\n{title}\n"
        f"  {_rate(runs):,.0f} znodes/s: {runs[0].znodes:,} znodes in"
        f" {Spread.of(each.seconds for each in runs):.2f} s\n"
        f"  {max(each.peak_rss_mb for each in runs):.0f} MB at most,"
        f" {runs[0].idle_rss_mb:.0f} MB of that before the reading",
        flush=True,
    )


def _print_censuses(source: str, runs: Sequence[CensusMeasurement]) -> None:
    print(
        f"\nCensus of the same tree, every znode of it: {source}\n"
        f"  {_rate(runs):,.0f} znodes/s: {runs[0].znodes:,} in {Spread.of(r.seconds for r in runs):.2f} s,"
        f" {max(each.peak_rss_mb for each in runs):.0f} MB at most",
        flush=True,
    )


def _print_verdict(source: str, runs: Sequence[Reading]) -> None:
    met = _rate(runs).median >= TARGETS[source]
    print(f"The target of {TARGETS[source]:,} znodes/s from {source} was {'met' if met else 'not met'}.")
