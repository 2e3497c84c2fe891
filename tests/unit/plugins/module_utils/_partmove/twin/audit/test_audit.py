# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An audit reports what two reads find, and knows every state that a killed run leaves."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    audit_twins,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Died, Script
from support.memory.twin_audits import SILENT, MemoryWitnesses, audited, reader_of
from support.memory.twins import DAY, PATH, TwinBench, Twins

FIRST, SECOND = ("a", "b"), ("c",)


def kinds(audit: TwinAudit) -> dict[str, TwinKind]:
    """Map partitions or replicas to kinds."""
    assert not audit.unjudged
    return {row.partition or row.replica: row.verdict.kind for row in audit.rows}


@pytest.mark.parametrize("destination", list(Side))
def test_another_run_ends_every_state_that_a_killed_run_leaves(destination: Side) -> None:
    trace = Script()
    TwinBench(Twins(FIRST, SECOND, at=destination.other)).run(destination, trace)
    seen = set()
    for number in range(len(trace.trace)):
        bench = TwinBench(Twins(FIRST, SECOND, at=destination.other))
        script = Script()
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script)
        bench.servers.script = Script()
        ((_day, kind),) = kinds(audited(bench)).items()
        assert kind.is_begun or kind.is_consistent, (number, kind)
        assert kind.is_begun == bool(bench.records)
        seen.add(kind)
        bench.run(destination)
        bench.servers.script = Script()
        assert kinds(audited(bench)) == {DAY: TwinKind(destination.value)}
    assert seen == {
        TwinKind.HOT,
        TwinKind.COLD,
        TwinKind.RECORDED,
        TwinKind.CLONED,
        TwinKind.ATTACHED,
        TwinKind.DROPPED_PARTLY,
        TwinKind.DROPPED,
    }


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(FIRST, at=Side.HOT))


def test_an_inconsistency_that_ends_between_two_reads_is_not_reported(bench: TwinBench) -> None:
    bench.twins.insert(Side.COLD, FIRST)
    servers = MemoryWitnesses(bench.servers)
    reader = reader_of(bench, servers)
    reader.wait = lambda _seconds: bench.twins.tables[Side.COLD].drop(f"{DAY}_1_1_0")  # type: ignore[assignment,method-assign]
    assert kinds(audit_twins(reader, PATH)) == {DAY: TwinKind.HOT}
    assert servers.looks == 4


def test_a_replica_is_reported_only_if_both_reads_find_it(
    bench: TwinBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = MemoryWitnesses(bench.servers)
    servers.lacking = ["r2"]
    reader = reader_of(bench, servers)

    def wait(_seconds: float) -> None:
        servers.lacking = ["r1"]

    monkeypatch.setattr(reader, "wait", wait)
    assert kinds(audit_twins(reader, PATH)) == {}


def test_consistent_partitions_are_read_once(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)
    assert kinds(audited(bench, servers)) == {DAY: TwinKind.HOT}
    assert servers.looks == 2


def test_an_inconsistency_in_both_reads_is_reported(bench: TwinBench) -> None:
    bench.twins.insert(Side.COLD, FIRST)
    before = bench.hot.data()
    audit = audited(bench)
    assert kinds(audit) == {DAY: TwinKind.EQUAL}
    assert str(audit.tables and audit.tables.cold) == "db.hits_cold"
    assert bench.hot.data() == before
    assert bench.servers.statements == []


def test_a_move_in_progress_is_not_judged(bench: TwinBench) -> None:
    bench.twins.insert(Side.COLD, FIRST)
    bench._create(bench.hot.open(), path_of_lock("/partmove", PATH), b"a run")
    (row,) = audited(bench).rows
    assert (row.verdict.kind, row.verdict.reason) == (
        TwinKind.NOT_JUDGED,
        "a run works on the table: a run",
    )


def test_replicas_are_reported_if_partitions_cannot_be_read(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)
    servers.lacking = ["r2"]
    assert kinds(audited(bench, servers)) == {"r2": TwinKind.TWIN_MISSING}
    servers.lacking = ["r1", "r2"]
    assert kinds(audited(bench, servers)) == {"": TwinKind.WITHOUT_TWIN}
    servers.silent = ["r1"]
    assert kinds(audited(bench, servers)) == {"r1": TwinKind.NOT_JUDGED}
    servers.silent, servers.lacking, servers.ceases = [], [], True
    (row,) = audited(bench, servers).rows
    assert (row.verdict.kind, row.verdict.reason) == (TwinKind.NOT_JUDGED, f"{SILENT}.")


def test_a_record_without_its_table_is_reported(bench: TwinBench) -> None:
    path = Records(bench.hot.open(), "/partmove", "/gone").path(DAY)
    bench._create(bench.hot.open(), path, b"something")
    (row,) = audit_twins(reader_of(bench), "/gone").rows
    assert (row.verdict.kind, row.verdict.record) == (TwinKind.TABLE_GONE, path)


def test_an_audit_says_since_when_records_and_bars_are_there(bench: TwinBench) -> None:
    store = bench.hot.open()
    records = Records(store, "/partmove", PATH)
    trace = Script()
    TwinBench(Twins(FIRST, at=Side.HOT)).run(Side.COLD, trace)
    script = Script()
    attach = next(number for number, each in enumerate(trace.trace) if each.startswith("servers attach"))
    script.actions[attach] = script.die
    with pytest.raises(Died):
        bench.run(Side.COLD, script)
    bench.servers.script = Script()
    bench._create(store, records.path("other"), b"something")
    hold = Hold("me", "a migration", 5)
    bench._create(store, path_of_bar("/partmove", Bar.HOLD, PATH), hold.data)
    audit = audited(bench)
    assert audit.began == {DAY: records.read([DAY])[DAY].record.began}
    assert (audit.hold, audit.alter) == (hold, None)
