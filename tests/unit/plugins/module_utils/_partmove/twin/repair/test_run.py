# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair finds the partitions of its kind, judges them again under the lease, and confirms the outcome."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NotPermitted,
    PartMoveError,
    UserRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    Lease,
    LeaseKeeper,
    LeaseZnodes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import ReplicaTables
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinShard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.readers import NoReaders
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import TwinRecord
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.run import (
    BY_MOVE,
    BY_ROWS,
    REMEDIES,
    REPAIRED,
    repair_twins,
)
from support.memory.twin_repairs import RepairBench
from support.memory.twins import DAY, PATH, Twins


def unknown() -> RepairBench:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.note(bench.attached()._replace(clones={}))
    bench.twins.merge(Side.COLD)
    bench.twins.tables[Side.COLD].past.clear()
    return bench


def attached() -> RepairBench:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.note(bench.attached())
    return bench


def test_kinds_have_one_remedy_each() -> None:
    assert {*BY_ROWS, TwinKind.SET_ASIDE} == REMEDIES.keys()
    assert {*REMEDIES, *BY_MOVE, TwinKind.NOT_READY} == REPAIRED
    assert len(REPAIRED) == len(REMEDIES) + len(BY_MOVE) + 1
    assert TwinKind.LATE not in REPAIRED


def test_what_a_run_has_begun_is_finished_in_its_direction() -> None:
    bench = attached()
    planned = bench.repair(TwinKind.ATTACHED, check_mode=True)
    report = bench.repair(TwinKind.ATTACHED)
    assert list(report.repaired) == list(planned.repaired) == [DAY]
    assert report.repaired[DAY].what == "its move was finished"
    assert not bench.records
    assert not bench.twins.tables[Side.HOT].parts
    assert bench.twins.rows == bench.twins.inserted


def test_move_that_is_undone_is_not_begun_again() -> None:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.note(bench.record())
    bench.twins.merge(Side.HOT)
    report = bench.repair(TwinKind.STALE)
    assert report.repaired[DAY].what == "its move was undone"
    assert not bench.records
    assert not bench.twins.tables[Side.COLD].parts


def test_other_kinds_are_left_out() -> None:
    bench = attached()
    report = bench.repair()
    assert not report.repaired
    assert not report.left
    assert bench.records


def test_partitions_that_are_not_named_are_left_out() -> None:
    bench = unknown()
    assert not repair_twins(bench.context(), PATH, TwinKind.UNKNOWN, only=["x"]).repaired
    assert list(repair_twins(bench.context(), PATH, TwinKind.UNKNOWN, only=[DAY]).repaired) == [DAY]


class ChangingLeases(LeaseKeeper):
    """Another run ends just before this one has the lease."""

    bench: RepairBench

    def acquire(self, shard_path: str, seen: LeaseZnodes | None = None) -> Lease:
        store = self.bench.hot.open()
        (path,) = self.bench.records
        (znode,) = store.read([path])
        assert znode is not None
        store.commit([(Delete(path, znode.stat.version),)])
        return super().acquire(shard_path, seen)


def test_partition_of_another_kind_by_now_is_left() -> None:
    bench = unknown()
    context = bench.context()
    leases = ChangingLeases(context.hot, None, bench.clock, owner="a test")
    leases.bench = bench
    report = repair_twins(context._replace(leases=leases), PATH, TwinKind.UNKNOWN)
    assert report.left[DAY].reason == "it is as_many_rows by now, no longer unknown"
    assert not report.repaired
    assert not bench.repairers.statements


def test_shard_path_that_another_run_works_on_is_left() -> None:
    bench = unknown()
    other = LeaseKeeper(bench.hot.open(), None, bench.clock, owner="another run", wait_seconds=0)
    context = bench.context()
    lease = other.acquire(PATH)
    report = repair_twins(context, PATH, TwinKind.UNKNOWN)
    assert "another run" in report.left[DAY].reason
    assert not bench.repairers.statements
    other.release(lease)
    assert not bench.repair().left


