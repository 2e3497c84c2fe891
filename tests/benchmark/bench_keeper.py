# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures a census of a snapshot of ClickHouse Keeper, beside one of the same tree in files of ZooKeeper.

The files are generated, with the znodes in no order; no Keeper runs. Environment: PARTS (2,000,000) and RUNS
(5), each in a process of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.classification import measured_census
from benchmark.machine import this_machine
from benchmark.measured_census import CensusMeasurement
from benchmark.spread import RUNS, Spread
from support.files.keeper_snapshots import KeeperSnapshotFile, write_generated_keeper
from support.files.snapshot_files import GeneratedTree

KINDS = ("ZooKeeper", "Keeper")


def main() -> None:
    """Measure and print."""
    parts = int(os.environ.get("PARTS") or 2_000_000)
    with tempfile.TemporaryDirectory(prefix="bench-keeper-") as name:
        folder = Path(name)
        size = write(folder, parts)
        print(f"A snapshot of {size / 1e6:,.1f} MB, zstd, version 6.\n{this_machine()}\n", flush=True)
        report(measure(folder, RUNS))


def write(folder: Path, parts: int) -> int:
    """Write a tree with so many part znodes in both forms; return the size of Keeper's file in bytes."""
    tree = GeneratedTree(parts=parts)
    return write_generated_keeper(folder, tree, KeeperSnapshotFile()).stat().st_size


def measure(folder: Path, runs: int) -> Mapping[str, Sequence[CensusMeasurement]]:
    """Take so many censuses of each form, in turn. Raises RuntimeError if they count differently."""
    found: dict[str, list[CensusMeasurement]] = {kind: [] for kind in KINDS}
    for _run in range(runs):
        for kind, place in zip(KINDS, (folder / "zookeeper", folder), strict=True):
            found[kind].append(measured_census("zookeeper_snapshot", {"data_dir": str(place)}))
    counts = {each.znodes for several in found.values() for each in several}
    if len(counts) > 1:
        raise RuntimeError(f"the censuses count {sorted(counts)} znodes")
    return found


def report(measured: Mapping[str, Sequence[CensusMeasurement]]) -> None:
    """Print time, rate and memory of each form."""
    for kind, several in measured.items():
        seconds = Spread.of(each.seconds for each in several)
        cpu = Spread.of(each.cpu_seconds for each in several)
        rate = Spread.of(each.znodes / each.cpu_seconds for each in several)
        print(f"{kind}: {several[0].znodes:,} znodes")
        print(f"  by the clock       {seconds:.1f} s, {len(several)} runs")
        print(f"  of the processor   {cpu:.1f} s, {rate:,.0f} znodes/s")
        print(f"  memory             {Spread.of(each.peak_rss_mb for each in several):.0f} MiB at most")


if __name__ == "__main__":
    main()
