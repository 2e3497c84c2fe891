# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures a move between real ensembles, the way of one request at a time, audits, and the classification.

Prints a summary and writes build/bench.json. For figures to keep, run it on a machine that does
nothing else.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmark.bench_classification import measure_classification
from benchmark.measured_audit import AuditMeasurement
from benchmark.measured_move import Measurement
from benchmark.measured_requests import Requests
from benchmark.pair import HEAP, REPLICAS, Baseline, Pair, RequestsAlone, running_pair
from support.memory.tables import Table

PARTITIONS = 10_000
BASELINE_PARTITIONS = 1_000
WARM_UP_MOVES = 4
RUNS = 5
TARGET_PARTS_PER_SECOND = 8_000
TARGET_MB = 300

OUTPUT = Path("build/bench.json")


def main() -> None:
    """Measure, print and write down."""
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0],
    }
    _print_heading(machine)
    with running_pair(cold_members=1) as pair:
        result = measure_one_member(pair)
    with running_pair(cold_members=1) as pair:
        result |= measure_legacy_parts(pair)
    with running_pair(cold_members=3) as pair:
        result |= measure_three_members(pair)
    _print_verdict(result["move"])
    result |= {"classification": measure_classification()}
    machine["load_average_after"] = os.getloadavg()[0]
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(result | {"machine": machine}, indent=2) + "\n")
    print(f"Written to {OUTPUT}.")


def measure_one_member(pair: Pair) -> dict[str, Any]:
    """Measure the move, the other way and an audit; the cold ensemble has one member."""
    _warm_up(pair)
    tables = _tables(pair, "move")
    move = _measure_moves(pair, tables, "Move")
    alone = _measure_requests(pair, _tables(pair, "alone"), move)
    baseline = pair.measure_baseline(pair.build("baseline", PARTITIONS), BASELINE_PARTITIONS)
    ratio = move["parts_per_second"] / _rate(baseline)
    _print_baseline(baseline, ratio)
    audits = {name: pair.measure_audit(tables[0], content=name == "content") for name in ("names", "content")}
    _print_audits(audits)
    return {
        "move": move,
        "requests_alone": alone,
        "baseline": _as_json(baseline),
        "ratio": ratio,
        "audit": {name: _as_json(audit) for name, audit in audits.items()},
        "ensembles": {
            "zookeeper": pair.zookeeper_version,
            "hot_members": len(pair.hot.members),
            "cold_members": len(pair.cold.members),
            "heap_of_a_member": HEAP,
        },
    }


def measure_legacy_parts(pair: Pair) -> dict[str, Any]:
    """Measure the move of legacy parts; the cold ensemble has one member."""
    _warm_up(pair, legacy=True)
    move = _measure_moves(pair, _tables(pair, "move", legacy=True), "Move of legacy parts: 3 znodes a part")
    alone = _measure_requests(pair, _tables(pair, "alone", legacy=True), move)
    return {"move_legacy": move, "requests_alone_legacy": alone}


def measure_three_members(pair: Pair) -> dict[str, Any]:
    """Measure the move to a cold ensemble of three members."""
    _warm_up(pair)
    move = _measure_moves(pair, _tables(pair, "move"), "Move to a cold ensemble of 3 members")
    alone = _measure_requests(pair, _tables(pair, "alone"), move)
    return {"move_three_cold_members": move, "requests_alone_three_cold_members": alone}


def _tables(pair: Pair, name: str, *, legacy: bool = False) -> list[Table]:
    return [pair.build(f"{name}_{number}", PARTITIONS, legacy=legacy) for number in range(RUNS)]


