# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is newer than the record of a partition is told, on each replica and in each table."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.changes import (
    change_since,
    newest,
    refuse_change,
    refuse_unlike,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PairMarks,
    Side,
    TableMarks,
    TwinReplica,
    TwinTables,
)
from support.memory.between import record
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins, table_of

MARKS = TableMarks("s", "0000000009", ("patch-a",), 5)
TABLES = [
    TwinTables(
        TwinReplica(each, ""), f"server of {each}", table_of(Side.HOT, each), table_of(Side.COLD, each)
    )
    for each in ("r1", "r2")
]
BEFORE = PairMarks(MARKS, MARKS)


def with_marks(side: Side, marks: TableMarks) -> PairMarks:
    """What a replica has where one table has other marks."""
    return BEFORE._replace(hot=marks) if side is Side.HOT else BEFORE._replace(cold=marks)


BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


@pytest.mark.parametrize("side", list(Side))
@pytest.mark.parametrize("replica", [0, 1])
@pytest.mark.parametrize(
    ("now", "text"),
    [
        (MARKS, ""),
        (MARKS._replace(log=9), ""),
        (MARKS._replace(mutation=""), ""),
        (MARKS._replace(patches=()), ""),
        (MARKS._replace(mutation="0000000010"), "got the mutation 0000000010"),
        (MARKS._replace(patches=("patch-a", "patch-b")), "got the patch part patch-b"),
        (MARKS._replace(structure="t"), "has changed"),
    ],
)
def test_what_is_newer_than_the_record_is_told(side: Side, replica: int, now: TableMarks, text: str) -> None:
    found = [BEFORE, BEFORE]
    found[replica] = with_marks(side, now)
    change = change_since(record()._replace(marks=BEFORE), TABLES, found, DAY)
    assert text in change
    assert bool(change) is bool(text)
    if text:
        assert change.startswith(f"server of r{replica + 1}: ")
        assert str(TABLES[replica].on(side)) in change


@pytest.mark.parametrize(("of", "counts"), [("", True), (DAY, True), ("20200101", False)])
def test_what_others_have_queued_counts_for_its_partition(of: str, *, counts: bool) -> None:
    found = [BEFORE, BEFORE._replace(queued={of: ["the queue of hits has DROP_RANGE"]})]
    assert bool(change_since(record()._replace(marks=BEFORE), TABLES, found, DAY)) is counts


def test_without_marks_nothing_is_known() -> None:
    assert "earlier release" in change_since(record(), TABLES, [BEFORE, BEFORE], DAY)


def test_the_newest_marks_of_all_replicas_are_recorded() -> None:
    late = BEFORE._replace(cold=MARKS._replace(mutation="0000000011", log=7), queued={"": ["x"]})
    assert newest([BEFORE, late]) == PairMarks(MARKS, MARKS._replace(mutation="0000000011", log=7))


@pytest.mark.parametrize("side", list(Side))
def test_tables_that_are_no_longer_alike_are_refused(side: Side) -> None:
    assert refuse_unlike(TABLES, [BEFORE, BEFORE]) is None
    found = [BEFORE, with_marks(side, MARKS._replace(structure="t"))]
    refusal = refuse_unlike(TABLES, found)
    assert refusal is not None
    assert refusal.gate is GateName.TWIN_ALIKE
    assert "server of r2" in refusal.reason


def test_a_changed_partition_is_deferred_with_its_change() -> None:
    assert refuse_change("hits got a mutation").gate is GateName.TWIN_AT_REST
    assert "hits got a mutation" in refuse_change("hits got a mutation").reason


def bench_of(destination: Side) -> TwinBench:
    return TwinBench(Twins(("a",), ("b", "c"), at=destination.other))


@BOTH_WAYS
def test_a_mutation_of_both_tables_at_any_step_is_applied_once_to_each_row(destination: Side) -> None:
    trace = Script()
    bench_of(destination).run(destination, trace)
    for number in range(len(trace.trace)):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = lambda bench=bench: bench.twins.mutate(*Side)  # type: ignore[misc]
        bench.run(destination, script)
        assert bench.twins.rows == bench.twins.inserted
        report = bench.run(destination)
        assert not report.failed
        assert not bench.records
        assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
