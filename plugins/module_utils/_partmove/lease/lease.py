# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease of a shard path: a lock and two epochs that give one run the right to write.

The znodes are below the coordination root (``/partmove`` by default), outside every table path::

    locks/<shard path, quoted>    hot only, ephemeral: keeps two runs from making each other's multis fail
    epochs/<shard path, quoted>   hot and cold, persistent: the data version is the epoch

The bars of a shard path keep every run from it, see `bars`. The lock alone is not safe: a process paused
beyond the end of its session still believes in its lock. So every multi of a run also checks the epoch of its
ensemble, and every run raises both epochs right after taking the lock. The servers then refuse all writes of
a run that lost its lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote

from ..errors import AlterUnfinished, EnsembleError, LeaseHeld, LeaseLost, PartMoveError, ShardHeld
from ..tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ..tree.ports import Clock, ZnodeReader, ZnodeStore
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
        raise _lost(shard_path)


def confirm_lease(hot: ZnodeReader, lease: Lease, shard_path: str) -> None:
    """Raise LeaseLost if another run may have written before this call.

    Call this function before reads lead to an action other than a multi. Multis check the lease themselves.
    """
    lock, epoch = hot.read([lease.lock_path, lease.epoch_path])
    if lock is None or epoch is None or epoch.stat.version != lease.hot_epoch:
        raise _lost(shard_path)


def _lost(shard_path: str) -> LeaseLost:
    return LeaseLost(
        f"{shard_path}: the lock or epoch of this run is no longer valid",
        remedy="Another run took the shard path over, or our session ended; run again",
    )


class LeaseKeeper:
    """Acquires and releases leases in a pair of ensembles, or in hot alone if ``cold`` is None.

    States of a shard path:

    - free → locked: the ephemeral lock was created;
    - locked → leased: both epochs were raised, and the lock still belongs to this session;
    - locked → free: the run ended before both epochs were raised, and deleted its lock;
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
        """Acquire leases in the name of ``owner``.

        write_token: called before each lease; whether the pair of ensembles got its first token.
        bars: the bars that keep this keeper from a shard path.
        """
        self.root = root
        self._hot = hot
        self._cold = cold
        self._clock = clock
        self._owner = owner
        self._wait_seconds = wait_seconds
        self._write_token = write_token
        self._bars = tuple(bars)
        self._has_parents = False

    def acquire(self, shard_path: str) -> Lease:
        """Lock the shard path and raise its epoch in both ensembles.

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
            lease = self._unbarred(self._locked(lock_path, epoch_path, shard_path), shard_path)
            return lease._replace(is_first_of_pair=is_first_of_pair)
        except BaseException as error:
            if isinstance(error, LeaseHeld) and not isinstance(error, (ShardHeld, AlterUnfinished)):
                raise
            # No caller has a lease to release, and the session of other workers may live for hours.
            with suppress(PartMoveError):
                self._abandon(lock_path, epoch_path)
            raise

    def _locked(self, lock_path: str, epoch_path: str, shard_path: str) -> Lease:
        self._lock(lock_path, shard_path)
        hot_epoch = self._raise_epoch(self._hot, epoch_path)
        cold_epoch = 0
        if self._cold is not None:
            cold_epoch = self._raise_epoch(self._cold, epoch_path)
        lock, epoch = self._hot.read([lock_path, epoch_path])
        is_ours = lock is not None and lock.stat.ephemeral_owner == self._hot.session_id
        if not is_ours or epoch is None or epoch.stat.version != hot_epoch:
            raise LeaseLost(
                f"{shard_path}: the lock was lost while the epochs were raised", remedy="Run again"
            )
        return Lease(lock_path, epoch_path, hot_epoch, cold_epoch, epoch.stat.mtime / 1000)

    def _unbarred(self, lease: Lease, shard_path: str) -> Lease:
        """Return the lease if no bar keeps the run from the shard path, and end a hold that is over.

        The bars are read under the lease, and no other run can create one before the lease ends.
        """
        paths = [path_of_bar(self.root, each, shard_path) for each in self._bars]
        for kind, znode in zip_strict(self._bars, self._hot.read(paths)):
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
        """Delete the lock if it is of this session, unless another run takes the lease over meanwhile."""
        lock, epoch = self._hot.read([lock_path, epoch_path])
        if lock is None or lock.stat.ephemeral_owner != self._hot.session_id:
            return
        checks = () if epoch is None else (Check(epoch_path, epoch.stat.version),)
        self._hot.commit([(*checks, Delete(lock_path, 0))])

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

    def _holder(self, lock_path: str) -> int | None:
        znode = self._hot.read([lock_path])[0]
        return None if znode is None else znode.stat.ephemeral_owner

    def _lock(self, lock_path: str, shard_path: str) -> None:
        deadline = self._clock.now() + self._wait_seconds
        data = self._owner.encode()
        while True:
            outcome = self._hot.commit([(Create(lock_path, data, ephemeral=True),)])[0]
            if isinstance(outcome, Committed) or self._holder(lock_path) == self._hot.session_id:
                return
            if isinstance(outcome, Rejected):
                self._prepare_retry(self._hot, lock_path, outcome)
            if self._clock.now() >= deadline:
                break
            self._clock.sleep(_POLL_SECONDS)
        znode = self._hot.read([lock_path])[0]
        held_by = "it was released just now" if znode is None else znode.data.decode(errors="replace")
        raise LeaseHeld(
            f"{shard_path} is locked by another run: {held_by}",
            remedy="Wait until that run has ended; the lock of a killed run disappears with its session",
        )

    def _raise_epoch(self, store: ZnodeStore, path: str) -> int:
        for _attempt in range(_ATTEMPTS):
            znode = store.read([path])[0]
            op: Op = Create(path, b"") if znode is None else SetData(path, b"", znode.stat.version)
            outcome: Outcome = store.commit([(op,)])[0]
            if isinstance(outcome, Committed):
                return 0 if znode is None else znode.stat.version + 1
            if isinstance(outcome, Rejected):
                self._prepare_retry(store, path, outcome)
        raise EnsembleError(
            f"The epoch {path} could not be raised in {_ATTEMPTS} tries in the {store.name} ensemble",
            remedy="Check whether another run works on the same shard path, then run again",
        )
