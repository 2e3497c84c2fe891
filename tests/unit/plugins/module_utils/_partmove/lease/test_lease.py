# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Leases: the right to write to a shard path."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    LeaseHeld,
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import confirm_lease
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    Lease,
    LeaseKeeper,
    raise_if_lease_lost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Delete,
    Multi,
    Outcome,
    Reason,
    Rejected,
    SetData,
    Unknown,
)
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import START, ManualClock, MemoryEnsemble, MemoryStore

PATH = "/clickhouse/tables/01/hits"
LOCK = "/partmove/locks/%2Fclickhouse%2Ftables%2F01%2Fhits"
EPOCH = "/partmove/epochs/%2Fclickhouse%2Ftables%2F01%2Fhits"


class Answering(HookedStore):
    """Gives other answers than it should.

    answers: to the next commits, none of which is applied.
    lose: path → whether the next multi that begins with it is applied; its answer is lost.
    """

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.answers: list[Outcome] = []
        self.lose: dict[str, bool] = {}

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        if self.answers:
            return [self.answers.pop(0)]
        made = [*multis]
        applied = self.lose.pop(made[0][0].path, None)
        outcomes = super().commit(made) if applied in (None, True) else []
        return outcomes if applied is None else [Unknown("lost")]


class Pair:
    """Two ensembles, and the sessions and lease keepers of any number of runs."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock) for name in ("hot", "cold"))

    def run(self, owner: str = "a run") -> tuple[Answering, Answering, LeaseKeeper]:
        hot, cold = Answering(self.hot), Answering(self.cold)
        return hot, cold, LeaseKeeper(hot, cold, self.clock, owner=owner, wait_seconds=5.0)

    def epochs(self) -> list[int | None]:
        read = (ensemble.read([EPOCH])[0] for ensemble in (self.hot, self.cold))
        return [None if znode is None else znode.stat.version for znode in read]


@pytest.fixture
def pair() -> Pair:
    return Pair()


def accepts(store: MemoryStore, lease: Lease) -> bool:
    """Return whether hot applies a write under the lease."""
    return isinstance(store.commit([(*lease.hot_checks, Create("/written", b""))])[0], Committed)


def test_a_lease_locks_hot_and_raises_both_epochs(pair: Pair) -> None:
    hot, _cold, keeper = pair.run("me")

    assert keeper.acquire(PATH) == Lease(LOCK, EPOCH, hot_epoch=0, cold_epoch=0, taken_at=START)
    lock = pair.hot.read([LOCK])[0]
    assert lock is not None
    assert lock.data.startswith(b"me, run ")
    assert lock.stat.ephemeral_owner == hot.session_id
    assert pair.cold.tree().keys() == {"/", "/partmove", "/partmove/epochs", EPOCH}

    assert keeper.acquire(PATH) == Lease(LOCK, EPOCH, hot_epoch=1, cold_epoch=1, taken_at=START)
    assert pair.epochs() == [1, 1]


def test_the_begin_of_a_lease_is_independent_of_the_local_clock(pair: Pair) -> None:
    hot, cold, _keeper = pair.run()
    ahead = LeaseKeeper(hot, cold, ManualClock(START + 660), owner="me")

    assert ahead.acquire(PATH).taken_at == START


def test_a_lock_taken_over_by_another_run_is_lost(pair: Pair) -> None:
    hot, cold, keeper = pair.run()
    other = MemoryClient(pair.hot.open())

    def take_over(multi: Multi) -> None:
        if any(op.path == EPOCH for op in multi):
            hot.expire()
            other.create(LOCK, b"another run", ephemeral=True)

    cold.before = take_over

    with pytest.raises(LeaseLost, match="the lock was lost while the epochs were raised"):
        keeper.acquire(PATH)
    assert other.exists(LOCK) is not None


def test_every_shard_path_has_names_of_its_own() -> None:
    pair = Pair()
    _hot, _cold, keeper = pair.run()
    shard_paths = ["/a", "/a/b", "/a%2Fb", "/a b", "/ä"]

    assert len({keeper.acquire(path).lock_path for path in shard_paths}) == len(shard_paths)


def test_another_root(pair: Pair) -> None:
    keeper = LeaseKeeper(pair.hot.open(), pair.cold.open(), pair.clock, owner="me", root="/deep/down")

    assert keeper.acquire(PATH).lock_path.startswith("/deep/down/locks/")


def test_acquire_waits_for_a_held_lock(pair: Pair) -> None:
    _hot, _cold, first = pair.run("the first")
    _hot, _cold, second = pair.run("the second")
    lease = first.acquire(PATH)
    began = pair.clock.time
    sleep = pair.clock.sleep

    def released_after_three_seconds(seconds: float) -> None:
        sleep(seconds)
        if pair.clock.time == began + 3.0:
            first.release(lease)

    pair.clock.sleep = released_after_three_seconds  # type: ignore[method-assign]

    assert second.acquire(PATH).hot_epoch == lease.hot_epoch + 1
    assert pair.clock.time == began + 3.0


def test_a_lock_held_for_too_long_is_reported(pair: Pair) -> None:
    _hot, _cold, first = pair.run("the first, \xff")
    _hot, _cold, second = pair.run()
    first.acquire(PATH)
    before = pair.epochs()

    with pytest.raises(LeaseHeld) as caught:
        second.acquire(PATH)

    assert re.fullmatch(
        f"{PATH} is locked by another run: the first, \xff, run [0-9a-f]{{32}}\\."
        " Wait until that run has ended; the lock of a killed run ends with its session\\.",
        str(caught.value),
    )
    assert pair.epochs() == before


def test_a_released_lock_is_gone(pair: Pair) -> None:
    hot, _cold, keeper = pair.run()
    lease = keeper.acquire(PATH)

    keeper.release(lease)

    assert pair.hot.read([LOCK]) == [None]
    assert not accepts(hot, lease)


def test_a_run_that_lost_its_lock_cannot_write_or_release(pair: Pair) -> None:
    first, _cold, keeper = pair.run("the first")
    lost = keeper.acquire(PATH)
    first.expire()
    second, _cold, other = pair.run("the second")
    lease = other.acquire(PATH)

    assert not accepts(first, lost)
    with pytest.raises(LeaseLost):
        confirm_lease(first, lost, PATH)
    keeper.release(lost)

    confirm_lease(second, lease, PATH)
    assert accepts(second, lease)


def test_a_lease_without_its_lock_is_lost(pair: Pair) -> None:
    hot, _cold, keeper = pair.run()
    lease = keeper.acquire(PATH)
    hot.expire()

    with pytest.raises(LeaseLost, match=f"{PATH}: the lock or epoch of this run is no longer valid"):
        confirm_lease(hot, lease, PATH)


def test_a_session_that_ends_while_the_epochs_are_raised(pair: Pair) -> None:
    hot, cold, keeper = pair.run()
    cold.before = lambda multi: hot.expire() if multi[0].path == EPOCH else None

    with pytest.raises(LeaseLost, match=f"{PATH}: the lock was lost while the epochs were raised. Run again"):
        keeper.acquire(PATH)


def test_the_run_that_raises_the_epochs_last_has_the_lease(pair: Pair) -> None:
    """The first run raises the epoch of cold only after the second run."""
    first, first_cold, keeper = pair.run("the first")
    second, _cold, other = pair.run("the second")
    leases: list[Lease] = []

    def overtake(multi: Multi) -> None:
        if multi[0].path == EPOCH and not leases:
            first.expire()
            leases.append(other.acquire(PATH))

    first_cold.before = overtake

    with pytest.raises(LeaseLost):
        keeper.acquire(PATH)
    # Cold takes nothing from the second one now, which finds that out with its next multi.
    assert accepts(second, leases[0])
    refused = pair.cold.commit(second.session_id, (*leases[0].cold_checks, Create("/copy", b"")))
    assert refused == Rejected(0, Reason.BAD_VERSION, 0)


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("path", [LOCK, EPOCH])
@pytest.mark.parametrize("ensemble", ["hot", "cold"])
def test_acquire_survives_a_lost_answer(pair: Pair, ensemble: str, path: str, applied: bool) -> None:
    hot, cold, keeper = pair.run()
    first = keeper.acquire(PATH)
    keeper.release(first)

    store = {"hot": hot, "cold": cold}[ensemble]
    store.lose = {path: applied}
    lease = keeper.acquire(PATH)

    assert lease.hot_epoch > first.hot_epoch
    assert lease.cold_epoch > first.cold_epoch
    assert accepts(hot, lease)
    assert pair.epochs() == [lease.hot_epoch, lease.cold_epoch]


def test_an_epoch_that_cannot_be_raised(pair: Pair) -> None:
    _hot, cold, keeper = pair.run()
    keeper.release(keeper.acquire(PATH))
    cold.answers = [Unknown("lost")] * 10

    with pytest.raises(EnsembleError, match=f"The epoch {EPOCH} could not be raised in 10 tries in the cold"):
        keeper.acquire(PATH)


def test_a_lock_that_cannot_be_taken(pair: Pair) -> None:
    hot, _cold, keeper = pair.run()
    keeper.release(keeper.acquire(PATH))
    hot.answers = [Unknown("lost")] * 10

    with pytest.raises(EnsembleError, match=f"The lock {LOCK} could not be taken in 10 tries in the hot"):
        keeper.acquire(PATH)


def test_an_unwritable_cold_ensemble_is_detected_before_any_write_to_hot(pair: Pair) -> None:
    _hot, cold, keeper = pair.run()
    cold.answers = [Rejected(0, Reason.NO_AUTH, -102)]

    with pytest.raises(AccessDenied) as caught:
        keeper.acquire(PATH)

    assert str(caught.value) == (
        "Writing /partmove is denied to this identity by the cold ensemble."
        " Give the identity create, write and delete permission there, or use another identity."
    )
    assert pair.hot.tree().keys() == {"/"}


@pytest.mark.parametrize("reason", [Reason.NO_AUTH, Reason.READ_ONLY, Reason.OTHER])
def test_a_lease_check_rejected_for_another_reason_is_no_lost_lease(reason: Reason) -> None:
    raise_if_lease_lost(Rejected(0, reason, -8), 2, PATH)


@pytest.mark.parametrize("reason", [Reason.NO_NODE, Reason.BAD_VERSION])
def test_a_failed_lease_check_is_a_lost_lease(reason: Reason) -> None:
    with pytest.raises(LeaseLost):
        raise_if_lease_lost(Rejected(1, reason, 0), 2, PATH)
    raise_if_lease_lost(Rejected(2, reason, 0), 2, PATH)


def test_the_checks_of_a_lease() -> None:
    lease = Lease(LOCK, EPOCH, 3, 5, 0.0)

    assert [(op.path, getattr(op, "version", None)) for op in lease.hot_checks] == [(LOCK, 0), (EPOCH, 3)]
    assert [(op.path, getattr(op, "version", None)) for op in lease.cold_checks] == [(EPOCH, 5)]
    assert not any(isinstance(op, (SetData, Delete)) for op in (*lease.hot_checks, *lease.cold_checks))
