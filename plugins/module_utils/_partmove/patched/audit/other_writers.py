# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds partitions that another tool wrote after the last run of this collection.

Each run raises the epoch of the shard path in both ensembles before its first write, and deletes its lock
after its last one. So a State or a copy is of another tool if it was written

- long after the epoch, and after the last time that any lock came or went; or
- more than a day after the epoch, which no lease lasts.

A table that no run has leased yet has no epoch, and nothing to compare with. Its copies are `foreign`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...binding.owner import Owner
from ...lease.lease import path_of_epoch, path_of_lock, path_of_locks
from ...tree.ports import ZnodeReader
from ...tree.znodes import Znode
from .evidence import PartitionEvidence

_SHORT_LEASE_MS = 3600 * 1000
"""Some servers do not count a deletion in the pzxid of its parent; then a run may still hold its lease."""
_LONGEST_LEASE_MS = 24 * 3600 * 1000


def written_by_another(
    hot: ZnodeReader,
    cold: ZnodeReader,
    root: str,
    shard_path: str,
    partitions: Mapping[str, PartitionEvidence],
    owner: Owner,
) -> tuple[str, ...]:
    """Return the ids of the partitions that another tool wrote, sorted; none while a run works on the table.

    Call this function after State and cold were read: a run that wrote them since then shows its lock, or has
    deleted it. Of cold, it judges the parts whose content was read. Raises EnsembleError and kin.
    """
    states = {each: partition.state for each, partition in partitions.items() if partition.state is not None}
    newest = _newest_in_cold(partitions) if owner is Owner.OURS else {}
    if not states and not newest:
        return ()
    epoch_path = path_of_epoch(root, shard_path)
    lock, locks, epoch = hot.read([path_of_lock(root, shard_path), path_of_locks(root), epoch_path])
    if lock is not None or locks is None or epoch is None:
        return ()
    found = {each for each, state in states.items() if _is_later(state, epoch, locks)}
    if newest:
        (cold_epoch,) = cold.read([epoch_path])
        latest = None if cold_epoch is None else cold_epoch.stat.mtime + _LONGEST_LEASE_MS
        found.update(each for each, mtime in newest.items() if latest is not None and mtime > latest)
    return tuple(sorted(found))


def _newest_in_cold(partitions: Mapping[str, PartitionEvidence]) -> dict[str, int]:
    """Return partition id → time of the newest write to a part in cold, in milliseconds since 1970."""
    times = {
        each: max((replica.cold_mtime for replica in partition.replicas), default=0)
        for each, partition in partitions.items()
    }
    return {each: mtime for each, mtime in times.items() if mtime}


def _is_later(state: Znode, epoch: Znode, locks: Znode) -> bool:
    """Return whether no lease up to now can have written the State."""
    age = state.stat.mtime - epoch.stat.mtime
    is_after_locks = state.stat.mzxid > max(epoch.stat.mzxid, locks.stat.pzxid)
    return age > (_SHORT_LEASE_MS if is_after_locks else _LONGEST_LEASE_MS)
