# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move reports its outcome, executes statements in order, and gives up on partitions that keep changing."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import DropParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, PATH, REPLICAS, TwinBench, Twins


def insert_before_attach(bench: TwinBench, times: int) -> None:
    """Insert into the hot table right before each ATTACH, so many times."""
    attach, left = bench.servers.attach, list(range(times))

    def attach_with_an_insert(*args: object) -> str:
        if left:
            bench.twins.insert(Side.HOT, (f"late {left.pop()}",))
        return attach(*args)  # type: ignore[arg-type]

    bench.servers.attach = attach_with_an_insert  # type: ignore[method-assign, assignment]


def test_statements_come_in_order_and_the_journal_before_them() -> None:
    bench = TwinBench(Twins(("a",), ("b", "c")))
    report = bench.run(Side.COLD)
    assert bench.servers.statements == [
        "attach to cold",
        f"drop {DAY}_1_1_0 {DAY}_2_2_0 of hot",
    ]
    assert [event for event, _row in bench.journal.events] == [
        Event.ATTACHING,
        Event.TWIN_DROPPING,
        Event.TWIN_MOVED,
    ]
    moved = report.moved[DAY]
    assert (moved.parts, moved.rows, moved.bytes_on_disk, moved.left_behind) == (2, 3, 200, ())
    assert moved.seen_twice_seconds == 0
    assert report.touched == {DAY}


def test_an_insert_during_the_move_is_left_behind() -> None:
    bench = TwinBench(Twins(("a",)))
    trace = Script()
    TwinBench(Twins(("a",))).run(Side.COLD, trace)
    script = Script()
    script.actions[trace.last("servers drop")] = lambda: bench.twins.insert(Side.HOT, ("late",))
    report = bench.run(Side.COLD, script)
    assert report.moved[DAY].left_behind == (f"{DAY}_2_2_0",)
    (row,) = bench.journal.of(Event.TWIN_MOVED)
    assert (row["shard_path"], row["left_behind"]) == (PATH, [f"{DAY}_2_2_0"])


@pytest.mark.parametrize("row", ["a", "late"])
def test_an_insert_right_after_the_attach_is_left_behind(row: str) -> None:
    """Also one of the same rows; nothing is undone."""
    bench = TwinBench(Twins(("a",)))
    trace = Script()
    TwinBench(Twins(("a",))).run(Side.COLD, trace)
    script = Script()
    script.actions[trace.trace.index("servers attach") + 1] = lambda: bench.twins.insert(Side.HOT, (row,))
    report = bench.run(Side.COLD, script)
    assert report.moved[DAY].left_behind == (f"{DAY}_2_2_0",)
    assert bench.servers.statements == ["attach to cold", f"drop {DAY}_1_1_0 of hot"]


def test_a_partition_that_keeps_changing_is_undone_and_deferred() -> None:
    bench = TwinBench(Twins(("a",)))
    insert_before_attach(bench, times=9)
    report = bench.run(Side.COLD)
    assert report.deferred[DAY].gate is GateName.CLONES_EQUAL
    assert bench.servers.statements.count("attach to cold") == 3
    assert not bench.records
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.twins.tables[Side.COLD].parts


def test_the_record_stays_while_a_server_refuses_to_drop_a_part() -> None:
    bench = TwinBench(Twins(("a",)))
    bench.servers.drop = lambda *_args: False  # type: ignore[method-assign]
    report = bench.run(Side.COLD)
    assert report.deferred[DAY].gate is GateName.TWIN_AT_REST
    assert bench.records
    del bench.servers.drop
    assert bench.run(Side.COLD).moved.keys() == {DAY}
    assert bench.twins.rows == bench.twins.inserted


@pytest.mark.parametrize("destination", list(Side))
def test_rows_are_compared_if_the_option_asks_for_it(destination: Side) -> None:
    for replica, side in product(REPLICAS, Side):
        bench = TwinBench(Twins(("a",), ("b", "c"), at=destination.other))
        bench.servers.rotten = {(replica, side)}
        report = bench.run(destination, checksums=True)
        assert report.deferred[DAY].gate is GateName.CLONES_EQUAL
        assert "not all replicas read the same rows" in report.deferred[DAY].reason
        assert not bench.records
        assert not bench.twins.tables[destination].parts
        bench.servers.rotten = set()
        assert bench.run(destination, checksums=True).moved.keys() == {DAY}
        assert bench.twins.rows == bench.twins.inserted


@pytest.mark.parametrize("stop_merges", [False, True])
@pytest.mark.parametrize("destination", list(Side))
def test_rows_that_are_hidden_from_the_user_keep_a_partition_where_it_is(
    destination: Side, stop_merges: bool
) -> None:
    for replica, side in product(REPLICAS, Side):
        bench = TwinBench(Twins(("a",), ("b", "c"), at=destination.other))
        bench.servers.hidden = {(replica, side)}
        report = bench.run(destination, checksums=True, stop_merges=stop_merges)
        assert report.deferred[DAY].gate is GateName.TWIN_READY
        assert report.deferred[DAY].reason == "the user does not see all rows"
        assert not bench.records
        assert not bench.twins.tables[destination].parts
        assert not any(
            "drop" in each and destination.other.value in each for each in bench.servers.statements
        )
        assert bench.run(destination).moved.keys() == {DAY}
        assert bench.twins.rows == bench.twins.inserted


