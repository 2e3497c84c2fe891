# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures a move between real ensembles, the way of one request at a time, audits, and the classification.

Prints a summary and writes build/bench.json. For figures to keep, run it on a machine that does
nothing else. Environment: RUNS (5) of everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmark.bench_classification import measure_classification
from benchmark.machine import this_machine
from benchmark.measured_audit import AuditMeasurement
from benchmark.measured_move import Measurement
from benchmark.measured_requests import Requests
from benchmark.pair import IN_SERVICE, REPLICAS, Baseline, Pair, RequestsAlone, running_pair
from benchmark.spread import RUNS, Spread
from support.memory.tables import Table

PARTITIONS = 10_000
BASELINE_PARTITIONS = 1_000
TARGET_PARTS_PER_SECOND = 20_000
TARGET_MB = 300

OUTPUT = Path("build/bench.json")


def main() -> None:
    """Measure, print and write down."""
    machine = this_machine()
    print(
        f"Move of one shard path: {len(REPLICAS)} replicas x {PARTITIONS:,} partitions of one part. Each\n"
        "part is read, judged by every gate, copied, compared on every cold member and switched.\n"
        f"Each figure is the median of {RUNS} runs, followed by the lowest and the highest.\n\n"
        f"{machine} Members have {' '.join(IN_SERVICE)}.",
        flush=True,
    )
    with running_pair(cold_members=1, jvm=IN_SERVICE) as pair:
        result = measure_one_member(pair)
    with running_pair(cold_members=1, jvm=IN_SERVICE) as pair:
        result |= measure_legacy_parts(pair)
    with running_pair(cold_members=3, jvm=IN_SERVICE) as pair:
        result |= measure_three_members(pair)
    result |= {"classification": measure_classification(), "machine": machine}
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(result, indent=2) + "\n")
    print(f"Written to {OUTPUT}.")


def measure_one_member(pair: Pair) -> dict[str, Any]:
    """Measure the move, the other way and audits; the cold ensemble has one member."""
    pair.warm_up()
    tables = _tables(pair, "move")
    moves = [pair.measure(table) for table in tables]
    _print_moves("Move", moves)
    alone = [pair.measure_requests(table) for table in _tables(pair, "alone")]
    _print_requests(alone, moves)
    baselines = [pair.measure_baseline(table, BASELINE_PARTITIONS) for table in _tables(pair, "baseline")]
    _print_baselines(baselines, moves)
    audits = {
        name: [pair.measure_audit(table, content=name == "content") for table in tables]
        for name in ("names", "content")
    }
    for name, runs in audits.items():
        print_audits(name, "cold", runs)
    _print_verdict(moves)
    return {
        "move": _summary(moves),
        "requests_alone": [asdict(each) for each in alone],
        "baseline": _summary(baselines),
        "audit": {name: _summary(runs) for name, runs in audits.items()},
        "ensembles": {
            "zookeeper": pair.zookeeper_version,
            "hot_members": len(pair.hot.members),
            "cold_members": len(pair.cold.members),
            "java_of_a_member": " ".join(IN_SERVICE),
        },
    }


def measure_legacy_parts(pair: Pair) -> dict[str, Any]:
    """Measure the move of legacy parts; the cold ensemble has one member."""
    pair.warm_up(legacy=True)
    moves = [pair.measure(table) for table in _tables(pair, "move", legacy=True)]
    _print_moves("Move of legacy parts: 3 znodes a part", moves)
    alone = [pair.measure_requests(table) for table in _tables(pair, "alone", legacy=True)]
    _print_requests(alone, moves)
    return {"move_legacy": _summary(moves), "requests_alone_legacy": [asdict(each) for each in alone]}


def measure_three_members(pair: Pair) -> dict[str, Any]:
    """Measure the move to a cold ensemble of three members."""
    pair.warm_up()
    moves = [pair.measure(table) for table in _tables(pair, "move")]
    _print_moves("Move to a cold ensemble of 3 members", moves)
    alone = [pair.measure_requests(table) for table in _tables(pair, "alone")]
    _print_requests(alone, moves)
    return {
        "move_three_cold_members": _summary(moves),
        "requests_alone_three_cold_members": [asdict(each) for each in alone],
    }