def test_silent_server_leaves_all_partitions() -> None:
    bench = unknown()
    bench.repairers.silent = ["r2"]
    report = bench.repair()
    assert not report.repaired
    assert "cannot be reached" in report.left[""].reason


def test_shard_path_that_cannot_be_judged_is_an_error() -> None:
    bench = unknown()
    with pytest.raises(PartMoveError):
        repair_twins(bench.context(), "/tables/01/other", TwinKind.UNKNOWN)


def test_journal_says_what_is_repaired_and_left() -> None:
    bench = unknown()
    bench.repair()
    (begun,) = bench.journal.of(Event.REPAIRING)
    (done,) = bench.journal.of(Event.REPAIRED)
    assert (begun["partition"], begun["kind"], done["kind"]) == (DAY, "unknown", "unknown")
    bench = RepairBench(Twins(("a",)))
    bench.twins.insert(Side.COLD, ("b",))
    bench.repair(TwinKind.AS_MANY_ROWS)
    (left,) = bench.journal.of(Event.LEFT)
    assert left["reason"] == "no row of it is in both tables: rows came late"


@pytest.mark.parametrize("error", [NotPermitted("no right to ALTER"), UserRefused("another password")])
def test_what_a_server_does_not_permit_ends_the_repair(error: PartMoveError) -> None:
    bench = unknown()

    def refuse(_statement: str) -> None:
        raise error

    bench.repairers.before = refuse
    report = bench.repair()
    assert report.error is error
    assert report.left[DAY].reason == error.message
    assert not report.repaired
    assert bench.records


@pytest.mark.parametrize("error", [NotPermitted("no right to SELECT"), UserRefused("another password")])
def test_user_who_may_read_nothing_is_an_error(error: PartMoveError, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = unknown()
    ask = bench.repairers.pair

    def refuse(shard_path: str, replica: TwinReplica) -> ReplicaTables:
        if replica.name == "r2":
            raise error
        return ask(shard_path, replica)

    monkeypatch.setattr(bench.repairers, "pair", refuse)
    with pytest.raises(type(error)):
        bench.repair()


class Watched(NoReaders):
    """Notes what a repair asks of readers, in the list of statements."""

    def __init__(self, bench: RepairBench) -> None:
        self.bench = bench
        self.refusal: Refusal | None = None

    def before_repair(self, tables: Sequence[TwinTables]) -> Refusal | None:
        """As Readers says."""
        (data,) = self.bench.records.values()
        assert b'"repairing":true' in data
        self.bench.repairers.statements.append("show")
        return self.refusal

    def before_removal(self, tables: Sequence[TwinTables], removed: Collection[str]) -> Refusal | None:
        """As Readers says."""
        assert (list(removed), len(self.bench.records)) == ([DAY], 1)
        self.bench.repairers.statements.append("before removal")
        return None

    def after(self, tables: Sequence[TwinTables], left: Mapping[str, TwinRecord]) -> None:
        """As Readers says."""
        self.bench.repairers.statements.append("after")


def watched() -> tuple[RepairBench, Watched]:
    bench = unknown()
    readers = Watched(bench)

    def opened(shard: TwinShard, **_options: object) -> Watched:
        assert shard.shard_path == PATH
        return readers

    bench.readers = opened
    return bench, readers


def test_readers_see_everything_before_a_part_goes_and_before_the_record_goes() -> None:
    bench, _readers = watched()
    assert not bench.repair().left
    assert bench.repairers.statements == ["show", "detach hot", "detach hot", "before removal"]
    assert not bench.records


def test_nothing_goes_while_readers_may_see_less() -> None:
    bench, readers = watched()
    readers.refusal = Refusal(GateName.READERS_DONE, "they still read", "Wait")
    assert bench.repair().left[DAY].reason == "they still read"
    assert bench.repairers.statements == ["show", "after"]
    readers.refusal = None
    bench.repairers.statements.clear()
    assert not bench.repair().left
    assert bench.repairers.statements == ["show", "detach hot", "detach hot", "before removal"]
