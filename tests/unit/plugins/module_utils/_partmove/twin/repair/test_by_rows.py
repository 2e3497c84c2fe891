# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair by rows ends with every row once, whatever happens meanwhile, and loses none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    TwinRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import LedgerEntry
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import read_ledger
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    ActivityInProgress,
    Side,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair import run
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.run import BY_MOVE
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.servers import RowCounts
from support.memory.twin_audits import audited
from support.memory.twin_repairs import ROOT, Killed, RepairBench
from support.memory.twins import DAY, PATH, Twins, name_of

UNKNOWN = TwinVerdict(TwinKind.UNKNOWN)


def forget(bench: RepairBench) -> None:
    """Let servers show merged parts no more."""
    for table in bench.twins.tables.values():
        table.past.clear()


def clones_merged() -> RepairBench:
    """The twin merged the clones, and no server shows them any more."""
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.note(bench.attached()._replace(clones={}))
    bench.twins.merge(Side.COLD)
    forget(bench)
    return bench


def clones_merged_with_older_parts() -> RepairBench:
    bench = RepairBench(Twins(("a",), ("b", "c")))
    bench.twins.insert(Side.COLD, ("x", "y"))
    bench.note(bench.attached()._replace(clones={}))
    bench.twins.merge(Side.COLD)
    forget(bench)
    return bench


def merged_with_a_late_row() -> RepairBench:
    """A part that was about to be dropped was merged with a late insert that has one of its rows as well."""
    bench = RepairBench(Twins(("a", "b"), ("c",)))
    record = bench.attached()
    bench.note(record._replace(dropping=(min(record.parts),)))
    bench.twins.insert(Side.HOT, ("d", "c"))
    bench.twins.merge(Side.HOT)
    bench.twins.insert(Side.HOT, ("a",))
    forget(bench)
    return bench


def merged_in_both() -> RepairBench:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.twins.insert(Side.COLD, ("x",))
    record = bench.attached()
    bench.note(record._replace(dropping=tuple(sorted(record.parts))))
    bench.twins.insert(Side.HOT, ("d",))
    for side in Side:
        bench.twins.merge(side)
    forget(bench)
    return bench


def cloned_twice() -> RepairBench:
    """The window of deduplication was over between two ATTACHes, and the clones were merged."""
    bench = RepairBench(Twins(("a",), ("b",)))
    record = bench.attached()
    bench.twins.tables[Side.COLD].blocks.clear()
    bench.twins.tables[Side.COLD].attach(bench.twins.tables[Side.HOT])
    bench.twins.merge(Side.COLD)
    forget(bench)
    bench.note(record._replace(clones={}))
    return bench


def brought_back_and_merged() -> RepairBench:
    """Clones in the table that an undo was about to drop were merged with an insert."""
    bench = RepairBench(Twins(("a", "b"), at=Side.COLD))
    record = bench.record(Side.HOT)
    bench.twins.tables[Side.HOT].attach(bench.twins.tables[Side.COLD])
    bench.note(record._replace(undoing=tuple(part.name for part in bench.twins.tables[Side.HOT].shown())))
    bench.twins.insert(Side.HOT, ("c",))
    bench.twins.merge(Side.HOT)
    forget(bench)
    return bench


SCENES = (
    clones_merged,
    clones_merged_with_older_parts,
    merged_with_a_late_row,
    merged_in_both,
    cloned_twice,
    brought_back_and_merged,
)
Scene = Callable[[], RepairBench]
each_scene = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)


def finish(bench: RepairBench) -> None:
    """Repair whatever kind the partition has by now, until nothing is to be repaired."""
    for kind in (TwinKind.UNKNOWN, *BY_MOVE, TwinKind.EQUAL, TwinKind.EQUAL_IN_PART, TwinKind.UNKNOWN):
        bench.repair(kind)


def check_every_row_is_there_once(bench: RepairBench) -> None:
    assert bench.twins.rows == bench.twins.inserted
    assert not bench.records
    assert bench.repairers.scratch is None