@pytest.mark.parametrize("kind", ["mutation", "patch", "structure", "queue"])
def test_what_changes_before_the_first_drop_undoes_the_move(destination: Side, kind: str) -> None:
    trace = Script()
    bench_of(destination).run(destination, trace)
    bench = bench_of(destination)
    script = Script()

    def change() -> None:
        for side in Side:
            if kind == "mutation":
                bench.twins.mutations[side] += 1
            elif kind == "patch":
                bench.twins.patches[side] = ("patch-1",)
            elif kind == "structure":
                bench.twins.structure[side] = "(a UInt16)"
            else:
                bench.servers.queued_by_others = {"r2": {DAY: ["the queue of hits has DROP_RANGE"]}}

    script.actions[trace.last("servers marks r1")] = change
    report = bench.run(destination, script)
    assert report.deferred[DAY].gate is GateName.TWIN_AT_REST
    assert not bench.records
    assert not bench.twins.tables[destination].parts
    assert bench.twins.rows == bench.twins.inserted
    bench.servers.queued_by_others = {}
    assert bench.run(destination).moved.keys() == {DAY}


@BOTH_WAYS
def test_a_mutation_that_is_carried_out_after_the_move_keeps_the_partition(destination: Side) -> None:
    """The marks are older than the activity: one of the two shows each mutation before the ATTACH."""
    trace = Script()
    bench_of(destination).run(destination, trace)
    for number in range(trace.trace.index("servers attach") + 1):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = bench.twins.begin_mutation
        bench.run(destination, script)
        bench.twins.finish_mutation()
        assert bench.twins.rows == bench.twins.inserted, number
        assert bench.run(destination).moved.keys() == {DAY}
        assert bench.twins.rows == bench.twins.inserted


@BOTH_WAYS
def test_a_partition_that_was_mutated_right_after_the_attach_is_not_recorded_again_at_once(
    destination: Side,
) -> None:
    """The statement may still have to come to the other table."""
    trace = Script()
    bench_of(destination).run(destination, trace)
    bench = bench_of(destination)
    script = Script()

    def mutate() -> None:
        bench.twins.mutate(destination.other)
        bench.twins.inserted = bench.twins.tables[destination.other].rows

    script.actions[trace.trace.index("servers attach") + 1] = mutate
    report = bench.run(destination, script)
    assert "got the mutation" in report.deferred[DAY].reason
    assert not bench.records
    assert not bench.twins.tables[destination].parts


@BOTH_WAYS
def test_a_statement_between_the_marks_and_the_record_is_found(destination: Side) -> None:
    """The marks are read before the parts, so the record cannot have newer marks than parts."""
    trace = Script()
    bench_of(destination).run(destination, trace)
    first = trace.trace.index("servers marks r2")
    for number in range(first + 1, first + 6):
        bench = bench_of(destination)
        script = Script()
        script.actions[number] = lambda bench=bench: bench.twins.mutate(*Side)  # type: ignore[misc]
        report = bench.run(destination, script)
        assert bench.twins.rows == bench.twins.inserted, report


@BOTH_WAYS
@pytest.mark.parametrize("partition", [DAY, "20200101"])
def test_clones_of_an_earlier_release_are_dropped_and_made_anew(destination: Side, partition: str) -> None:
    """What changed since its record is unknown. Without a request the partition stays where it was."""
    trace = Script()
    bench_of(destination).run(destination, trace)
    bench = bench_of(destination)
    script = Script()
    script.actions[trace.last("servers marks r1")] = script.die
    with suppress(Died):
        bench.run(destination, script)
    ((path, data),) = bench.records.items()
    record = json.loads(data)
    assert record["clones"]
    older = {name: value for name, value in record.items() if name not in ("marks", "dropped")}
    store = bench.hot.open()
    (znode,) = store.read([path])
    assert znode is not None
    store.commit([(SetData(path, json.dumps({**older, "version": 1}).encode(), znode.stat.version),)])
    report = bench.run(destination, partitions=[partition])
    assert not bench.records
    assert bench.twins.rows == bench.twins.inserted
    if partition == DAY:
        assert report.moved.keys() == {DAY}
    else:
        assert report.finished[DAY].undone
        assert not bench.twins.tables[destination].parts
