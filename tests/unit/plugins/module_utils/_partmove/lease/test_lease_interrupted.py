# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that ends while it takes a lease leaves no lock behind, and takes no lock of another run away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    LeaseHeld,
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.interruption import (
    Interrupted,
    InterruptibleClock,
    InterruptibleStore,
    Interruption,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Multi,
    Outcome,
    Znode,
)
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import ManualClock, MemoryEnsemble

PATH = "/clickhouse/tables/01/hits"
LOCK = "/partmove/locks/%2Fclickhouse%2Ftables%2F01%2Fhits"
EPOCH = "/partmove/epochs/%2Fclickhouse%2Ftables%2F01%2Fhits"
MOST_REQUESTS = 40


class CountedStore(HookedStore):
    """Calls a function before each request."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.at_request: Callable[[], object] = lambda: None

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.at_request()
        return super().read(paths, absolute=absolute)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        self.at_request()
        return super().commit(multis)


class Run:
    """A run whose requests are counted over both ensembles, and which can end at any of them."""

    def __init__(
        self, hot: MemoryEnsemble, cold: MemoryEnsemble, clock: ManualClock, wait_seconds: float = 0.0
    ) -> None:
        self.requests = 0
        self.end_at = 0
        self.ending = threading.Event()
        interruption = Interruption(self.ending)
        self.hot, self.cold = CountedStore(hot), CountedStore(cold)
        self.hot.at_request = self.cold.at_request = self._count
        self.keeper = LeaseKeeper(
            InterruptibleStore(self.hot, interruption),
            InterruptibleStore(self.cold, interruption),
            InterruptibleClock(clock, interruption),
            owner="a run",
            wait_seconds=wait_seconds,
        )

    def _count(self) -> None:
        self.requests += 1
        if self.requests == self.end_at:
            self.ending.set()


class Place:
    """Two ensembles in which the shard path was leased before."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock) for name in ("hot", "cold"))
        keeper = self.run().keeper
        keeper.release(keeper.acquire(PATH))

    def run(self, wait_seconds: float = 0.0) -> Run:
        return Run(self.hot, self.cold, self.clock, wait_seconds)

    def has_lock(self) -> bool:
        return self.hot.read([LOCK]) != [None]


@pytest.fixture
def place() -> Place:
    return Place()


def test_an_interruption_at_any_request_leaves_no_lock() -> None:
    interrupted = 0
    for end_at in range(1, MOST_REQUESTS):
        place = Place()
        run = place.run()
        run.end_at = end_at
        try:
            lease = run.keeper.acquire(PATH)
        except Interrupted:
            interrupted += 1
        else:
            run.keeper.release(lease)
        assert not place.has_lock(), end_at
    assert 4 <= interrupted < MOST_REQUESTS - 1


def test_an_interruption_before_cold_has_an_epoch(place: Place) -> None:
    """The raised epoch of hot stays, and so does the one that an earlier run left in cold."""
    run = place.run()
    run.hot.after = lambda multi: run.ending.set() if multi[0].path == LOCK else None
    hot, cold = place.hot.read([EPOCH])[0], place.cold.read([EPOCH])[0]

    with pytest.raises(Interrupted):
        run.keeper.acquire(PATH)

    assert not place.has_lock()
    raised = place.hot.read([EPOCH])[0]
    assert raised is not None
    assert hot is not None
    assert (raised.stat.version, place.cold.read([EPOCH])[0]) == (hot.stat.version + 1, cold)


def test_the_first_lease_of_all_is_interrupted() -> None:
    clock = ManualClock()
    hot, cold = (MemoryEnsemble(name, clock) for name in ("hot", "cold"))
    run = Run(hot, cold, clock)
    run.hot.after = lambda multi: run.ending.set() if multi[0].path == LOCK else None

    with pytest.raises(Interrupted):
        run.keeper.acquire(PATH)

    assert hot.read([LOCK]) == cold.read([EPOCH]) == [None]


def test_a_cold_ensemble_that_fails_meanwhile(place: Place) -> None:
    run = place.run()

    def fail(_multi: Multi) -> None:
        raise EnsembleUnreachable("cold does not answer")

    run.cold.before = fail

    with pytest.raises(EnsembleUnreachable, match="cold does not answer"):
        run.keeper.acquire(PATH)

    assert not place.has_lock()


def test_the_error_is_that_of_the_lease_where_hot_fails_as_well(place: Place) -> None:
    run = place.run()

    def fail(_multi: Multi) -> None:
        run.hot.denied = {LOCK}
        raise EnsembleUnreachable("cold does not answer")

    run.cold.before = fail

    with pytest.raises(EnsembleUnreachable, match="cold does not answer"):
        run.keeper.acquire(PATH)


def test_an_interruption_while_another_run_has_the_lock(place: Place) -> None:
    other = place.run()
    lease = other.keeper.acquire(PATH)
    run = place.run(wait_seconds=60.0)

    def now() -> float:
        run.ending.set()
        return place.clock.time

    place.clock.now = now  # type: ignore[method-assign]

    with pytest.raises(Interrupted):
        run.keeper.acquire(PATH)

    assert other.hot.commit([lease.hot_checks]) == [Committed()]


def test_the_lock_of_another_run_stays_where_it_is_held(place: Place) -> None:
    other = place.run()
    lease = other.keeper.acquire(PATH)

    with pytest.raises(LeaseHeld):
        place.run().keeper.acquire(PATH)

    assert other.hot.commit([lease.hot_checks]) == [Committed()]


def test_the_lock_that_another_run_took_over_stays(place: Place) -> None:
    """Even if the session ends right after the lock was seen as ours: the epoch is a later one by then."""
    run = place.run()
    other = place.run()
    epochs: list[int] = []

    def end(_multi: Multi) -> None:
        run.cold.before = lambda _multi: None
        run.hot.before = take_over
        raise EnsembleUnreachable("cold does not answer")

    def take_over(multi: Multi) -> None:
        run.hot.before = lambda _multi: None
        assert any(op.path == LOCK for op in multi)
        run.hot.expire()
        epochs.append(other.keeper.acquire(PATH).hot_epoch)

    run.cold.before = end

    with pytest.raises(EnsembleUnreachable):
        run.keeper.acquire(PATH)

    assert epochs
    assert place.has_lock()


def test_a_lock_that_was_lost_meanwhile_is_left_to_its_holder(place: Place) -> None:
    run = place.run()
    other = MemoryClient(place.hot.open())

    def take_over(multi: Multi) -> None:
        run.hot.expire()
        other.create(LOCK, b"another run", ephemeral=True)
        run.cold.before = lambda _multi: None

    run.cold.before = take_over

    with pytest.raises(LeaseLost):
        run.keeper.acquire(PATH)

    assert place.has_lock()