def _tables(pair: Pair, name: str, *, legacy: bool = False) -> list[Table]:
    return [pair.build(f"{name}_{number}", PARTITIONS, legacy=legacy) for number in range(RUNS)]


def _rate(runs: Sequence[Measurement | Baseline | AuditMeasurement | Requests]) -> Spread:
    return Spread.of(each.parts / each.seconds for each in runs)


def _summary(runs: Sequence[Measurement | Baseline | AuditMeasurement]) -> dict[str, Any]:
    return {"parts_per_second": _rate(runs)._asdict(), "runs": [asdict(each) for each in runs]}


def _print_moves(title: str, runs: Sequence[Measurement]) -> None:
    median = sorted(runs, key=lambda each: each.seconds)[len(runs) // 2]
    print(
        f"\n{title}\n"
        f"  {_rate(runs):,.0f} parts/s: {median.parts:,} parts in"
        f" {Spread.of(each.seconds for each in runs):.2f} s\n"
        f"  {_cpu(runs, [each.servers_cpu_seconds for each in runs])}\n"
        f"  {max(each.peak_rss_mb for each in runs):.0f} MB at most,"
        f" {median.idle_rss_mb:.0f} MB of that before the move\n"
        f"  {'phase of the median run':<26}{'seconds':>9}{'share':>8}{'in the client':>16}"
    )
    for name, phase in median.phases.items():
        share = phase.seconds / median.seconds
        print(f"  {name:<26}{phase.seconds:>9.2f}{share:>8.0%}{phase.client_seconds:>16.2f}", flush=True)


def _print_requests(alone: Sequence[RequestsAlone], moves: Sequence[Measurement]) -> None:
    clients = [each.client for each in alone]
    rate = _rate(clients)
    print(
        "\nA client that sends the requests of a move and does nothing else\n"
        f"  {rate:,.0f} parts/s: {clients[0].parts:,} parts, {clients[0].requests} requests\n"
        f"  {_cpu(clients, [each.servers_cpu_seconds for each in alone])}\n"
        f"  The move reaches {_rate(moves).median / rate.median:.0%} of that.",
        flush=True,
    )


def _cpu(runs: Sequence[Measurement | Requests], servers: Sequence[float]) -> str:
    """What the processors had to do, which a busy machine hardly changes."""
    told = (
        Spread.of(10_000 * seconds / each.parts for seconds, each in zip(taken, runs, strict=True))
        for taken in ([each.client_cpu_seconds for each in runs], servers)
    )
    return "CPU seconds for 10,000 parts: {:.2f} in the client, {:.2f} in the servers".format(*told)


def _print_baselines(runs: Sequence[Baseline], moves: Sequence[Measurement]) -> None:
    rate = _rate(runs)
    print(
        "\nOne request at a time, nothing verified\n"
        f"  {rate:,.0f} parts/s: {runs[0].parts:,} parts of equal tables, whose other parts are left out\n"
        "  so that this ends soon.\n"
        f"  The move is {_rate(moves).median / rate.median:.1f} times as fast.",
        flush=True,
    )


def print_audits(name: str, where: str, runs: Sequence[AuditMeasurement]) -> None:
    """Print audits of one table; ``where``: the ensemble that registers its parts."""
    cpu = Spread.of(10_000 * each.cpu_seconds / each.parts for each in runs)
    idle = Spread.of(each.idle_rss_mb for each in runs).median
    print(
        f"\nAudit by {name} of a table that is {where}, without what ClickHouse takes to answer\n"
        f"  {_rate(runs):,.0f} parts/s: {runs[0].parts:,} parts, {max(each.requests for each in runs)}"
        f" requests\n"
        f"  CPU seconds for 10,000 parts: {cpu:.3f} in the client\n"
        f"  {max(each.peak_rss_mb for each in runs):.0f} MB at most, {idle:.0f} MB of that before the audit",
        flush=True,
    )


def _print_verdict(moves: Sequence[Measurement]) -> None:
    most = max(each.peak_rss_mb for each in moves)
    met = _rate(moves).median >= TARGET_PARTS_PER_SECOND and most <= TARGET_MB
    print(
        f"\nThe target of the move on an idle machine of 2 cores, {TARGET_PARTS_PER_SECOND:,} parts/s and"
        f" {TARGET_MB} MB at most,\nwas {'met' if met else 'not met'}."
    )


if __name__ == "__main__":
    main()
