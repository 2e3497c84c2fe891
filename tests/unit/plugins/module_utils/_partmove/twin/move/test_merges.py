# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stopped merges are started again, however a run ends, and whatever the next run is asked for."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import SetMerges
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
)
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, REPLICAS, TwinBench, Twins

RECORD = f"/partmove/twins/%2Ftables%2F01%2Fhits/{DAY}"
BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def bench_of(destination: Side) -> TwinBench:
    return TwinBench(Twins(("a", "b"), ("c",), at=destination.other))


def trace_of(destination: Side) -> list[str]:
    """The steps of an undisturbed run."""
    script = Script()
    assert bench_of(destination).run(destination, script, stop_merges=True).moved.keys() == {DAY}
    return script.trace


def test_merges_are_stopped_between_the_first_record_and_its_removal() -> None:
    trace = [
        each
        for each in trace_of(Side.COLD)
        if each.startswith(("servers attach", "servers drop", "servers st", f"hot commit {RECORD}"))
    ]
    stop, start = (
        [f"servers {verb} merges {each} {side.value}" for each in REPLICAS for side in Side]
        for verb in ("stop", "start")
    )
    assert trace[1:6] == [*stop, "servers attach"]
    assert trace[-5:-1] == start
    assert trace[0].startswith("hot commit")
    assert trace[-1].startswith("hot commit")


@BOTH_WAYS
@pytest.mark.parametrize("merged", list(Side), ids=lambda side: f"merge in {side.value}")
def test_a_merge_at_any_step_needs_no_manual_action(destination: Side, merged: Side) -> None:
    for number in range(len(trace_of(destination))):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = lambda bench=bench: bench.twins.merge(merged)  # type: ignore[misc]
        bench.run(destination, script, stop_merges=True)
        assert not bench.twins.stopped
        report = bench.run(destination, stop_merges=True)
        assert (report.unchanged | report.moved.keys(), report.failed) == ({DAY}, {})
        assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
@pytest.mark.parametrize("partition", [DAY, "20200101"])
def test_the_next_run_starts_the_merges_of_a_killed_run(destination: Side, partition: str) -> None:
    for number in range(len(trace_of(destination))):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script, stop_merges=True)
        were_stopped = bool(bench.twins.stopped)
        report = bench.run(destination, partitions=[partition])
        assert report.is_changed or not were_stopped
        assert not bench.twins.stopped
        assert not any(b'"merges_stopped":true' in each for each in bench.records.values())
        assert bench.twins.rows == bench.twins.inserted or bench.records


@pytest.mark.parametrize("steps", range(12))
def test_a_run_that_continues_a_move_records_that_merges_are_stopped(steps: int) -> None:
    bench = bench_of(Side.COLD)
    first = Script()
    first.actions[trace_of(Side.COLD).index("servers attach")] = first.die
    with suppress(Died):
        bench.run(Side.COLD, first)
    assert bench.records
    second, trace = Script(), Script()
    bench_of(Side.COLD).run(Side.COLD, trace, stop_merges=True)
    second.actions[trace.trace.index("servers activity") + steps] = second.die
    with suppress(Died):
        bench.run(Side.COLD, second, stop_merges=True)
    bench.run(Side.COLD, partitions=["20200101"])
    assert not bench.twins.stopped


@BOTH_WAYS
def test_an_error_at_any_step_leaves_no_merges_stopped(destination: Side) -> None:
    for number in range(len(trace_of(destination))):
        bench = bench_of(destination)
        script = Script()

        def fail() -> None:
            raise KeyboardInterrupt

        script.actions[number] = fail
        with suppress(KeyboardInterrupt):
            bench.run(destination, script, stop_merges=True)
        assert not bench.twins.stopped


def test_a_later_run_starts_merges_on_a_failing_server() -> None:
    bench = bench_of(Side.COLD)
    set_merges = bench.servers.set_merges

    def fail(statement: SetMerges) -> None:
        if statement.allowed and statement.tables.replica.name == REPLICAS[0]:
            raise PartMoveError("r1 is down")
        set_merges(statement)

    bench.servers.set_merges = fail  # type: ignore[method-assign]
    report = bench.run(Side.COLD, stop_merges=True)
    assert report.deferred[DAY].gate is GateName.TWIN_READY
    assert "r1 is down; merges of both tables are still stopped: r1 is down" in report.deferred[DAY].reason
    assert bench.twins.stopped == {REPLICAS[0]}
    report = bench.run(Side.COLD)
    assert report.deferred[DAY].reason == "r1 is down"
    del bench.servers.set_merges
    assert bench.run(Side.COLD).moved.keys() == {DAY}
    assert not bench.twins.stopped


def test_check_mode_reports_merges_that_it_would_start() -> None:
    bench = bench_of(Side.COLD)
    script = Script()
    script.actions[trace_of(Side.COLD).index("servers attach")] = script.die
    with suppress(Died):
        bench.run(Side.COLD, script, stop_merges=True)
    report = bench.run(Side.COLD, check_mode=True)
    start = ["SYSTEM START MERGES db.hits", "SYSTEM START MERGES db.hits_cold"]
    assert report.statements[:4] == start * len(REPLICAS)
    assert report.is_changed
    assert bench.twins.stopped == set(REPLICAS)


def test_a_record_of_another_twin_keeps_its_stopped_merges_and_lets_no_move_begin() -> None:
    """A run starts merges on its own twin alone, so the record must go on to say that they are stopped."""
    bench = bench_of(Side.COLD)
    script, fresh = Script(), "20200101"
    script.actions[trace_of(Side.COLD).index("servers attach")] = script.die
    with suppress(Died):
        bench.run(Side.COLD, script, stop_merges=True)
    ((path, data),) = bench.records.items()
    other = data.replace(b'"cold":"cold:', b'"cold":"cold:/another')
    assert other != data
    store = bench.hot.open()
    (znode,) = store.read([path])
    assert znode is not None
    store.commit([(SetData(path, other, znode.stat.version),)])
    bench.twins.insert(Side.HOT, ("d",), fresh)
    report = bench.run(Side.COLD, partitions=[fresh, DAY])
    assert bench.records == {path: other}
    assert report.deferred[fresh].gate is GateName.TWIN_WHOLE
    assert report.failed[DAY].gate is GateName.TWIN_KNOWN
    assert f"partition {DAY}: its record is about a move between" in report.deferred[fresh].reason
