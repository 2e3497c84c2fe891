# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what a move is good for: an ensemble before nine of ten partitions are cold, meanwhile, and after.

Prints a summary, and writes build/bench-effect.json and a picture, build/bench-effect.svg. For figures to
keep, run it on a machine that does nothing else. Environment: ZNODES (1000000), WRITES (100 a second) and
SECONDS (20), for which writes are measured without a move.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmark.effect import Latency, SteadyWrites, Weight, weigh
from benchmark.effect_plot import Bars, plot, shown
from benchmark.pair import REPLICAS, Pair, running_pair
from support.memory.tables import Table, activate

OUTPUT = Path("build/bench-effect.json")
PICTURE = OUTPUT.with_suffix(".svg")
PARTITIONS = 1000
COLD_SHARE = 0.9
SERIES = ("before", "while moved", "after")


@dataclass(frozen=True)
class Effect:
    """What was measured; `moving` is while partitions were moved.

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
        f" second.\n{os.cpu_count()} cores, Python {platform.python_version()}, load average"
        f" {os.getloadavg()[0]:.2f}; all servers and clients run on this machine.\n",
        flush=True,
    )
    with running_pair(cold_members=1) as pair:
        effect = measure(pair, tables_for(pair, znodes), pace, seconds)
    print_effect(effect)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(asdict(effect), indent=2) + "\n")
    PICTURE.write_text(picture(effect))
    print(f"\nWritten to {OUTPUT} and {PICTURE}")


def tables_for(pair: Pair, znodes: int, partitions: int = PARTITIONS) -> list[Table]:
    """Tables whose znodes are about so many: parts of each replica, and a block number each partition."""
    count = max(znodes // (partitions * (len(REPLICAS) + 1)), 1)
    return [pair.build(f"t{number:05}", partitions) for number in range(count)]


def measure(pair: Pair, tables: Sequence[Table], pace: float, seconds: float) -> Effect:
    """Weigh hot, move, and weigh it again; raises RuntimeError where a partition is not moved."""
    cold = round(len(tables[0].options.partitions) * COLD_SHARE)
    wanted = [(table.path, each) for table in tables for each in table.options.partitions[:cold]]
    move = pair.planned(wanted)
    # Else it would wait for the restart, and it is what keeps the replicas active.
    pair.hot_client.stop()
    before = weigh(pair.hot)
    pair.hot_client.start()
    for table in tables:
        for replica in REPLICAS:
            activate(table, replica)
    quiet = _steady(pair, pace, seconds)
    writes = SteadyWrites(pair.hot.connect_string, pace)
    with writes.running():
        begin = time.perf_counter()
        move()
        move_seconds = time.perf_counter() - begin
    again = _steady(pair, pace, seconds)
    pair.hot_client.stop()
    after = weigh(pair.hot)
    return Effect(before, after, len(wanted) * len(REPLICAS), move_seconds, (quiet, again), writes.latency())


def _steady(pair: Pair, pace: float, seconds: float) -> Latency:
    writes = SteadyWrites(pair.hot.connect_string, pace)
    with writes.running():
        time.sleep(seconds)
    return writes.latency()


def print_effect(effect: Effect) -> None:
    """A table of what was before and after."""
    print(f"{'':<28}" + "".join(f"{name:>14}" for name in SERIES))
    for bars in _figures(effect):
        name = f"{bars.name}, {bars.unit}" if bars.unit else bars.name
        values = ("" if value is None else shown(value) for value in bars.values)
        print(f"{name:<28}" + "".join(f"{value:>14}" for value in values))
    print(
        f"\n{effect.parts:,} parts were moved in {effect.move_seconds:.1f} s,"
        f" {effect.parts / effect.move_seconds:,.0f} parts/s beside {effect.moving.writes:,} writes,"
        f" {effect.moving.late} of them late"
    )


def picture(effect: Effect) -> str:
    """The same as bars."""
    return plot("The hot ensemble before a move, meanwhile, and after", SERIES, _figures(effect))


def _figures(effect: Effect) -> list[Bars]:
    weights = (effect.before, None, effect.after)
    latencies = (effect.unloaded[0], effect.moving, effect.unloaded[1])
    return [
        Bars("znodes", "", [float(each.znodes) if each else None for each in weights]),
        Bars("snapshot", "MiB", [each.snapshot_mb if each else None for each in weights]),
        Bars("restart", "s", [each.restart_seconds if each else None for each in weights]),
        Bars("heap in use", "MiB", [each.heap_mb if each else None for each in weights]),
        Bars("write, median", "ms", [each.median for each in latencies]),
        Bars("write, 99 of 100", "ms", [each.p99 for each in latencies]),
        Bars("write, worst", "ms", [each.worst for each in latencies]),
    ]


if __name__ == "__main__":
    main()
