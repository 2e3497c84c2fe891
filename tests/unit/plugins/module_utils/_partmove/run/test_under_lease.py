# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work continues under a new lease after a lost lease, a limited number of times."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseLost, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    Lease,
    LeaseKeeper,
    LeaseZnodes,
    path_of_lock,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.under_lease import (
    MAX_LEASES,
    work_under_leases,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble

PATH = "/tables/01/hits"
LOCK = path_of_lock("/partmove", PATH)


class Ground:
    """The lock of a shard path, and work that first loses its lease ``losses`` times."""

    def __init__(self, losses: int = 0) -> None:
        self.hot = MemoryEnsemble("hot")
        self.store = self.hot.open()
        self.leases = LeaseKeeper(self.store, None, self.hot.clock, owner="a test", wait_seconds=0)
        self.losses = losses
        self.worked = 0

    @property
    def is_locked(self) -> bool:
        return self.store.read([LOCK])[0] is not None

    def work(self, _lease: Lease) -> None:
        assert self.is_locked
        self.worked += 1
        if self.worked <= self.losses:
            raise LeaseLost("the session ended", remedy="Run again")


@pytest.mark.parametrize("losses", range(MAX_LEASES))
def test_work_ends_under_the_first_kept_lease(losses: int) -> None:
    ground = Ground(losses)
    assert work_under_leases(ground.leases, PATH, ground.work) is None
    assert ground.worked == losses + 1
    assert not ground.is_locked


def test_losing_all_leases_is_a_refusal() -> None:
    ground = Ground(MAX_LEASES)
    refusal = work_under_leases(ground.leases, PATH, ground.work)
    assert refusal == (GateName.LOCK_KEPT, "the session ended", "Run again")
    assert ground.worked == MAX_LEASES
    assert not ground.is_locked


def test_a_lease_of_another_run_is_waited_for_only_once() -> None:
    ground = Ground()
    other = ground.hot.open()
    ensure_path(other, LOCK)
    refusal = work_under_leases(ground.leases, PATH, ground.work)
    assert refusal is not None
    assert refusal.gate is GateName.LOCK_FREE
    assert ground.worked == 0


def test_other_errors_are_raised_and_the_lease_is_released() -> None:
    ground = Ground()

    def fail(_lease: Lease) -> None:
        raise PartMoveError("it cannot be")

    with pytest.raises(PartMoveError, match="it cannot be"):
        work_under_leases(ground.leases, PATH, fail)
    assert not ground.is_locked


@pytest.mark.parametrize("lost_at", [{1}, {2}, {1, 2}], ids=["first", "second", "both"])
def test_no_work_is_done_where_the_lease_is_lost_while_it_is_taken(
    lost_at: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(losses=1)
    acquire = ground.leases.acquire
    acquired: list[Lease | None] = []
    worked: list[Lease] = []

    def losing(shard_path: str, seen: LeaseZnodes | None) -> Lease:
        if len(acquired) + 1 in lost_at:
            acquired.append(None)
            raise LeaseLost("the lock was lost", remedy="Run again")
        lease = acquire(shard_path, seen)
        acquired.append(lease)
        return lease

    def work(lease: Lease) -> None:
        worked.append(lease)
        ground.work(lease)

    monkeypatch.setattr(ground.leases, "acquire", losing)
    refusal = work_under_leases(ground.leases, PATH, work)
    assert worked == [each for each in acquired if each is not None]
    assert (refusal is None) is (len(lost_at) == 1)
    assert not ground.is_locked


def test_what_was_seen_before_the_first_lease_is_not_used_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground = Ground(losses=1)
    acquire = ground.leases.acquire
    used: list[LeaseZnodes | None] = []

    def recording(shard_path: str, seen: LeaseZnodes | None) -> Lease:
        used.append(seen)
        return acquire(shard_path, seen)

    monkeypatch.setattr(ground.leases, "acquire", recording)
    assert work_under_leases(ground.leases, PATH, ground.work, LeaseZnodes()) is None
    assert used == [LeaseZnodes(), None]


@pytest.mark.parametrize(
    ("bar", "data", "gate"),
    [
        (Bar.HOLD, Hold("me", "a migration", 2**60).data, GateName.NOT_HELD),
        (Bar.ALTER, b"a statement", GateName.ALTER_FINISHED),
    ],
)
def test_a_bar_is_a_refusal(bar: Bar, data: bytes, gate: GateName) -> None:
    ground = Ground()
    MemoryClient(ground.hot.open()).create(path_of_bar("/partmove", bar, PATH), data, makepath=True)
    refusal = work_under_leases(ground.leases, PATH, ground.work)
    assert refusal is not None
    assert (refusal.gate, ground.worked, ground.is_locked) == (gate, 0, False)
