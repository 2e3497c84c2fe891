# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A switch with a lost answer, and members that are behind when the outcome is read or undone."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree import multi_batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, SetData
from support.memory.behind import lag, lose_answer
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.tables import TableOptions, days


def switches(multi: Multi) -> bool:
    return any(isinstance(op, SetData) and op.data == b"COLD" for op in multi)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_switch_that_was_applied_is_found_out_where_hot_is_behind(bench: Bench) -> None:
    """Otherwise the partition would never be checked."""
    hot, _cold = lag(bench)
    hot.before = lambda multi: hot.fall_behind() if switches(multi) else None
    lose_answer(hot, bench.hot_ensemble, switches)

    report = bench.move(DAY, OTHER)

    assert report.moved.keys() == {DAY, OTHER}
    assert (report.unchanged, report.failed) == (set(), {})


def test_a_switch_that_was_not_applied_is_made_again(bench: Bench) -> None:
    left = [True]
    bench.hot_store.loses = lambda multi: switches(multi) and bool(left) and left.pop()

    assert bench.move(DAY).moved.keys() == {DAY}
    assert bench.hot.exists(bench.part()) is None


def test_a_late_insert_is_found_although_the_answer_was_lost(bench: Bench) -> None:
    bench.before_switch(lambda: bench.servers.insert(DAY))
    lose_answer(bench.hot_store, bench.hot_ensemble, switches)

    assert bench.move(DAY).deferred[DAY].gate is GateName.LATE_INSERT
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"HOT"


def test_partitions_switched_before_the_lease_was_lost_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second multi is refused; the run continues under another lease, and reports the first one too."""
    monkeypatch.setattr(multi_batches, "MAX_OPS", 34)
    week = days(9)
    bench = Bench(TableOptions(partitions=week))
    left = [True]
    bench.after_switch(lambda: bench.hot_store.expire() if left and left.pop() else None)

    report = bench.move(*week)

    assert report.moved.keys() == set(week)
    assert report.unchanged == set()


def test_a_switch_is_not_undone_where_cold_is_behind_a_drop(bench: Bench) -> None:
    """The servers removed the copies then, and the parts from their disks."""
    _hot, cold = lag(bench)

    def insert_and_drop() -> None:
        cold.fall_behind()
        bench.servers.insert(DAY)
        bench.servers.drop(DAY)

    bench.after_switch(insert_and_drop)

    assert bench.move(DAY).failed[DAY].gate is GateName.LATE_INSERT
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [f"{DAY}_2_2_0", f"{OTHER}_0_0_0"]
    assert bench.hot.exists(bench.part(name=PART)) is None


def test_a_state_that_is_deleted_while_the_answer_is_lost_is_made_again(bench: Bench) -> None:
    left = [True]

    def loses(multi: Multi) -> bool:
        if not (switches(multi) and left):
            return False
        bench.hot.delete(f"{PATH}/block_numbers/{DAY}/State")
        return left.pop()

    bench.hot_store.loses = loses

    assert bench.move(DAY).moved.keys() == {DAY}
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"COLD"
