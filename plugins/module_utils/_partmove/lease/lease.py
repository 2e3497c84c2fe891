# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who may write: the lock and the epochs of a shard path, kept outside every table path.

Under the coordination root of each ensemble (``/partmove`` unless told otherwise)::

    locks/<shard path, quoted>    hot only, ephemeral: keeps two runs from waiting for each other's failures
    epochs/<shard path, quoted>   hot and cold, persistent: its data version is the epoch

The lock alone cannot protect anything: a process that is paused past the end of its session still
believes that it holds it. So every multi of a run also checks the epoch of the ensemble it goes to,
and whoever takes the lock raises both epochs before anything else. A run that lost its lock is
thereby refused by the servers themselves.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from ..errors import EnsembleError, LeaseHeld, LeaseLost
from ..tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ..tree.ports import Clock, ZnodeReader, ZnodeStore
from ..tree.znodes import Check, Committed, Create, Delete, Op, Outcome, Reason, Rejected, SetData

_ATTEMPTS = 10
_POLL_SECONDS = 0.5


class Lease(NamedTuple):
    """The right to write to one shard path, as long as the servers accept its checks."""

    lock_path: str
    epoch_path: str
    hot_epoch: int
    cold_epoch: int
    taken_at: float
    """When hot says that it was taken, in seconds since 1970: no later than now, whatever clock is here."""

    @property
    def hot_checks(self) -> tuple[Op, ...]:
        """What every multi to the hot ensemble starts with."""
        return (Check(self.lock_path, 0), Check(self.epoch_path, self.hot_epoch))

    @property
    def cold_checks(self) -> tuple[Op, ...]:
        """What every multi to the cold ensemble starts with."""
        return (Check(self.epoch_path, self.cold_epoch),)


def path_of_lock(root: str, shard_path: str) -> str:
    """Where the lock of a shard path is, in hot."""
    return f"{root}/locks/{quote(shard_path, safe='')}"


def raise_if_lease_lost(rejected: Rejected, checks: int, shard_path: str) -> None:
    """Raise LeaseLost when the multi failed in one of its leading lease checks."""
    if rejected.op_index < checks and rejected.reason in (Reason.NO_NODE, Reason.BAD_VERSION):
        raise _lost(shard_path)


def confirm_lease(hot: ZnodeReader, lease: Lease, shard_path: str) -> None:
    """Raise LeaseLost when another run may have written between the reads before this call.

    To be called before anything but a multi, which checks the lease itself, follows from what was read.
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
    """Acquires and gives back leases for one pair of ensembles, or for hot alone where ``cold`` is None.

    States of a shard path: free → locked (ephemeral created) → leased (both epochs raised and the
    lock still ours). Only a leased path is written to. Losing the session takes a leased path back
    to free by itself; the next holder's epochs keep the former holder out.
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
    ) -> None:
        self.root = root
        self._hot = hot
        self._cold = cold
        self._clock = clock
        self._owner = owner
        self._wait_seconds = wait_seconds
        self._has_folders = False

    def acquire(self, shard_path: str) -> Lease:
        """Lock the shard path and raise its epoch in both ensembles.

        Raises LeaseHeld when another run keeps the lock for longer than the waiting time, which
        should exceed the session timeout so that a killed run's lock has gone by then.
        """
        lock_path = path_of_lock(self.root, shard_path)
        epoch_path = f"{self.root}/epochs/{quote(shard_path, safe='')}"
        if not self._has_folders:
            self._ensure_folders()
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

    def _ensure_folders(self) -> None:
        # Cold first: an ensemble that cannot be written to is found out before hot is touched.
        if self._cold is not None:
            ensure_path(self._cold, f"{self.root}/epochs")
        ensure_path(self._hot, f"{self.root}/epochs")
        ensure_path(self._hot, f"{self.root}/locks")
        self._has_folders = True

    def _put_right(self, store: ZnodeStore, path: str, rejected: Rejected) -> None:
        """See to it that another try can help; raises where it cannot."""
        raise_if_unwritable(store, path, rejected)
        if rejected.reason is Reason.NO_NODE:
            self._ensure_folders()

    def release(self, lease: Lease) -> None:
        """Give the lock back, unless somebody else has the lease by now."""
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
                self._put_right(self._hot, lock_path, outcome)
            if self._clock.now() >= deadline:
                break
            self._clock.sleep(_POLL_SECONDS)
        znode = self._hot.read([lock_path])[0]
        held_by = "nobody any more" if znode is None else znode.data.decode(errors="replace")
        raise LeaseHeld(
            f"{shard_path} is locked by another run: {held_by}",
            remedy="Wait until that run has ended; the lock of a killed run goes with its session",
        )

    def _raise_epoch(self, store: ZnodeStore, path: str) -> int:
        for _attempt in range(_ATTEMPTS):
            znode = store.read([path])[0]
            op: Op = Create(path, b"") if znode is None else SetData(path, b"", znode.stat.version)
            outcome: Outcome = store.commit([(op,)])[0]
            if isinstance(outcome, Committed):
                return 0 if znode is None else znode.stat.version + 1
            if isinstance(outcome, Rejected):
                self._put_right(store, path, outcome)
        raise EnsembleError(
            f"The epoch {path} could not be raised in {_ATTEMPTS} tries in the {store.name} ensemble",
            remedy="See whether another run works on the same shard path, then run again",
        )