def _measure_moves(pair: Pair, tables: Sequence[Table], title: str) -> dict[str, Any]:
    """Move each of the tables; print the median, and return it with the rates of all."""
    runs = sorted([pair.measure(table) for table in tables], key=_rate)
    _print_move(f"{title}, the median of {len(runs)} runs", runs[len(runs) // 2])
    rates = [_rate(each) for each in runs]
    print(f"  lowest {rates[0]:,.0f}, highest {rates[-1]:,.0f} parts/s", flush=True)
    return _as_json(runs[len(runs) // 2]) | {"parts_per_second_of_runs": rates}


def _measure_requests(pair: Pair, tables: Sequence[Table], move: Mapping[str, Any]) -> dict[str, Any]:
    """Send the requests for each of the tables, and nothing else; otherwise as `_measure_moves`."""
    runs = sorted([pair.measure_requests(table) for table in tables], key=lambda each: _rate(each.client))
    alone = runs[len(runs) // 2]
    _print_requests(alone, move["parts_per_second"])
    return _as_json(alone.client) | {"servers_cpu_seconds": alone.servers_cpu_seconds}


def _warm_up(pair: Pair, *, legacy: bool = False) -> None:
    """Let the servers compile their code, as those of an ensemble in service have."""
    for number in range(WARM_UP_MOVES):
        pair.measure(pair.build(f"warm_up_{number}", PARTITIONS, legacy=legacy))


def _rate(measured: Measurement | Baseline | AuditMeasurement | Requests) -> float:
    return measured.parts / measured.seconds


def _as_json(measured: Measurement | Baseline | AuditMeasurement | Requests) -> dict[str, Any]:
    return asdict(measured) | {"parts_per_second": _rate(measured)}


def _print_heading(machine: dict[str, Any]) -> None:
    print(
        f"Move of one shard path: {len(REPLICAS)} replicas x {PARTITIONS:,} partitions of one part. Each\n"
        "part is read, judged by every gate, copied, compared on every cold member and switched.\n\n"
        f"{machine['cores']} cores, Python {machine['python']}, load average "
        f"{machine['load_average_before']:.2f}; the servers, with -Xmx{HEAP}, run on the same machine.",
        flush=True,
    )


def _print_move(title: str, measured: Measurement) -> None:
    print(
        f"\n{title}\n"
        f"  {_rate(measured):,.0f} parts/s: {measured.parts:,} parts in {measured.seconds:.2f} s\n"
        f"  {_cpu(measured, measured.servers_cpu_seconds)}\n"
        f"  {measured.peak_rss_mb:.0f} MB at most, {measured.idle_rss_mb:.0f} MB of that before the move\n"
        f"  {'phase':<12}{'seconds':>9}{'share':>8}{'in the client':>16}"
    )
    for name, phase in measured.phases.items():
        share = phase.seconds / measured.seconds
        print(f"  {name:<12}{phase.seconds:>9.2f}{share:>8.0%}{phase.client_seconds:>16.2f}", flush=True)


def _print_requests(alone: RequestsAlone, rate_of_the_move: float) -> None:
    client = alone.client
    print(
        "\nA client that sends the requests of a move and does nothing else\n"
        f"  {_rate(client):,.0f} parts/s: {client.parts:,} parts in {client.seconds:.2f} s,"
        f" {client.requests} requests\n"
        f"  {_cpu(client, alone.servers_cpu_seconds)}\n"
        f"  The move reaches {rate_of_the_move / _rate(client):.0%} of that.",
        flush=True,
    )


def _cpu(measured: Measurement | Requests, servers: float) -> str:
    """What the processors had to do, which a busy machine hardly changes."""
    client, servers = (10_000 * each / measured.parts for each in (measured.client_cpu_seconds, servers))
    return f"CPU seconds for 10,000 parts: {client:.2f} in the client, {servers:.2f} in the servers"


def _print_baseline(baseline: Baseline, ratio: float) -> None:
    print(
        "\nOne request at a time, nothing verified\n"
        f"  {_rate(baseline):,.0f} parts/s: {baseline.parts:,} parts in {baseline.seconds:.2f} s\n"
        f"  of an equal table, whose other parts are left out so that this ends soon.\n"
        f"  The move is {ratio:.1f} times as fast.",
        flush=True,
    )


def _print_audits(audits: Mapping[str, AuditMeasurement]) -> None:
    print("\nAudit of a table that is cold, without what ClickHouse takes to answer")
    for name, audit in audits.items():
        print(
            f"  by {name}: {_rate(audit):,.0f} parts/s: {audit.parts:,} parts in {audit.seconds:.2f} s,"
            f" {audit.requests} requests, {audit.peak_rss_mb:.0f} MB at most",
            flush=True,
        )


def _print_verdict(move: dict[str, Any]) -> None:
    rates = ", ".join(f"{rate:,.0f}" for rate in move["parts_per_second_of_runs"])
    met = move["parts_per_second"] >= TARGET_PARTS_PER_SECOND and move["peak_rss_mb"] <= TARGET_MB
    print(
        f"\nRuns of the move: {rates} parts/s. The target on an idle machine of 2 cores,\n"
        f"{TARGET_PARTS_PER_SECOND:,} parts/s and {TARGET_MB} MB at most, was {'met' if met else 'not met'}."
    )


if __name__ == "__main__":
    main()