@each_scene
def test_every_row_is_there_once_afterwards(scene: Scene) -> None:
    bench = scene()
    assert bench.twins.rows != bench.twins.inserted
    planned = bench.repair(check_mode=True)
    assert (bench.repairers.statements, bool(bench.records)) == ([], True)
    report = bench.repair()
    assert not report.left
    assert report.statements == planned.statements
    assert report.repaired.keys() == planned.repaired.keys() == {DAY}
    check_every_row_is_there_once(bench)
    done = report.repaired[DAY]
    assert done == planned.repaired[DAY]
    assert dict(done.rows_after) == {side: sum(bench.twins.tables[side].rows.values()) for side in Side}
    folders = {side: set(names) for side, names in bench.repairers.folders_of.items() if names}
    assert folders == {side: set(names) for side, names in done.kept.items()}
    assert not bench.repair().repaired


def events_at(bench: RepairBench, number: int, act: Callable[[], None], *, before: bool) -> None:
    """Act once, at a statement of that number."""
    steps = count()

    def step(_statement: str) -> None:
        if next(steps) == number:
            act()

    if before:
        bench.repairers.before = step
    else:
        bench.repairers.after = step


def kill() -> None:
    raise Killed


@each_scene
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("number", range(5))
def test_killed_run_is_continued(scene: Scene, number: int, *, before: bool) -> None:
    bench = scene()
    events_at(bench, number, kill, before=before)
    try:
        bench.repair()
    except Killed:
        bench.twins.check_nothing_lost()
        finish(bench)
    check_every_row_is_there_once(bench)


@each_scene
@pytest.mark.parametrize("act", ["merge table", "merge twin", "insert and merge", "no answer"])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("number", range(4))
def test_whatever_comes_meanwhile_loses_no_row(scene: Scene, number: int, act: str, *, before: bool) -> None:
    bench = scene()

    def meanwhile() -> None:
        if "insert" in act:
            bench.twins.insert(Side.HOT, ("late", "a"))
        if "merge" in act:
            bench.twins.merge(Side.COLD if "twin" in act else Side.HOT)
            forget(bench)
        if act == "no answer":
            raise PartMoveError("the server does not answer")

    events_at(bench, number, meanwhile, before=before)
    bench.repair()
    for _run in range(3):
        finish(bench)
    bench.twins.check_nothing_lost()
    left = bench.repair().left
    if left:
        # Rows of an insert with the values of other rows were merged with rows that are in both tables.
        assert "insert" in act
        assert "only" in left[DAY].reason
    else:
        check_every_row_is_there_once(bench)


def test_rows_that_came_late_with_the_same_values_are_kept() -> None:
    """The part was inserted after the record: no part of it is doubtful."""
    bench = merged_with_a_late_row()
    bench.repair()
    assert bench.twins.rows["a"] == 2


def test_partition_that_neither_table_has_loses_its_record() -> None:
    bench = RepairBench(Twins(("a",)))
    bench.note(bench.attached())
    for side in Side:
        bench.twins.tables[side].parts.clear()
    bench.twins.inserted.clear()
    bench.repairers.folders_of[Side.COLD]["20191201_1_1_0"] = ("a",)
    (left,) = bench.repair().left.values()
    assert "has 20191201_1_1_0 in its detached folder" in left.reason
    assert bench.records
    bench.repairers.folders_of[Side.COLD].clear()
    assert list(bench.repair().repaired) == [DAY]
    assert not bench.records


def test_partition_whose_parts_somebody_dropped_is_left_to_the_twin() -> None:
    bench = RepairBench(Twins(("a",)))
    bench.note(bench.attached())
    bench.twins.tables[Side.HOT].parts.clear()
    report = bench.repair()
    assert report.repaired[DAY].what == "no row is in both tables"
    assert not report.statements
    check_every_row_is_there_once(bench)


def test_twin_with_rows_that_no_record_explains_is_left() -> None:
    """The table has lost a part, and the twin has rows several times: nobody knows which of them are real."""
    bench = RepairBench(Twins(("a",), ("b",)))
    record = bench.attached()
    bench.note(record)
    bench.twins.tables[Side.COLD].add(("a",))
    bench.twins.tables[Side.HOT].parts.pop(next(iter(bench.twins.tables[Side.HOT].parts)))
    (left,) = bench.repair().left.values()
    assert "the twin has 3 rows of it, and its record explains only 2" in left.reason
    assert bench.records


def test_merges_that_were_stopped_are_started() -> None:
    bench = clones_merged()
    record = bench.record()
    bench.hot = RepairBench(bench.twins).hot
    bench.note(record._replace(merges_stopped=True, held={}))
    bench.repair()
    assert [each for each in bench.servers.statements if each == "start merges"] == ["start merges"] * 4
    check_every_row_is_there_once(bench)


