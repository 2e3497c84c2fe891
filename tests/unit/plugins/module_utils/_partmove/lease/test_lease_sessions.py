# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leases of a run whose connection breaks with ClickHouse Keeper, which gives it a new session.

The former session ends some time later, and the lock with it, unless the run has replaced the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    LeaseHeld,
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import confirm_lease
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    Lease,
    LeaseKeeper,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Multi,
    Outcome,
    Unknown,
)
from support.memory.behind import Behind
from support.memory.bench import LOCK, PATH, HookedStore
from support.memory.memory import ManualClock, MemoryEnsemble


class LosingStore(HookedStore):
    """Applies the next multi with the lock, loses its answer, and gets a new session."""

    loses_next = False

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        made = [*multis]
        outcomes = super().commit(made)
        if self.loses_next and any(op.path == LOCK for op in made[0]):
            self.loses_next = False
            self.replace_session()
            return [Unknown("lost")]
        return outcomes


class Run:
    """One run, with a session in each ensemble."""

    def __init__(self, hot: MemoryEnsemble, cold: MemoryEnsemble) -> None:
        self.hot, self.cold = LosingStore(hot), HookedStore(cold)
        self.keeper = LeaseKeeper(self.hot, self.cold, hot.clock, owner="a run", wait_seconds=0.0)

    def reconnect(self) -> Callable[[], None]:
        """Get a new session; return what ends the former one."""
        self.hot.replace_session()
        return self.hot.end_former_sessions

    def accepts(self, lease: Lease) -> bool:
        """Return whether hot and cold apply writes under the lease."""
        stores = ((self.hot, lease.hot_checks), (self.cold, lease.cold_checks))
        return all(isinstance(store.commit([checks])[0], Committed) for store, checks in stores)


class Place:
    """Two ensembles of any number of runs."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock) for name in ("hot", "cold"))

    def run(self) -> Run:
        return Run(self.hot, self.cold)

    def has_lock(self) -> bool:
        return self.hot.read([LOCK]) != [None]


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_lock_whose_answer_was_lost_is_known_in_the_next_session(place: Place) -> None:
    run = place.run()
    run.hot.loses_next = True
    began = place.clock.now()

    lease = run.keeper.acquire(PATH)

    assert place.clock.now() == began
    run.hot.end_former_sessions()
    assert run.accepts(lease)


def test_a_lock_that_an_earlier_lease_left_is_replaced(place: Place) -> None:
    run = place.run()
    first = run.keeper.acquire(PATH)
    end_former = run.reconnect()

    second = run.keeper.acquire(PATH)

    end_former()
    assert run.accepts(second)
    assert not run.accepts(first)


def test_a_confirmed_lease_outlives_the_session_that_created_its_lock(place: Place) -> None:
    run = place.run()
    lease = run.keeper.acquire(PATH)
    end_former = run.reconnect()

    confirm_lease(run.hot, lease, PATH)

    end_former()
    assert run.accepts(lease)
    run.keeper.release(lease)
    assert not place.has_lock()


def test_a_lease_that_nobody_confirmed_is_lost_with_its_session(place: Place) -> None:
    run = place.run()
    lease = run.keeper.acquire(PATH)
    run.reconnect()()

    assert not run.accepts(lease)
    with pytest.raises(LeaseLost):
        confirm_lease(run.hot, lease, PATH)


def test_a_new_session_while_cold_is_raised(place: Place) -> None:
    run = place.run()
    ends: list[Callable[[], None]] = []
    run.cold.before = lambda _multi: ends.append(run.reconnect())

    lease = run.keeper.acquire(PATH)
    confirm_lease(run.hot, lease, PATH)

    for end in ends:
        end()
    assert run.accepts(lease)


def test_the_lock_of_a_run_that_took_over_stays(place: Place) -> None:
    """It comes between the look at the lock and its replacement."""
    run, other = place.run(), place.run()
    lease = run.keeper.acquire(PATH)
    end_former = run.reconnect()
    taken: list[Lease] = []

    def take_over(_multi: Multi) -> None:
        run.hot.before = lambda _multi: None
        end_former()
        taken.append(other.keeper.acquire(PATH))

    run.hot.before = take_over

    with pytest.raises(LeaseLost):
        confirm_lease(run.hot, lease, PATH)
    assert other.accepts(taken[0])


def test_the_lock_of_a_run_that_takes_over_during_acquire_stays(place: Place) -> None:
    run, other = place.run(), place.run()
    run.keeper.acquire(PATH)
    end_former = run.reconnect()
    taken: list[Lease] = []

    def take_over(multi: Multi) -> None:
        if any(isinstance(op, Create) for op in multi) and not taken:
            end_former()
            taken.append(other.keeper.acquire(PATH))

    run.hot.before = take_over

    with pytest.raises(LeaseHeld):
        run.keeper.acquire(PATH)
    assert other.accepts(taken[0])


def test_an_interrupted_run_leaves_the_lock_to_the_run_that_took_over(place: Place) -> None:
    run, other = place.run(), place.run()
    taken: list[Lease] = []

    def end(_multi: Multi) -> None:
        run.reconnect()()
        taken.append(other.keeper.acquire(PATH))
        raise KeyboardInterrupt

    run.cold.before = end

    with pytest.raises(KeyboardInterrupt):
        run.keeper.acquire(PATH)
    assert other.accepts(taken[0])


def test_an_interrupted_run_deletes_the_lock_of_its_former_session(place: Place) -> None:
    run = place.run()

    def end(_multi: Multi) -> None:
        run.reconnect()
        raise KeyboardInterrupt

    run.cold.before = end

    with pytest.raises(KeyboardInterrupt):
        run.keeper.acquire(PATH)
    assert not place.has_lock()


def test_two_runs_with_one_session_exclude_each_other(place: Place) -> None:
    run = place.run()
    second = LeaseKeeper(run.hot, run.cold, place.clock, owner="a run", wait_seconds=0.0)
    lease = run.keeper.acquire(PATH)

    with pytest.raises(LeaseHeld):
        second.acquire(PATH)
    assert run.accepts(lease)


def test_a_member_behind_shows_no_lock_that_is_gone(place: Place) -> None:
    """A run that does not wait begins all the same."""
    other = place.run()
    lease = other.keeper.acquire(PATH)
    behind = Behind(place.hot)
    behind.fall_behind()
    other.keeper.release(lease)

    run = LeaseKeeper(behind, None, place.clock, owner="a run", wait_seconds=0.0)

    assert run.acquire(PATH).hot_epoch == lease.hot_epoch + 1


@pytest.mark.parametrize("applied", [True, False])
def test_a_replacement_with_a_lost_answer(place: Place, applied: bool) -> None:
    run = place.run()
    lease = run.keeper.acquire(PATH)
    end_former = run.reconnect()
    if applied:
        run.hot.loses_next = True
    else:
        run.hot.loses = lambda _multi: True

    confirm_lease(run.hot, lease, PATH)
    run.hot.loses = lambda _multi: False
    confirm_lease(run.hot, lease, PATH)

    end_former()
    assert run.accepts(lease)


def test_a_denied_replacement_is_reported(place: Place) -> None:
    run = place.run()
    lease = run.keeper.acquire(PATH)
    run.reconnect()
    run.hot.denied_writes.add(LOCK)

    with pytest.raises(AccessDenied):
        confirm_lease(run.hot, lease, PATH)
