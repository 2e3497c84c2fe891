# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A group reads, writes and executes at once for all its partitions, and a refused one stops no other."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NotPermitted,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

DAYS = [DAY, *(f"201912{day:02}" for day in range(2, 8))]
RECORDS = "hot commit /partmove/twins/%2Ftables%2F01%2Fhits/"
BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def bench_of(destination: Side) -> TwinBench:
    """Several partitions of two parts that are not at the destination."""
    twins = Twins()
    for day in DAYS:
        for row in "ab":
            twins.insert(destination.other, (f"{row} of {day}",), day)
    return TwinBench(twins)


@BOTH_WAYS
def test_several_partitions_move_with_the_reads_of_one(destination: Side) -> None:
    bench, script = bench_of(destination), Script()
    report = bench.run(destination, script, partitions=DAYS)
    assert report.moved.keys() == {*DAYS}
    assert [sql.count("PARTITION ID") or sql.count("DROP PART") for sql in bench.servers.executed] == [7, 14]
    steps = [each for each in script.trace if each.startswith("servers parts r1")]
    assert len(steps) <= 4
    commits = [each for each in script.trace if each.startswith(RECORDS)]
    assert len(commits) == 4
    assert [event for event, _row in bench.journal.events].count(Event.TWIN_MOVED) == 7
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.records


@BOTH_WAYS
def test_a_partition_that_a_server_refuses_to_attach_stops_no_other(destination: Side) -> None:
    bench = bench_of(destination)
    bench.servers.refused = {DAYS[3]}
    report = bench.run(destination, partitions=DAYS)
    assert report.moved.keys() == {*DAYS} - {DAYS[3]}
    assert report.deferred[DAYS[3]].gate is GateName.CLONES_EQUAL
    assert f"partition {DAYS[3]} is refused" in report.deferred[DAYS[3]].reason
    assert not bench.records
    assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
@pytest.mark.parametrize("block", [1, 2])
def test_a_part_that_a_server_refuses_to_drop_stops_no_other_partition(destination: Side, block: int) -> None:
    """Before or after another part of its partition."""
    bench = bench_of(destination)
    bench.servers.undroppable = {f"{DAYS[3]}_{block}_{block}_0"}
    report = bench.run(destination, partitions=DAYS)
    assert report.moved.keys() == {*DAYS} - {DAYS[3]}
    assert report.deferred[DAYS[3]].gate is GateName.TWIN_AT_REST
    assert "refuse to drop some of its parts" in report.deferred[DAYS[3]].reason
    assert [path.rpartition("/")[2] for path in bench.records] == [DAYS[3]]
    bench.servers.undroppable = set()
    assert bench.run(destination, partitions=[DAYS[3]]).moved.keys() == {DAYS[3]}
    assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
@pytest.mark.parametrize("block", [1, 2])
def test_a_part_that_is_too_large_to_drop_keeps_only_its_partition(destination: Side, block: int) -> None:
    """Before or after another part of its partition. A merge may come before the limit is raised."""
    bench = bench_of(destination)
    large = f"{DAYS[3]}_{block}_{block}_0"
    bench.servers.too_large = {large}
    for _again in range(2):
        report = bench.run(destination, partitions=DAYS)
        assert report.deferred.keys() == {DAYS[3]}
        refusal = report.deferred[DAYS[3]]
        assert refusal.gate is GateName.PARTS_DROPPABLE
        assert f"server of r1 refuses to drop part {large} of 100 bytes of db.hits" in refusal.reason
        assert "SYSTEM RELOAD CONFIG" in refusal.remedy
        assert [path.rpartition("/")[2] for path in bench.records] == [DAYS[3]]
        (data,) = bench.records.values()
        assert b'"dropping":[]' in data
    bench.servers.too_large = set()
    assert bench.run(destination, partitions=[DAYS[3]]).moved.keys() == {DAYS[3]}
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.records