@pytest.mark.parametrize("replica", ["r1", "r2"])
def test_replica_that_counts_other_rows_keeps_everything(replica: str) -> None:
    bench = clones_merged()
    bench.repairers.wrong = {replica: RowCounts(1, 1, 1, 1, 0)}
    (left,) = bench.repair().left.values()
    assert left.reason == "replicas count different rows in the same parts"
    assert not bench.repairers.statements


@pytest.mark.parametrize("side", Side)
def test_replica_that_reads_other_rows_keeps_everything(side: Side) -> None:
    bench = clones_merged()
    bench.servers.rotten = {("r2", side)}
    (left,) = bench.repair().left.values()
    assert "replicas read different rows from the same parts" in left.reason
    assert not bench.repairers.statements


def test_user_who_does_not_see_all_rows_keeps_everything() -> None:
    bench = clones_merged()
    bench.servers.hidden = {("r1", Side.COLD)}
    (left,) = bench.repair().left.values()
    assert left == ("the user does not see all rows", "Remove the row policy")


def test_activity_keeps_everything() -> None:
    bench = clones_merged()
    busy = ActivityInProgress((), {DAY: ["parts are being merged"]}, {}, 0.0)
    bench.servers.unrests = {"r2": busy}
    (left,) = bench.repair().left.values()
    assert "parts are being merged" in left.reason
    assert not bench.repairers.statements


@pytest.mark.parametrize("most", [99, 100])
def test_a_part_that_the_server_would_not_detach_keeps_everything(most: int) -> None:
    """Also before rows are added to the twin."""
    bench = merged_in_both()
    bench.servers.unrests = {"r1": ActivityInProgress((), {}, {}, 0.0, most_bytes_to_drop=most)}
    report = bench.repair()
    if most == 100:
        assert not report.left
        return
    (left,) = report.left.values()
    assert "has 100 bytes, and server of r1 drops parts of at most 99 bytes" in left.reason
    assert not bench.repairers.statements


def test_activity_that_begins_with_the_work_keeps_the_parts() -> None:
    bench = merged_in_both()
    busy = ActivityInProgress((), {DAY: ["mutation 5 is not done"]}, {}, 0.0)

    def begin(step: str) -> None:
        if step == "build":
            bench.servers.unrests = {"r1": busy}

    bench.repairers.after = begin
    (left,) = bench.repair().left.values()
    assert "mutation 5" in left.reason
    assert bench.repairers.statements == ["build"]
    assert not bench.kept


@pytest.mark.parametrize("built", [(), ("d", "x"), ("x",)])
def test_scratch_table_with_other_rows_is_not_attached(built: tuple[str, ...]) -> None:
    bench = merged_in_both()
    bench.repairers.builds = lambda _rows: built
    (left,) = bench.repair().left.values()
    assert "the scratch table got" in left.reason
    assert bench.repairers.statements == ["build"]


def test_nothing_is_detached_if_the_twin_did_not_take_the_rows() -> None:
    bench = merged_in_both()
    bench.repairers.takes_scratch = False
    (left,) = bench.repair().left.values()
    assert "does not have all rows" in left.reason
    assert bench.repairers.statements == ["build", "attach scratch"]
    assert not any(bench.repairers.folders_of.values())


def test_part_that_a_merge_has_is_left_for_the_next_run() -> None:
    bench = clones_merged()
    bench.repairers.merging = {name_of(min(bench.twins.tables[Side.HOT].parts))}
    (left,) = bench.repair().left.values()
    assert "a merge or mutation took part" in left.reason
    bench.repairers.merging = set()
    assert not bench.repair().left
    check_every_row_is_there_once(bench)


def test_equal_parts_are_detached_from_the_table_alone() -> None:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.attached()
    bench.twins.insert(Side.HOT, ("c",))
    report = bench.repair(TwinKind.EQUAL_IN_PART)
    assert not report.left
    check_every_row_is_there_once(bench)
    assert list(bench.twins.tables[Side.HOT].rows) == ["c"]
    assert bench.repairers.statements == ["detach hot", "detach hot"]


def test_as_many_rows_that_are_the_same_are_detached() -> None:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.attached()
    bench.twins.merge(Side.COLD)
    report = bench.repair(TwinKind.AS_MANY_ROWS)
    assert not report.left
    check_every_row_is_there_once(bench)


