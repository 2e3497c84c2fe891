# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever happens between two steps of a move in either direction, no row is lost or stays twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import combinations, permutations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

Act = Callable[[Twins], None]
FIRST, SECOND = ("a", "b"), ("c",)
BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def late(twins: Twins) -> None:
    twins.insert(Side.HOT, ("late",))


def merge(*sides: Side) -> Act:
    def act(twins: Twins) -> None:
        for side in sides:
            twins.merge(side)

    return act


def late_and_merged(twins: Twins) -> None:
    late(twins)
    merge(Side.HOT)(twins)


ACTS: dict[str, Act] = {
    "nothing": lambda _twins: None,
    "insert": late,
    "insert of the same rows": lambda twins: twins.insert(Side.HOT, FIRST),
    "merge in hot": merge(Side.HOT),
    "merge in cold": merge(Side.COLD),
    "merge in both": merge(*Side),
    "insert and merge": late_and_merged,
}


PAIRED = [ACTS[name] for name in ("insert", "insert of the same rows", "merge in hot", "merge in cold")]


def bench_of(destination: Side) -> TwinBench:
    """A partition of two parts that is not at the destination."""
    return TwinBench(Twins(FIRST, SECOND, at=destination.other))


def steps_of(destination: Side) -> int:
    """Count the steps of an undisturbed run."""
    script = Script()
    bench = bench_of(destination)
    assert bench.run(destination, script).moved.keys() == {DAY}
    return len(script.trace)


def settle(bench: TwinBench, destination: Side) -> TwinReport:
    """Run again until no partition is open, and check the rows at the end."""
    for _run in range(3):
        report = bench.run(destination)
        bench.twins.check_nothing_lost()
        if not bench.records:
            break
    if bench.records:
        assert {each.gate for each in report.failed.values()} == {GateName.TWIN_KNOWN}
    else:
        assert bench.twins.rows == bench.twins.inserted, report
    return report


@BOTH_WAYS
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_an_act_at_any_step_loses_nothing(destination: Side, act: Act) -> None:
    for number in range(steps_of(destination)):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = partial(act, bench.twins)
        bench.run(destination, script)
        bench.twins.check_nothing_lost()
        settle(bench, destination)


@BOTH_WAYS
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_run_in_either_direction_continues_after_a_kill_at_any_step(destination: Side, act: Act) -> None:
    for number in range(steps_of(destination)):
        for then in Side:
            bench = bench_of(destination)
            script = Script()
            script.actions[number] = script.die
            with suppress(Died):
                bench.run(destination, script)
            act(bench.twins)
            settle(bench, then)


@BOTH_WAYS
def test_two_acts_at_any_steps_after_the_first_read_lose_nothing(destination: Side) -> None:
    trace = Script()
    bench_of(destination).run(destination, trace)
    first = next(
        number for number, each in enumerate(trace.trace) if each.startswith("hot commit /partmove/twins")
    )
    for one, other in combinations(range(first - 2, first + 12), 2):
        for act, then in permutations(PAIRED, 2):
            bench = bench_of(destination)
            script = Script()
            script.actions[one] = partial(act, bench.twins)
            script.actions[other] = partial(then, bench.twins)
            bench.run(destination, script)
            settle(bench, destination)


@BOTH_WAYS
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("statement", ["attach", "drop"])
def test_a_run_recovers_from_a_lost_answer(destination: Side, act: Act, statement: str) -> None:
    bench = bench_of(destination)
    bench.servers.silent_after = lambda given: given.startswith(statement)
    report = bench.run(destination)
    assert {each.gate for each in report.deferred.values()} == {GateName.TWIN_READY}
    assert bench.records
    bench.servers.silent_after = lambda _given: False
    act(bench.twins)
    settle(bench, destination)


@BOTH_WAYS
def test_a_partition_arrives_after_a_kill_at_any_step(destination: Side) -> None:
    for number in range(steps_of(destination)):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script)
        report = bench.run(destination)
        assert not report.failed
        assert not report.deferred
        assert not bench.records
        assert not bench.twins.tables[destination.other].parts
        assert bench.twins.rows == bench.twins.inserted


def test_an_insert_of_the_same_rows_is_no_clone_after_a_killed_undo() -> None:
    """One of two equal parts was dropped, and it is unknown which: the other part is no clone any more."""
    trace = Script()
    bench_of(Side.HOT).run(Side.HOT, trace)
    attach = trace.trace.index("servers attach")
    for number in range(attach + 1, attach + 30):
        bench = bench_of(Side.HOT)
        script = Script()
        script.actions[attach] = partial(bench.twins.insert, Side.HOT, FIRST)
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(Side.HOT, script)
        settle(bench, Side.HOT)
        assert not bench.records


@BOTH_WAYS
@pytest.mark.parametrize("at", ["servers parts r1", "servers drop"])
def test_clones_merged_right_after_the_attach_need_no_manual_action(destination: Side, at: str) -> None:
    trace = Script()
    bench_of(destination).run(destination, trace)
    attach = trace.trace.index("servers attach")
    number = next(i for i, each in enumerate(trace.trace) if i > attach and each.startswith(at))
    bench = bench_of(destination)
    script = Script()
    script.actions[number] = partial(bench.twins.merge, destination)
    assert bench.run(destination, script).moved.keys() == {DAY}
    assert len(bench.twins.tables[destination].parts) == 1
    assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
def test_a_merge_in_both_tables_before_the_drop_needs_no_manual_action(destination: Side) -> None:
    """Also if the run is killed while it drops the part that the clones were merged into."""
    trace = Script()
    bench_of(destination).run(destination, trace)
    number = trace.trace.index("servers drop hot" if destination is Side.COLD else "servers drop cold")
    read = max(i for i, each in enumerate(trace.trace[:number]) if each == "servers parts r2")
    known = 0
    for killed in range(read + 2, read + 26):
        bench = bench_of(destination)
        script = Script()
        script.actions[read + 1] = partial(merge(*Side), bench.twins)
        script.actions[killed] = script.die
        with suppress(Died):
            bench.run(destination, script)
        # Of parts that a killed run was about to drop nobody may know whether they were dropped or merged.
        is_named = any(b'"dropping":["' in record for record in bench.records.values())
        settle(bench, destination)
        assert is_named or not bench.records
        known += not is_named
    assert known > 8


def test_an_insert_of_the_same_rows_before_an_attach_is_no_clone() -> None:
    """The record exists, the ATTACH was never executed, and the destination has an equal new part."""
    bench = TwinBench(Twins(FIRST, at=Side.COLD))
    script = Script()
    trace = Script()
    TwinBench(Twins(FIRST, at=Side.COLD)).run(Side.HOT, trace)
    script.actions[trace.trace.index("servers attach")] = script.die
    with suppress(Died):
        bench.run(Side.HOT, script)
    assert bench.records
    bench.twins.insert(Side.HOT, FIRST)
    settle(bench, Side.HOT)
    assert bench.twins.rows == {"a": 2, "b": 2}
