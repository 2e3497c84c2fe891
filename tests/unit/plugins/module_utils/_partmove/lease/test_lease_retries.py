# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is missing, changed or denied while a run takes a lease: made again, lost, or reported."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import AccessDenied, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import confirm_lease
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    LeaseKeeper,
)
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import ManualClock, MemoryEnsemble

PATH = "/clickhouse/tables/01/hits"
LOCK = "/partmove/locks/%2Fclickhouse%2Ftables%2F01%2Fhits"
EPOCH = "/partmove/epochs/%2Fclickhouse%2Ftables%2F01%2Fhits"
SECONDS = 5.0


class Place:
    """Two ensembles in which the shard path was leased before, by the same run."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (HookedStore(MemoryEnsemble(name, self.clock)) for name in ("hot", "cold"))
        self.keeper = LeaseKeeper(self.hot, self.cold, self.clock, owner="a run", wait_seconds=SECONDS)
        self.keeper.release(self.keeper.acquire(PATH))

    def store(self, which: str) -> HookedStore:
        return self.hot if which == "hot" else self.cold


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.mark.parametrize(("which", "folder"), [("hot", "locks"), ("hot", "epochs"), ("cold", "epochs")])
def test_parents_that_were_deleted_meanwhile_are_made_again(place: Place, which: str, folder: str) -> None:
    began = place.clock.now()
    MemoryClient(place.store(which).ensemble.open()).delete(f"/partmove/{folder}", recursive=True)

    lease = place.keeper.acquire(PATH)

    confirm_lease(place.hot, lease, PATH)
    assert place.clock.now() - began < SECONDS


@pytest.mark.parametrize(("which", "path"), [("hot", LOCK), ("hot", EPOCH), ("cold", EPOCH)])
def test_a_denied_write_is_reported_at_once(place: Place, which: str, path: str) -> None:
    """A run that waits would report that another run holds the lock."""
    began = place.clock.now()
    place.store(which).denied_writes.add(path)

    with pytest.raises(AccessDenied):
        place.keeper.acquire(PATH)

    assert place.clock.now() == began


def raised(client: MemoryClient) -> None:
    client.set(EPOCH, b"")


def deleted(client: MemoryClient) -> None:
    client.delete(EPOCH)


@pytest.mark.parametrize("act", [raised, deleted])
def test_an_epoch_that_changes_while_the_lock_stays_is_a_lost_lease(
    place: Place, act: Callable[[MemoryClient], None]
) -> None:
    """So it is for two runs with one session, which both see the lock as theirs."""
    client = MemoryClient(place.hot.ensemble.open())

    def once(_multi: object) -> None:
        place.cold.before = lambda _multi: None
        act(client)

    place.cold.before = once

    with pytest.raises(LeaseLost):
        place.keeper.acquire(PATH)


@pytest.mark.parametrize("act", [raised, deleted])
def test_an_epoch_that_changes_later_is_a_lost_lease(
    place: Place, act: Callable[[MemoryClient], None]
) -> None:
    lease = place.keeper.acquire(PATH)
    act(MemoryClient(place.hot.ensemble.open()))

    with pytest.raises(LeaseLost):
        confirm_lease(place.hot, lease, PATH)


def test_a_lease_in_hot_alone_has_no_epoch_in_cold() -> None:
    clock = ManualClock()
    keeper = LeaseKeeper(MemoryEnsemble("hot", clock).open(), None, clock, owner="a run")
    assert [
        (lease.hot_epoch, lease.cold_epoch) for lease in (keeper.acquire(PATH), keeper.acquire(PATH))
    ] == [
        (0, 0),
        (1, 0),
    ]