@BOTH_WAYS
def test_clones_that_are_too_large_to_drop_keep_only_their_partition(destination: Side) -> None:
    """A mutation came during the move, so that all clones are dropped."""
    trace = Script()
    bench_of(destination).run(destination, trace, partitions=DAYS)
    bench, script = bench_of(destination), Script()

    def mutate() -> None:
        bench.twins.mutate(*Side)
        clones = bench.twins.of(DAYS[3])[destination]
        bench.servers.too_large = {max(map(clones.name_of, clones.parts))}

    script.actions[trace.last("servers marks r1")] = mutate
    for each in (script, Script()):
        report = bench.run(destination, each, partitions=DAYS)
        refusal = report.deferred[DAYS[3]]
        assert refusal.gate is GateName.PARTS_DROPPABLE
        assert f"refuses to drop part {min(bench.servers.too_large)} of 100 bytes" in refusal.reason
        assert [path.rpartition("/")[2] for path in bench.records] == [DAYS[3]]
    bench.servers.too_large = set()
    bench.run(destination, partitions=DAYS)
    assert bench.run(destination, partitions=DAYS).unchanged == {*DAYS}
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.records


@BOTH_WAYS
@pytest.mark.parametrize("side", list(Side))
def test_a_partition_that_is_merged_or_lags_stops_no_other(destination: Side, side: Side) -> None:
    trace = Script()
    bench_of(destination).run(destination, trace, partitions=DAYS)
    for number in range(len(trace.trace)):
        bench, script = bench_of(destination), Script()
        script.actions[number] = lambda bench=bench: bench.twins.merge(side, DAYS[2])  # type: ignore[misc]
        report = bench.run(destination, script, partitions=DAYS)
        assert report.moved.keys() >= {*DAYS} - {DAYS[2]}, report
        assert bench.twins.rows == bench.twins.inserted or bench.records


@BOTH_WAYS
def test_a_kill_at_any_step_is_finished_by_a_run_for_another_partition(destination: Side) -> None:
    trace = Script()
    bench_of(destination).run(destination, trace, partitions=DAYS)
    for number in range(len(trace.trace)):
        bench, script = bench_of(destination), Script()
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script, partitions=DAYS)
        recorded = {path.rpartition("/")[2] for path in bench.records}
        report = bench.run(destination.other, partitions=["20200101"])
        assert report.finished.keys() == recorded
        assert not report.unfinished
        assert not bench.records
        assert bench.twins.rows == bench.twins.inserted


def test_a_run_for_other_partitions_tells_what_it_could_not_finish() -> None:
    bench = bench_of(Side.COLD)
    bench.servers.silent_after = lambda _statement: True
    bench.run(Side.COLD, partitions=DAYS[:2])
    assert len(bench.records) == 2
    report = bench.run(Side.COLD, partitions=[DAYS[2]])
    assert report.unfinished.keys() == {*DAYS[:2]}
    assert {each.gate for each in report.unfinished.values()} == {GateName.TWIN_READY}

    def fail(_tables: object) -> object:
        raise PartMoveError("r1 is down")

    bench.servers.silent_after = lambda _statement: False
    change, bench.servers.change = bench.servers.change, fail  # type: ignore[assignment]
    report = bench.run(Side.COLD, partitions=[DAYS[2]])
    assert {each.reason for each in report.unfinished.values()} == {"r1 is down"}
    bench.servers.change = change
    assert bench.run(Side.COLD, partitions=[]).finished.keys() >= {*DAYS[:2]}
    assert not bench.records
    assert bench.twins.rows == bench.twins.inserted


def test_a_user_who_may_not_attach_moves_nothing_and_leaves_no_record() -> None:
    bench = bench_of(Side.COLD)

    def refuse(_statement: AttachPartitions) -> str:
        raise NotPermitted("the user may not ALTER")

    bench.servers.attach = refuse  # type: ignore[method-assign, assignment]
    report = bench.run(Side.COLD, partitions=DAYS)
    assert {each.reason for each in report.deferred.values()} == {"the user may not ALTER"}
    assert report.deferred.keys() == {*DAYS}
    assert not bench.records
