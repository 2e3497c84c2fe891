# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds partitions that another tool wrote after the last run of this collection.

Each run raises the epoch of the shard path in both ensembles before its first write, and deletes its lock
after its last one. So another tool wrote a partition if

- its State is later than any lease (`_is_later`);
- hot registers a part later than any lease, and cold has a copy of this part made after it;
- cold has znodes of replicas that no run makes, created after the epoch, and a part created after these; or
- a part in cold was written more than a day after the epoch, which no lease lasts.

A table that no run has leased yet has no epoch, and nothing to compare with. Its copies are `foreign`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ...binding.owner import Owner
from ...formats.layout import ShardLayout
from ...lease.lease import path_of_epoch, path_of_lock, path_of_locks
from ...tree.ports import ZnodeReader
from ...tree.znodes import Znode
from ...zip_strict import zip_strict
from .evidence import PartitionEvidence

_SHORT_LEASE_MS = 3600 * 1000
"""Some servers do not count a deletion in the pzxid of its parent; then a run may still hold its lease."""
_LONGEST_LEASE_MS = 24 * 3600 * 1000


class _Record(NamedTuple):
    """What the last run left in hot: the epoch of the shard path, and the parent of all locks."""

    epoch: Znode
    locks: Znode


class _Copy(NamedTuple):
    """A part that both ensembles register."""

    partition: str
    in_hot: Znode
    in_cold: Znode


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
    deleted it. Raises EnsembleError and kin.
    """
    states = {each: partition.state for each, partition in partitions.items() if partition.state is not None}
    in_cold = partitions if owner is Owner.OURS else {}
    if not states and not any(each.cold for one in in_cold.values() for each in one.replicas):
        return ()
    # The record comes last, for the same reason.
    copies = list(_copies(hot, cold, shard_path, in_cold))
    epoch_path = path_of_epoch(root, shard_path)
    after_marks = _created_after_marks(cold, shard_path, epoch_path, in_cold)
    lock, locks, epoch = hot.read([path_of_lock(root, shard_path), path_of_locks(root), epoch_path])
    if lock is not None or locks is None or epoch is None:
        return ()
    record = _Record(epoch, locks)
    found = {each for each, state in states.items() if _is_later(state.stat.mzxid, state.stat.mtime, record)}
    found.update(each.partition for each in copies if _is_of_another(each, record))
    cold_epoch = cold.read([epoch_path])[0] if in_cold else None
    if cold_epoch is not None:
        found.update(after_marks.get(cold_epoch.stat.mzxid, ()))
        latest = cold_epoch.stat.mtime + _LONGEST_LEASE_MS
        found.update(each for each, mtime in _newest_in_cold(in_cold).items() if mtime > latest)
    return tuple(sorted(found))


def _copies(
    hot: ZnodeReader, cold: ZnodeReader, shard_path: str, partitions: Mapping[str, PartitionEvidence]
) -> Iterator[_Copy]:
    layout = ShardLayout(shard_path)
    places = [
        (each, layout.replica(replica.name).part(part.text))
        for each, partition in partitions.items()
        for replica in partition.replicas
        for part in set(replica.hot) & set(replica.cold)
    ]
    paths = [path for _partition, path in places]
    both = list(zip_strict(hot.read(paths), cold.read(paths)))
    for (partition, _path), (in_hot, in_cold) in zip_strict(places, both):
        if in_hot is not None and in_cold is not None:
            yield _Copy(partition, in_hot, in_cold)


def _created_after_marks(
    cold: ZnodeReader, shard_path: str, epoch_path: str, partitions: Mapping[str, PartitionEvidence]
) -> dict[int, set[str]]:
    """Return mzxid of the epoch in cold → partitions with a part that another tool created after the epoch.

    Another tool copies znodes of a replica that no run copies, before the parts or in the same transaction.
    Returns {} if no such znode is later than the epoch. The caller reads the epoch again: only if it is the
    same did no run begin.
    """
    layout = ShardLayout(shard_path)
    names = sorted({each.name for one in partitions.values() for each in one.replicas})
    replicas = [layout.replica(each) for each in names]
    paths = [path for each in replicas for path in (each.host, each.log_pointer, each.queue)]
    epoch, *marks = cold.read([epoch_path, *paths])
    if epoch is None:
        return {}
    later = [each.stat.czxid for each in _there(marks) if each.stat.czxid > epoch.stat.mzxid]
    if not later:
        return {}
    parts = [
        (each, layout.replica(replica.name).part(part.text))
        for each, partition in partitions.items()
        for replica in partition.replicas
        for part in replica.cold
    ]
    znodes = cold.read([path for _partition, path in parts])
    found = {
        partition
        for (partition, _path), znode in zip_strict(parts, znodes)
        if znode is not None and znode.stat.czxid >= min(later)
    }
    return {epoch.stat.mzxid: found}


def _there(znodes: Iterable[Znode | None]) -> Iterator[Znode]:
    return (each for each in znodes if each is not None)


def _newest_in_cold(partitions: Mapping[str, PartitionEvidence]) -> dict[str, int]:
    """Return partition id → time of the newest write to a part in cold, in milliseconds since 1970.

    Only partitions whose content was read are in the result.
    """
    times = {
        each: max((replica.cold_mtime for replica in partition.replicas), default=0)
        for each, partition in partitions.items()
    }
    return {each: mtime for each, mtime in times.items() if mtime}


def _is_of_another(copy: _Copy, record: _Record) -> bool:
    """Return whether no lease up to now can have made the copy.

    A server that fetches a lost part anew creates its part znode anew, and the copy of a run is older.
    """
    original = copy.in_hot.stat
    return copy.in_cold.stat.ctime >= original.ctime and _is_later(original.czxid, original.ctime, record)


def _is_later(zxid: int, time: int, record: _Record) -> bool:
    """Return whether no lease up to now can have made a write to hot, of this transaction and time."""
    age = time - record.epoch.stat.mtime
    is_after_locks = zxid > max(record.epoch.stat.mzxid, record.locks.stat.pzxid)
    return age > (_SHORT_LEASE_MS if is_after_locks else _LONGEST_LEASE_MS)
