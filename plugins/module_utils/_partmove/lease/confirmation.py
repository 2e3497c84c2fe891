# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Confirms that no other run wrote to a shard path before a read ended.

A run writes only under a lease, and takes it in this order: lock and epoch of hot in one multi, then the
epoch of cold. So lock and epochs are read behind everything else of their ensemble:

- if the lock and the epoch of hot are those of the lease, no other run changed what was read from hot before;
- if the epoch of cold is that of the lease, too, no other run changed what was read from cold before.
"""

from __future__ import annotations

from ..tree.paths import raise_if_unwritable
from ..tree.ports import ZnodeStore
from ..tree.znodes import Check, Rejected, Znode
from .lease import Lease, LeaseZnodes, lease_lost, new_lock, path_of_epoch, path_of_lock


def lease_paths_in_hot(root: str, shard_path: str) -> tuple[str, str]:
    """Return the paths of the lock and of the epoch in hot."""
    return path_of_lock(root, shard_path), path_of_epoch(root, shard_path)


def lease_paths_in_cold(root: str, shard_path: str) -> tuple[str]:
    """Return the path of the epoch in cold."""
    return (path_of_epoch(root, shard_path),)


def confirm_lease(hot: ZnodeStore, lease: Lease, shard_path: str) -> None:
    """Raise LeaseLost if another run may have written before this call.

    Call this function before reads lead to an action other than a multi. Multis check the lease themselves.
    Replaces the lock of a former session of this run, which would end with that session.
    """
    lock, epoch = hot.read([lease.lock_path, lease.epoch_path])
    _confirm_hot(hot, lease, lock, epoch, shard_path)


def confirm_read(hot: ZnodeStore, lease: Lease, znodes: LeaseZnodes, shard_path: str) -> None:
    """Raise LeaseLost if another run may have written before a read that ended with these znodes.

    Replaces the lock as `confirm_lease` does.
    """
    if znodes.cold_epoch is None or znodes.cold_epoch.stat.version != lease.cold_epoch:
        raise lease_lost(shard_path)
    _confirm_hot(hot, lease, znodes.lock, znodes.hot_epoch, shard_path)


def _confirm_hot(
    hot: ZnodeStore, lease: Lease, lock: Znode | None, epoch: Znode | None, shard_path: str
) -> None:
    if lock is None or epoch is None or epoch.stat.version != lease.hot_epoch:
        raise lease_lost(shard_path)
    if lock.stat.ephemeral_owner != hot.session_id:
        _replace_lock(hot, lease, lock, shard_path)


def _replace_lock(hot: ZnodeStore, lease: Lease, lock: Znode, shard_path: str) -> None:
    """Let the lock of the lease belong to the session in use. Raises LeaseLost."""
    check = Check(lease.epoch_path, lease.hot_epoch)
    outcome = hot.commit([(check, *new_lock(lock.path, lock.data, lock))])[0]
    if isinstance(outcome, Rejected):
        raise_if_unwritable(hot, lock.path, outcome)
        raise lease_lost(shard_path)
    # After an unknown outcome, the next confirmation sees whose lock it is, and every multi checks it.