def test_an_attach_of_a_killed_run_is_undone_if_rows_are_hidden() -> None:
    bench = TwinBench(Twins(("a",)))
    bench.servers.rotten = {(REPLICAS[0], Side.COLD)}
    bench.servers.drop = lambda *_args: False  # type: ignore[method-assign]
    bench.run(Side.COLD, checksums=True)
    del bench.servers.drop
    assert bench.records
    bench.servers.hidden = {(REPLICAS[0], Side.HOT)}
    report = bench.run(Side.COLD, checksums=True)
    assert DAY in report.deferred
    assert not bench.records
    assert not bench.twins.tables[Side.COLD].parts
    assert bench.twins.rows == bench.twins.inserted


def test_the_source_is_read_before_the_attach() -> None:
    bench = TwinBench(Twins(("a",)))
    script = Script()
    bench.run(Side.COLD, script, checksums=True)
    attach = script.trace.index("servers attach")
    read = [number for number, each in enumerate(script.trace) if "checksum" in each]
    assert [number < attach for number in read] == [True, True, False, False]


def test_a_record_of_other_tables_needs_manual_action() -> None:
    bench = TwinBench(Twins(("a",)))
    bench.servers.silent_after = lambda _statement: True
    bench.run(Side.COLD)
    bench.servers.silent_after = lambda _statement: False
    bench.servers.change = lambda tables: tables._replace(cold=tables.cold._replace(path="/another"))
    given = list(bench.servers.statements)
    report = bench.run(Side.COLD)
    assert report.failed[DAY].gate is GateName.TWIN_KNOWN
    assert "between default:/tables/01/hits and cold:/tables/01/hits" in report.failed[DAY].reason
    assert bench.servers.statements == given


def interrupted(bench: TwinBench, destination: Side) -> None:
    """Lose the answer to an ATTACH, which leaves a record and unverified clones."""
    bench.servers.silent_after = lambda statement: statement.startswith("attach")
    bench.run(destination)
    bench.servers.silent_after = lambda _statement: False
    assert bench.records
    assert bench.twins.tables[destination].parts


def test_a_source_that_changed_since_the_record_is_undone_and_not_cloned_again() -> None:
    """Otherwise each ATTACH would clone other parts, and the rows would multiply with each run."""
    bench = TwinBench(Twins(("a",), ("b", "c")))
    interrupted(bench, Side.COLD)
    bench.twins.insert(Side.HOT, ("late",))
    bench.twins.merge(Side.HOT)
    given = len(bench.servers.statements)
    report = bench.run(Side.COLD)
    drop = f"drop {DAY}_1_1_0 {DAY}_2_2_0 of cold"
    assert bench.servers.statements[given:] == [drop, "attach to cold", f"drop {DAY}_1_3_1 of hot"]
    assert report.moved.keys() == {DAY}
    assert bench.twins.rows == bench.twins.inserted


def test_a_source_that_changed_before_the_attach_is_recorded_anew() -> None:
    """An ATTACH would clone parts that the record does not list, and the run would drop all again."""
    bench = TwinBench(Twins(("a",)))
    trace, script = Script(), Script()
    TwinBench(Twins(("a",))).run(Side.COLD, trace)
    script.actions[trace.trace.index("servers attach")] = script.die
    with suppress(Died):
        bench.run(Side.COLD, script)
    assert bench.records
    bench.twins.insert(Side.HOT, ("late",))
    report = bench.run(Side.COLD)
    assert bench.servers.statements == ["attach to cold", f"drop {DAY}_1_1_0 {DAY}_2_2_0 of hot"]
    assert report.moved.keys() == {DAY}
    assert bench.twins.rows == bench.twins.inserted


@pytest.mark.parametrize("is_shown", [True, False])
def test_merges_of_clones_and_of_late_clones_are_undone(*, is_shown: bool) -> None:
    """From real servers: a late part is cloned, no clone can be dropped at once, and both tables merge.

    Merged clones are recognised by their names, whether or not the servers still list the clones.
    """
    bench = TwinBench(Twins(("a",), ("b", "c")))
    drop = bench.servers.drop

    def drop_after_a_merge(statement: DropParts) -> bool:
        if statement.side is Side.COLD and not bench.twins.tables[Side.COLD].past:
            for each in Side:
                bench.twins.merge(each)
            bench.twins.insert(Side.HOT, ("later",))
            bench.twins.merge(Side.HOT)
            if not is_shown:
                bench.twins.tables[Side.HOT].past.clear()
                bench.twins.tables[Side.COLD].past = {(0, 0, 0): ()}
            return False
        return drop(statement)

    insert_before_attach(bench, times=1)
    bench.servers.drop = drop_after_a_merge  # type: ignore[method-assign]
    report = bench.run(Side.COLD)
    assert report.moved.keys() == {DAY}, report
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.twins.tables[Side.HOT].parts


def test_inserts_into_hot_are_no_obstacle() -> None:
    bench = TwinBench(Twins(("a",), at=Side.COLD))
    insert_before_attach(bench, times=1)
    assert bench.run(Side.HOT, checksums=True).moved.keys() == {DAY}
    assert bench.servers.statements == ["attach to hot", f"drop {DAY}_1_1_0 of cold"]
    assert bench.twins.rows == bench.twins.inserted
