# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease of a shard path: a lock and two epochs that give one run the right to write.

The znodes are below the coordination root (``/partmove`` by default), outside every table path::

    locks/<shard path, quoted>    hot only, ephemeral: keeps two runs from making each other's multis fail
    epochs/<shard path, quoted>   hot and cold, persistent: the data version is the epoch

The bars of a shard path keep every run from it, see `bars`. The lock alone is not safe: a process paused
beyond the end of its session still believes in its lock. So every multi of a run also checks the epoch of its
ensemble, and every run raises both epochs. The servers then refuse all writes of a run that lost its lock.

A run knows its lock by its data, which no other run writes, and not by its session: ClickHouse Keeper gives a
client that reconnects a new session, and ends the former one with its lock some time later. One multi creates
the lock and raises the epoch of hot. So a lock that is read after the epoch belongs to the run that raised
the epoch, as long as the epoch stays the same, and this run may replace it by one of its new session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote
from uuid import uuid4

from ..errors import AlterUnfinished, EnsembleError, LeaseHeld, LeaseLost, PartMoveError, ShardHeld
from ..tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ..tree.ports import Clock, ZnodeStore
from ..tree.znodes import Check, Committed, Create, Delete, Op, Outcome, Reason, Rejected, SetData, Znode
from ..zip_strict import zip_strict
from .bars import EVERY_BAR, Bar, Hold, held, parse_hold, path_of_bar, unfinished

_ATTEMPTS = 10
_POLL_SECONDS = 0.5


class Lease(NamedTuple):
    """The right to write to one shard path, valid as long as the servers accept the checks."""

    lock_path: str
    epoch_path: str
    hot_epoch: int
    cold_epoch: int
    taken_at: float
    """Begin of the lease in seconds since 1970, by the clock of hot: never later than now."""
    is_first_of_pair: bool = False
    """Whether the pair of ensembles got its first token for this lease."""
    ended_hold: Hold | None = None
    """The hold whose time had passed, and which the run deleted when the lease began."""

    @property
    def hot_checks(self) -> tuple[Op, ...]:
        """The first operations of every multi to the hot ensemble."""
        return (Check(self.lock_path, 0), Check(self.epoch_path, self.hot_epoch))

    @property
    def cold_checks(self) -> tuple[Op, ...]:
        """The first operations of every multi to the cold ensemble."""
        return (Check(self.epoch_path, self.cold_epoch),)


class LeaseZnodes(NamedTuple):
    """The znodes of a lease as read, each after everything else of its ensemble; None for a missing znode."""

    lock: Znode | None = None
    hot_epoch: Znode | None = None
    cold_epoch: Znode | None = None


def path_of_locks(root: str) -> str:
    """Return the path in hot of the parent of all locks."""
    return f"{root}/locks"


def path_of_lock(root: str, shard_path: str) -> str:
    """Return the path in hot of the lock of a shard path."""
    return f"{path_of_locks(root)}/{quote(shard_path, safe='')}"


def path_of_epoch(root: str, shard_path: str) -> str:
    """Return the path in both ensembles of the epoch of a shard path."""
    return f"{root}/epochs/{quote(shard_path, safe='')}"


def raise_if_lease_lost(rejected: Rejected, checks: int, shard_path: str) -> None:
    """Raise LeaseLost if the multi failed in one of its first ``checks`` operations, the lease checks."""
    if rejected.op_index < checks and rejected.reason in (Reason.NO_NODE, Reason.BAD_VERSION):
        raise lease_lost(shard_path)


def new_lock(path: str, data: bytes, present: Znode | None) -> tuple[Op, ...]:
    """Return the operations that create a lock, in place of the present one."""
    created = Create(path, data, ephemeral=True)
    return (created,) if present is None else (Delete(path, 0), created)


def lease_lost(shard_path: str) -> LeaseLost:
    """Return the error of a run whose lock or epochs another run may have replaced."""
    return LeaseLost(
        f"{shard_path}: the lock or epoch of this run is no longer valid",
        remedy="Another run took the shard path over, or our session ended; run again",
    )


