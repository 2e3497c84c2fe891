# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes of a twin are restored only if no replica can lose a part by it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side, TwinTables
from support.memory.ledgers import entered, entries_of
from support.memory.twin_audits import audited
from support.memory.twin_repairs import Killed, RepairBench
from support.memory.twins import DAY, REPLICAS, Twins

LOST = "has lost its znodes"


def lost(*replicas: str) -> RepairBench:
    """A twin of two parts, one merged since it was entered, whose ensemble forgot these replicas."""
    bench = RepairBench(Twins(("a",), ("b",), ("c",), at=Side.COLD))
    entered(bench, bench.repairers)
    bench.twins.merge(Side.COLD)
    bench.repairers.lost.update(replicas or REPLICAS)
    known = bench.servers.change

    def change(tables: TwinTables) -> TwinTables:
        tables = known(tables)
        if tables.replica.name not in bench.repairers.lost:
            return tables
        cold = tables.cold._replace(total_replicas=0, active_replicas=0, problem=LOST, is_lost=True)
        return tables._replace(cold=cold)

    bench.servers.change = change
    return bench


def kinds(bench: RepairBench) -> list[TwinKind]:
    return [row.verdict.kind for row in audited(bench, bench.repairers).rows]


def test_every_replica_is_restored_in_order_and_its_numbers_are_entered() -> None:
    bench = lost()
    before = entries_of(bench)
    planned = bench.repair(TwinKind.NOT_READY, check_mode=True)
    assert not bench.repairers.statements
    done = bench.repair(TwinKind.NOT_READY)
    assert not done.left
    assert (done.repaired, done.statements) == (planned.repaired, planned.statements)
    assert bench.repairers.statements == [
        "RESTART r1",
        "RESTORE r1",
        "RESTART r2",
        "RESTORE r2",
        "SYNC r1",
        "SYNC r2",
    ]
    assert done.statements[1] == "SYSTEM RESTORE REPLICA db.hits_cold -- on server of r1"
    assert bench.twins.rows == bench.twins.inserted
    assert kinds(bench) == [TwinKind.COLD]
    assert entries_of(bench)[DAY].rows == before[DAY].rows
    assert entries_of(bench)[DAY].ranges != before[DAY].ranges
    assert not bench.repair(TwinKind.NOT_READY).repaired


@pytest.mark.parametrize("number", range(6))
def test_killed_repair_is_continued(number: int) -> None:
    bench = lost()

    def kill(_step: str) -> None:
        if len(bench.repairers.statements) == number:
            raise Killed

    bench.repairers.before = kill
    with pytest.raises(Killed):
        bench.repair(TwinKind.NOT_READY)
    bench.repairers.before = lambda _step: None
    bench.repair(TwinKind.NOT_READY)
    assert not bench.repairers.lost
    assert bench.twins.rows == bench.twins.inserted


def left(bench: RepairBench) -> str:
    report = bench.repair(TwinKind.NOT_READY)
    assert not report.repaired
    assert not any("RESTORE" in each for each in bench.repairers.statements)
    return report.left[""].reason


def test_replicas_with_different_parts_are_left() -> None:
    bench = lost()
    bench.twins.insert(Side.COLD, ("d",))
    bench.twins.tables[Side.COLD].late_on_r2.add(max(bench.twins.tables[Side.COLD].parts))
    assert left(bench) == f"server of r1 and server of r2 have different parts of {DAY}"


def test_twin_without_rows_that_the_ledger_lists_is_left() -> None:
    bench = lost()
    bench.repairers.is_checked = False
    bench.twins.tables[Side.COLD].parts.clear()
    assert left(bench).startswith(f"the twin lacks rows of {DAY} that the ledger lists: no part has")


def test_recorded_moves_are_left() -> None:
    bench = lost()
    bench.twins.insert(Side.HOT, ("e",))
    bench.note(bench.record())
    assert left(bench) == "moves are recorded, whose parts would get other names"


def test_replica_without_a_session_is_left() -> None:
    bench = lost("r1")
    known = bench.servers.change

    def change(tables: TwinTables) -> TwinTables:
        tables = known(tables)
        if tables.replica.name == "r1":
            return tables
        return tables._replace(cold=tables.cold._replace(problem="has no session with its ensemble"))

    bench.servers.change = change
    assert left(bench) == "server of r2: has no session with its ensemble"


def test_lost_parts_are_reported_and_not_entered() -> None:
    bench = lost()
    before = entries_of(bench)

    bench.repairers.is_checked = False

    def lose(replica: str) -> None:
        if replica == "r1":
            bench.twins.tables[Side.COLD].parts.clear()

    bench.repairers.restores = lose
    report = bench.repair(TwinKind.NOT_READY)
    assert "has other parts of" in report.left[""].reason
    assert entries_of(bench) == before
