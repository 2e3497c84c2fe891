# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The downgrade guard reads the newest data, even if members are behind."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
    StillCold,
    Withdrawal,
    withdraw_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete, Multi
from support.memory.behind import Behind
from support.memory.bench import DAY, OTHER, PATH, Bench, HookedStore
from support.memory.ledger import enter

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")


@pytest.fixture
def bench() -> Bench:
    """A bench with one partition that was brought back and one that was never moved."""
    bench = Bench()
    assert bench.move(OTHER).moved.keys() == {OTHER}
    assert bench.reheat(OTHER).moved.keys() == {OTHER}
    bench.clock.sleep(600.0)
    assert bench.reheat(OTHER).copies_removed == {OTHER}
    return bench


@pytest.mark.parametrize("name", ["hot", "cold"])
def test_a_move_that_a_member_does_not_know_of_is_in_the_way(bench: Bench, name: str) -> None:
    hot, cold = Behind(bench.hot_ensemble), Behind(bench.cold_ensemble)
    {"hot": hot, "cold": cold}[name].fall_behind()
    assert bench.move(DAY).moved.keys() == {DAY}

    found = DowngradeGuard(hot, cold, DEFAULT_ROOT).cold_partitions(PATH)

    assert [each.partition for each in found] == [DAY]


def test_an_entry_that_a_member_does_not_know_of_is_withdrawn(bench: Bench) -> None:
    hot = Behind(bench.hot_ensemble)
    enter(bench.hot_store, bench.cold_store, R1)
    hot.fall_behind()
    enter(bench.hot_store, bench.cold_store, R2)

    for key in (R2, R1):
        assert Ledger(hot).withdraw(key).changed

    assert Ledger(bench.hot_store).replicas(PATH) == []


def test_entries_are_gone_before_the_last_check(bench: Bench) -> None:
    """So no partition can become cold after that check."""
    enter(bench.hot_store, bench.cold_store, R1, R2)
    hot = HookedStore(bench.hot_ensemble)

    def move_before_the_last_is_gone(multi: Multi) -> None:
        if any(isinstance(op, Delete) and op.path.endswith("/r2") for op in multi):
            assert bench.move(DAY).moved.keys() == {DAY}

    hot.before = move_before_the_last_is_gone
    guard = DowngradeGuard(hot, bench.cold_store, DEFAULT_ROOT)
    withdrawal = Withdrawal()

    with pytest.raises(StillCold, match="the entries were withdrawn by then, and stay withdrawn"):
        withdraw_replicas(guard, Ledger(hot), [R1, R2], withdrawal)
    assert [each.partition for each in withdrawal.cold_partitions] == [DAY]
    assert Ledger(bench.hot_store).replicas(PATH) == []
