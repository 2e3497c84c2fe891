# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A lease taken by znodes of an earlier read: fewer requests, and the same lease whatever happened since."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseHeld
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import (
    lease_paths_in_hot,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    LeaseKeeper,
    LeaseZnodes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete
from support.memory.bench import HookedStore
from support.memory.leased_before import PATH, LeasedBefore
from support.memory.memory import ManualClock, MemoryEnsemble


@pytest.fixture
def place() -> LeasedBefore:
    return LeasedBefore()


def test_current_znodes_are_not_read_again(place: LeasedBefore) -> None:
    seen = place.seen()
    for store in place.stores:
        store.paths.clear()
    lease = place.keeper.acquire(PATH, seen)
    assert (lease.hot_epoch, lease.cold_epoch) == (1, 1) == place.epochs()
    assert place.stores[0].paths[:2] == [*lease_paths_in_hot(DEFAULT_ROOT, PATH)]
    assert len(place.stores[0].paths) == 4, "lock and epoch once, behind the epochs, and two bars"
    assert not place.stores[1].paths


def test_epochs_raised_since_are_raised_further(place: LeasedBefore) -> None:
    seen = place.seen()
    other = place.other()
    place.hot.open().commit([(Delete(other.lock_path, 0),)])
    lease = place.keeper.acquire(PATH, seen)
    assert (lease.hot_epoch, lease.cold_epoch) == (2, 2) == place.epochs()


def test_a_lock_taken_since_is_respected(place: LeasedBefore) -> None:
    seen = place.seen()
    place.other()
    with pytest.raises(LeaseHeld, match="another run"):
        place.keeper.acquire(PATH, seen)
    assert place.epochs() == (1, 1)


def test_a_lock_that_was_seen_is_waited_for(place: LeasedBefore) -> None:
    place.other()
    with pytest.raises(LeaseHeld, match="another run"):
        place.keeper.acquire(PATH, place.seen())


def test_a_lock_that_was_seen_may_be_gone_by_now(place: LeasedBefore) -> None:
    other = place.other()
    seen = place.seen()
    place.hot.open().commit([(Delete(other.lock_path, 0),)])
    assert place.keeper.acquire(PATH, seen).hot_epoch == 2


@pytest.mark.parametrize("seen", [LeaseZnodes(), None])
def test_epochs_that_were_not_seen(place: LeasedBefore, seen: LeaseZnodes | None) -> None:
    assert place.keeper.acquire(PATH, seen).cold_epoch == 1


def test_a_first_lease_by_what_was_not_there() -> None:
    clock = ManualClock()
    stores = [HookedStore(MemoryEnsemble(name, clock)) for name in ("hot", "cold")]
    keeper = LeaseKeeper(stores[0], stores[1], clock, owner="a run", wait_seconds=0.0)
    lease = keeper.acquire(PATH, LeaseZnodes())
    assert (lease.hot_epoch, lease.cold_epoch) == (0, 0)
