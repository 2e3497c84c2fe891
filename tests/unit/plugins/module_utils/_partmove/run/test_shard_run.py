# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The frame of a run: what is read first, what needs the lease, and which errors defer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    BindingConflict,
    EnsembleUnreachable,
    FormatError,
    LeaseLost,
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease, LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import Pace, UnlimitedPace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.report import RunReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.shard_run import ShardRun
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import Clock, ZnodeReader
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble

PATH = "/tables/01/hits"


class Context(NamedTuple):
    hot: ZnodeReader
    clock: Clock
    leases: LeaseKeeper
    pace: Pace = UnlimitedPace()


class Run(ShardRun[Context, RunReport[str]]):
    """A run that does as it is told."""

    def __init__(self, work: Callable[[Lease, Sequence[str]], None] | None = None, pace: Pace | None = None):
        hot = MemoryEnsemble("hot")
        self.report: RunReport[str] = RunReport(PATH)
        keeper = LeaseKeeper(hot.open(), None, hot.clock, owner="a test", wait_seconds=0)
        super().__init__(Context(hot.open(), hot.clock, keeper, pace or UnlimitedPace()), self.report)
        self.hot = hot
        self.read: Sequence[str] = ()
        self.worked: list[list[str]] = []
        self.closed = 0
        self._work = work

    def _read_first(self, requested: Sequence[str]) -> None:
        self.read = requested
        self.report.unchanged.update(each for each in requested if each.startswith("done"))

    def _work_under_lease(self, lease: Lease, partition_ids: Sequence[str]) -> None:
        self.worked.append(list(partition_ids))
        if self._work is not None:
            self._work(lease, partition_ids)
        self.report.moved.update(dict.fromkeys(partition_ids, "row"))

    def _close_report(self) -> None:
        self.closed += 1


def test_partitions_are_read_sorted_and_once() -> None:
    run = Run()
    run.carry_out(["b", "a", "b", "done"])
    assert run.read == ["a", "b", "done"]
    assert run.worked == [["a", "b"]]
    assert run.closed == 1


def test_an_unfinished_statement_is_named_before_anything_is_read() -> None:
    run = Run()
    path = path_of_bar("/partmove", Bar.ALTER, PATH)
    MemoryClient(run.hot.open()).create(path, b"a statement", makepath=True)
    run.carry_out(["a", "done"])
    assert {each: why.gate for each, why in run.report.deferred.items()} == dict.fromkeys(
        ["a", "done"], GateName.ALTER_FINISHED
    )
    assert (run.read, run.worked, run.closed) == ((), [], 1)


def test_no_lease_is_taken_where_reading_settles_everything() -> None:
    run = Run()
    run.carry_out(["done"])
    assert (run.worked, run.hot.data()) == ([], {"/": b""})


def test_after_a_lost_lease_the_open_partitions_are_worked_on() -> None:
    def lose_once(_lease: Lease, _partitions: Sequence[str]) -> None:
        if len(run.worked) == 1:
            run.report.moved["a"] = "row"
            raise LeaseLost("gone")

    run = Run(lose_once)
    run.carry_out(["a", "b"])
    assert run.worked == [["a", "b"], ["b"]]
    assert run.report.moved.keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("error", "gate"),
    [
        (NoSuchTable("gone", remedy="Do this"), GateName.PARTITION_EXISTS),
        (FormatError("odd", remedy="Do this"), GateName.READABLE),
        (BindingConflict("not ours", remedy="Do this"), GateName.BOUND_HERE),
        (LeaseLost("lost", remedy="Do this"), GateName.LOCK_KEPT),
    ],
)
def test_errors_about_one_shard_path_defer_what_is_open(error: PartMoveError, gate: GateName) -> None:
    def fail(_lease: Lease, _partitions: Sequence[str]) -> None:
        run.report.moved["a"] = "row"
        raise error

    run = Run(fail)
    run.carry_out(["a", "b"])
    assert run.report.moved.keys() == {"a"}
    refusal = run.report.deferred["b"]
    assert (refusal.gate, refusal.reason, refusal.remedy) == (gate, error.message, "Do this")
    assert run.closed == 1


def test_other_errors_end_the_run_after_its_report_was_closed() -> None:
    def fail(_lease: Lease, _partitions: Sequence[str]) -> None:
        raise EnsembleUnreachable("hot does not answer")

    run = Run(fail)
    with pytest.raises(EnsembleUnreachable):
        run.carry_out(["a"])
    assert (run.closed, run.report.open(["a"])) == (1, ["a"])


def test_the_pace_is_waited_for_before_anything_is_read() -> None:
    class Refusing(UnlimitedPace):
        def wait(self, parts: int, clock: Clock) -> None:
            raise PartMoveError("paused")

    run = Run(pace=Refusing())
    with pytest.raises(PartMoveError, match="paused"):
        run.carry_out(["a"])
    assert run.read == ()


def test_each_paced_batch_waits_for_its_parts() -> None:
    waits: list[int] = []

    class Recording(UnlimitedPace):
        parts_at_once = 2

        def wait(self, parts: int, clock: Clock) -> None:
            waits.append(parts)

    run = Run(pace=Recording())
    run._parts = {"a": 2, "b": 1}
    batches = run._paced(["a", "b", "c"])
    assert waits == []
    assert next(batches) == ["a"]
    assert waits == [2]
    assert list(batches) == [["b", "c"]]
    assert waits == [2, 2]


def test_a_hold_whose_time_has_passed_is_in_the_report() -> None:
    run = Run()
    hold = Hold("me", "a migration", 0)
    MemoryClient(run.hot.open()).create(path_of_bar("/partmove", Bar.HOLD, PATH), hold.data, makepath=True)
    run.carry_out(["a"])
    assert run.report.ended_hold == hold
    assert run.report.moved.keys() == {"a"}
