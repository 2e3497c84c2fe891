# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of the benchmark that measures the classification."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmark.classification import HEAP, LIVE, SNAPSHOT, Classification, running_server, snapshot_of
from benchmark.measured_census import CensusMeasurement
from benchmark.measured_inventory import Reading
from support.files.snapshot_files import GeneratedTree

PARTS = 1_000_000
MANY_PARTS = 5_000_000
CORES = (1, 2)
TARGETS = {SNAPSHOT: 200_000, LIVE: 25_000}
"""Znodes per second that reading has to reach in one process."""


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
        many = scene.read(SNAPSHOT)
        _print_reading(f"Snapshot of {MANY_PARTS:,} part znodes, one process", many)
        whole_many = scene.classify(SNAPSHOT, CORES[-1])
    with snapshot_of(_tree(PARTS)) as scene:
        snapshot = scene.read(SNAPSHOT)
        _print_reading(f"Snapshot of {PARTS:,} part znodes, one process", snapshot)
        censuses = {SNAPSHOT: scene.census(SNAPSHOT)}
        with running_server(scene) as running:
            live = running.read(LIVE)
            _print_reading(f"Server with {PARTS:,} part znodes, one session", live)
            censuses[LIVE] = running.census(LIVE)
            runs = [running.classify(source, cores) for source in (SNAPSHOT, LIVE) for cores in CORES]
            archive = scene.folder / "spark.jsa"
            runs += [running.classify(source, CORES[-1], archive) for source in (SNAPSHOT, SNAPSHOT, LIVE)]
    require_one_plan(runs)
    _print_runs([*runs, whole_many])
    _print_censuses(censuses)
    _print_verdict({SNAPSHOT: snapshot, LIVE: live})
    return {
        "snapshot_many": _as_json(many),
        "snapshot": _as_json(snapshot),
        "live": _as_json(live),
        "whole": [asdict(each) for each in [*runs, whole_many]],
        "census": {source: _as_json(each) for source, each in censuses.items()},
        "heap_of_the_server": HEAP,
    }


def require_one_plan(runs: list[Classification]) -> None:
    """Refuse runs whose plans have different rows.

    Raises:
        RuntimeError: they do.
    """
    if len({each.rows_digest for each in runs}) != 1:
        raise RuntimeError(f"the plans of one tree differ: {runs}")


def _tree(parts: int) -> GeneratedTree:
    return GeneratedTree(parts=parts)


def _rate(reading: Reading | CensusMeasurement) -> float:
    return reading.znodes / reading.seconds


def _as_json(reading: Reading | CensusMeasurement) -> dict[str, Any]:
    return asdict(reading) | {"znodes_per_second": _rate(reading)}


def _print_reading(title: str, reading: Reading) -> None:
    print(
        f"\n{title}\n"
        f"  {_rate(reading):,.0f} znodes/s: {reading.znodes:,} znodes in {reading.seconds:.2f} s\n"
        f"  {reading.peak_rss_mb:.0f} MB at most, {reading.idle_rss_mb:.0f} MB of that before the reading",
        flush=True,
    )


def _print_runs(runs: list[Classification]) -> None:
    print("\nWhole classification, from the start of Python to the plan")
    for each in runs:
        archive = f"  an archive of classes was {each.archive}" if each.archive else ""
        print(
            f"  {each.source:<20}{each.parts:>10,} parts  local[{each.cores}]{each.seconds:>9.1f} s{archive}"
        )
    print("  Those of the same parts wrote the same plan.", flush=True)


def _print_censuses(censuses: dict[str, CensusMeasurement]) -> None:
    print("\nCensus of the same tree, every znode of it")
    for source, each in censuses.items():
        print(
            f"  {source:<20}{_rate(each):>9,.0f} znodes/s: {each.znodes:,} in {each.seconds:.2f} s,"
            f" {each.peak_rss_mb:.0f} MB at most",
            flush=True,
        )


def _print_verdict(readings: dict[str, Reading]) -> None:
    for source, reading in readings.items():
        met = _rate(reading) >= TARGETS[source]
        print(f"The target of {TARGETS[source]:,} znodes/s from {source} was {'met' if met else 'not met'}.")