def test_as_many_rows_of_which_some_are_the_same_are_united_in_the_twin() -> None:
    bench = RepairBench(Twins(("a", "b")))
    bench.twins.insert(Side.COLD, ("b", "c"))
    bench.twins.inserted["b"] = 1
    report = bench.repair(TwinKind.AS_MANY_ROWS)
    assert not report.left
    check_every_row_is_there_once(bench)
    assert not bench.twins.tables[Side.HOT].parts


def test_as_many_rows_that_came_late_are_left() -> None:
    bench = RepairBench(Twins(("a",)))
    bench.twins.insert(Side.COLD, ("b",))
    (left,) = bench.repair(TwinKind.AS_MANY_ROWS).left.values()
    assert left == ("no row of it is in both tables: rows came late", "Run twin_move with the desired state")
    assert not bench.repairers.statements


def test_statements_are_written_to_the_journal_before_they_are_executed() -> None:
    bench = merged_in_both()
    seen: list[int] = []
    bench.repairers.before = lambda _step: seen.append(len(bench.journal.of(Event.WRITING)))
    report = bench.repair()
    assert seen[0] == 1
    written = [sql for each in bench.journal.of(Event.WRITING) for sql in each["operations"]]
    assert written == report.statements


def test_audit_finds_nothing_afterwards() -> None:
    bench = clones_merged()
    bench.repair()
    kinds = {row.verdict.kind for row in audited(bench).rows}
    assert kinds == {TwinKind.COLD}


def ledger_of(bench: RepairBench) -> LedgerEntry | None:
    """What the ledger lists of the partition."""
    ledger = read_ledger(bench.hot.open(), ROOT, PATH)
    return None if ledger is None else ledger.entries.get(DAY)


@each_scene
def test_ledger_lists_what_the_twin_has_afterwards(scene: Scene) -> None:
    bench = scene()
    bench.repair()
    rows = sum(bench.twins.tables[Side.COLD].rows.values())
    entry = ledger_of(bench)
    assert (0 if entry is None else entry.rows) == rows


def test_twin_that_lacks_what_the_ledger_lists_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = clones_merged()
    bench.repair()
    bench.twins.tables[Side.HOT].add(("a",))
    bench.note(bench.record())
    key = next(iter(bench.twins.tables[Side.COLD].parts))
    bench.twins.tables[Side.COLD].parts[key] = ("a",)
    bench.twins.inserted.clear()
    monkeypatch.setattr(run, "judge", lambda _read: {(DAY, ""): TwinVerdict(TwinKind.UNKNOWN)})
    monkeypatch.setattr(
        run, "audit_twins", lambda _reader, path: TwinAudit(path, (TwinRow(path, DAY, "", UNKNOWN),))
    )
    (left,) = bench.repair().left.values()
    assert "the twin lacks rows" in left.reason


@pytest.mark.parametrize("number", range(3))
def test_what_the_twin_gives_up_is_never_lost_by_the_ledger(number: int) -> None:
    """The ledger lists a part of the twin; beside it are clones that were made twice and merged."""
    bench = RepairBench(Twins(("x",), at=Side.COLD))
    bench.twins.tables[Side.HOT].add(("x",))
    assert not bench.repair(TwinKind.EQUAL).left
    bench.twins.insert(Side.HOT, ("b",))
    bench.twins.insert(Side.HOT, ("c",))
    record = bench.record()
    cold = bench.twins.tables[Side.COLD]
    cold.parts[5, 8, 1] = ("b", "c", "b", "c")
    bench.note(record)
    before = ledger_of(bench)
    events_at(bench, number, kill, before=False)
    try:
        bench.repair()
    except Killed:
        kinds = {row.verdict.kind for row in audited(bench).rows}
        assert not kinds & {TwinKind.LOST, TwinKind.SET_ASIDE}
    finish(bench)
    kinds = {row.verdict.kind for row in audited(bench).rows}
    assert not kinds & {TwinKind.LOST, TwinKind.SET_ASIDE, TwinKind.UNKNOWN}
    assert bench.twins.rows == bench.twins.inserted
    after = ledger_of(bench)
    assert before is not None
    assert after is not None
    assert 1 <= after.rows <= sum(cold.rows.values())