class LeaseKeeper:
    """Acquires and releases leases in a pair of ensembles, or in hot alone if ``cold`` is None.

    States of a shard path:

    - free → locked: the ephemeral lock was created and the epoch of hot raised, in one multi;
    - locked → leased: the epoch of cold was raised, and the lock is still that of this run;
    - locked → free: the run ended before the epoch of cold was raised, and deleted its lock;
    - leased → free: the lease was released, or the session ended.

    Only a leased path is written to. After the end of a session, the raised epochs of the next holder keep
    the former holder from writing.
    """

    def __init__(
        self,
        hot: ZnodeStore,
        cold: ZnodeStore | None,
        clock: Clock,
        *,
        owner: str,
        root: str = DEFAULT_ROOT,
        wait_seconds: float = 30.0,
        write_token: Callable[[], bool] = lambda: False,
        bars: Collection[Bar] = EVERY_BAR,
    ) -> None:
        """Acquire leases in the name of ``owner``, which messages of other runs show.

        write_token: called before each lease; whether the pair of ensembles got its first token.
        bars: the bars that keep this keeper from a shard path.
        """
        self.root = root
        self._hot = hot
        self._cold = cold
        self._clock = clock
        self._data = b"%s, run %s" % (owner.encode(), uuid4().hex.encode())
        """The data of the locks of this run, and of no other run."""
        self._wait_seconds = wait_seconds
        self._write_token = write_token
        self._bars = tuple(bars)
        self._has_parents = False

    def acquire(self, shard_path: str, seen: LeaseZnodes | None = None) -> Lease:
        """Lock the shard path and raise its epoch in both ensembles.

        seen: the znodes as of an earlier read. They save requests, and need not be current: the first write
        to each ensemble is conditional on them, and a rejected write is repeated after a read.

        Raises LeaseHeld if another run keeps the lock for longer than ``wait_seconds``. The wait should
        exceed the session timeout, after which the lock of a killed run disappears. Raises ShardHeld and
        AlterUnfinished while a bar keeps every run from the shard path, and BindingConflict if hot is a copy.
        """
        is_first_of_pair = self._write_token()
        lock_path = path_of_lock(self.root, shard_path)
        epoch_path = path_of_epoch(self.root, shard_path)
        if not self._has_parents:
            self._ensure_parents()
        try:
            lease = self._locked(lock_path, epoch_path, shard_path, seen)
            return lease._replace(is_first_of_pair=is_first_of_pair)
        except BaseException as error:
            if isinstance(error, LeaseHeld) and not isinstance(error, (ShardHeld, AlterUnfinished)):
                raise
            # No caller has a lease to release, and the session of other workers may live for hours.
            with suppress(PartMoveError):
                self._abandon(lock_path, epoch_path)
            raise

    def _locked(self, lock_path: str, epoch_path: str, shard_path: str, seen: LeaseZnodes | None) -> Lease:
        hot_epoch = self._lock(lock_path, epoch_path, shard_path, seen)
        cold_epoch = 0 if self._cold is None else self._raise_epoch(self._cold, epoch_path, seen)
        bars = [path_of_bar(self.root, each, shard_path) for each in self._bars]
        # In this order: the bars are read under the lease.
        lock, epoch, *found = self._hot.read([lock_path, epoch_path, *bars])
        is_ours = lock is not None and lock.data == self._data
        if not is_ours or epoch is None or epoch.stat.version != hot_epoch:
            raise LeaseLost(
                f"{shard_path}: the lock was lost while the epochs were raised", remedy="Run again"
            )
        lease = Lease(lock_path, epoch_path, hot_epoch, cold_epoch, epoch.stat.mtime / 1000)
        return self._unbarred(lease, found, shard_path)

    def _unbarred(self, lease: Lease, found: Sequence[Znode | None], shard_path: str) -> Lease:
        """Return the lease if no bar keeps the run from the shard path, and end a hold that is over.

        found: the znodes of the bars. No other run can create one before the lease ends.
        """
        for kind, znode in zip_strict(self._bars, found):
            if znode is not None and kind is Bar.ALTER:
                raise unfinished(shard_path, znode.path)
            if znode is not None:
                lease = lease._replace(ended_hold=self._ended(lease, znode, shard_path))
        return lease

    def _ended(self, lease: Lease, znode: Znode, shard_path: str) -> Hold:
        """Delete a hold whose time has passed. Raises ShardHeld for another hold."""
        hold = parse_hold(znode)
        if not hold.is_over(lease.taken_at):
            raise held(shard_path, hold)
        checks = lease.hot_checks
        outcome = self._hot.commit([(*checks, Delete(znode.path, znode.stat.version))])[0]
        if isinstance(outcome, Rejected):
            raise_if_lease_lost(outcome, len(checks), shard_path)
            raise_if_unwritable(self._hot, znode.path, outcome)
            raise held(shard_path, hold)
        if not isinstance(outcome, Committed):
            raise EnsembleError(f"It is not known whether {znode.path} was deleted", remedy="Run again")
        return hold

    def _abandon(self, lock_path: str, epoch_path: str) -> None:
        """Delete the lock if it is of this run, unless another run takes the lease over meanwhile."""
        epoch, lock = self._hot.read([epoch_path, lock_path])
        if epoch is not None and lock is not None and lock.data == self._data:
            self._hot.commit([(Check(epoch_path, epoch.stat.version), Delete(lock_path, 0))])

    def _ensure_parents(self) -> None:
        # Cold first: an unwritable cold ensemble is then detected before any write to hot.
        if self._cold is not None:
            ensure_path(self._cold, f"{self.root}/epochs")
        ensure_path(self._hot, f"{self.root}/epochs")
        ensure_path(self._hot, f"{self.root}/locks")
        self._has_parents = True

    def _prepare_retry(self, store: ZnodeStore, path: str, rejected: Rejected) -> None:
        """Prepare a retry of the rejected write. Raises EnsembleError if a retry would fail, too."""
        raise_if_unwritable(store, path, rejected)
        if rejected.reason is Reason.NO_NODE:
            self._ensure_parents()

    def release(self, lease: Lease) -> None:
        """Delete the lock, unless another run has taken the lease over."""
        self._hot.commit([(*lease.hot_checks, Delete(lease.lock_path, 0))])

    def _lock(self, lock_path: str, epoch_path: str, shard_path: str, seen: LeaseZnodes | None) -> int:
        """Create the lock, raise the epoch of hot, and return it. Raises LeaseHeld."""
        deadline = self._clock.now() + self._wait_seconds
        for attempt in range(_ATTEMPTS):
            if attempt == 0 and seen is not None and seen.lock is None:
                epoch, lock = seen.hot_epoch, None
            else:
                epoch, lock = self._free(lock_path, epoch_path, shard_path, deadline)
            ops = (*new_lock(lock_path, self._data, lock), _raised(epoch_path, epoch))
            outcome = self._hot.commit([ops])[0]
            if isinstance(outcome, Committed):
                return 0 if epoch is None else epoch.stat.version + 1
            if isinstance(outcome, Rejected):
                self._prepare_retry(self._hot, ops[outcome.op_index].path, outcome)
        raise self._unsettled(f"The lock {lock_path} could not be taken", self._hot)

    def _free(
        self, lock_path: str, epoch_path: str, shard_path: str, deadline: float
    ) -> tuple[Znode | None, Znode | None]:
        """Wait until no other run has the lock; return the epoch and the lock that this run left behind."""
        while True:
            # A member that lags behind would show a lock that is gone.
            self._hot.sync(lock_path)
            # In this order: as long as the epoch stays the same, the lock does not pass to another run.
            epoch, lock = self._hot.read([epoch_path, lock_path])
            if lock is None or lock.data == self._data:
                return epoch, lock
            if self._clock.now() >= deadline:
                raise LeaseHeld(
                    f"{shard_path} is locked by another run: {lock.data.decode(errors='replace')}",
                    remedy="Wait until that run has ended; the lock of a killed run ends with its session",
                )
            self._clock.sleep(_POLL_SECONDS)

    def _raise_epoch(self, store: ZnodeStore, path: str, seen: LeaseZnodes | None) -> int:
        for attempt in range(_ATTEMPTS):
            znode = store.read([path])[0] if attempt or seen is None else seen.cold_epoch
            outcome: Outcome = store.commit([(_raised(path, znode),)])[0]
            if isinstance(outcome, Committed):
                return 0 if znode is None else znode.stat.version + 1
            if isinstance(outcome, Rejected):
                self._prepare_retry(store, path, outcome)
        raise self._unsettled(f"The epoch {path} could not be raised", store)

    def _unsettled(self, problem: str, store: ZnodeStore) -> EnsembleError:
        return EnsembleError(
            f"{problem} in {_ATTEMPTS} tries in the {store.name} ensemble",
            remedy="Check whether another run works on the same shard path, then run again",
        )


def _raised(path: str, epoch: Znode | None) -> Op:
    return Create(path, b"") if epoch is None else SetData(path, b"", epoch.stat.version)
