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

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ...binding.owner import Owner
from ...lease.lease import path_of_epoch, path_of_lock, path_of_locks
from ...tree.ports import ZnodeReader
from ...tree.znodes import Znode
from ...zip_strict import zip_strict
from .partitions import Partitions
from .replicas import ListedNames

_SHORT_LEASE_MS = 3600 * 1000
"""Some servers do not count a deletion in the pzxid of its parent; then a run may still hold its lease."""
_LONGEST_LEASE_MS = 24 * 3600 * 1000
_PARTS_PER_PORTION = 2000


class _Record(NamedTuple):
    """What the last run left in hot: the epoch of the shard path, and the parent of all locks."""

    epoch: Znode
    locks: Znode


class _Copy(NamedTuple):
    """A part that both ensembles register. Times are in milliseconds since 1970."""

    partition: str
    czxid_in_hot: int
    ctime_in_hot: int
    ctime_in_cold: int


def written_by_another(
    hot: ZnodeReader, cold: ZnodeReader, root: str, partitions: Partitions
) -> tuple[str, ...]:
    """Return the ids of the partitions that another tool wrote, sorted; none while a run works on the table.

    Call this function after State and cold were read: a run that wrote them since then shows its lock, or has
    deleted it. Raises EnsembleError and kin.
    """
    names, shard_path = partitions.names, partitions.names.layout.path
    is_ours = partitions.owner is Owner.OURS
    states = {each: state.stat for each, state in names.states.items() if state is not None}
    if not states and not (is_ours and any(names.cold.parts.values())):
        return ()
    # The record comes last, for the same reason.
    copies = list(_copies(hot, cold, names)) if is_ours else []
    epoch_path = path_of_epoch(root, shard_path)
    after_marks = _created_after_marks(cold, epoch_path, names) if is_ours else {}
    lock, locks, epoch = hot.read([path_of_lock(root, shard_path), path_of_locks(root), epoch_path])
    if lock is not None or locks is None or epoch is None:
        return ()
    record = _Record(epoch, locks)
    found = {each for each, state in states.items() if _is_later(state.mzxid, state.mtime, record)}
    found.update(each.partition for each in copies if _is_of_another(each, record))
    cold_epoch = cold.read([epoch_path])[0] if is_ours else None
    if cold_epoch is not None:
        found.update(after_marks.get(cold_epoch.stat.mzxid, ()))
        latest = cold_epoch.stat.mtime + _LONGEST_LEASE_MS
        found.update(_written_after(latest, partitions))
    return tuple(sorted(found))


def _copies(hot: ZnodeReader, cold: ZnodeReader, names: ListedNames) -> Iterator[_Copy]:
    places = (
        (each, names.layout.replica(replica).part(part.text))
        for replica, in_cold in names.cold.parts.items()
        for in_hot in [names.hot.parts.get(replica, {})]
        for each in in_cold.keys() & in_hot.keys()
        for part in set(in_cold[each]).intersection(in_hot[each])
    )
    for portion in _portions(places):
        paths = [path for _partition, path in portion]
        both = list(zip_strict(hot.read(paths), cold.read(paths)))
        for (partition, _path), (original, copy) in zip_strict(portion, both):
            if original is not None and copy is not None:
                yield _Copy(partition, original.stat.czxid, original.stat.ctime, copy.stat.ctime)


def _portions(places: Iterable[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    """Yield partition and path of parts in portions, small enough for memory."""
    rest = iter(places)
    while portion := list(islice(rest, _PARTS_PER_PORTION)):
        yield portion


def _created_after_marks(cold: ZnodeReader, epoch_path: str, names: ListedNames) -> dict[int, set[str]]:
    """Return mzxid of the epoch in cold → partitions with a part that another tool created after the epoch.

    Another tool copies znodes of a replica that no run copies, before the parts or in the same transaction.
    Returns {} if no such znode is later than the epoch. The caller reads the epoch again: only if it is the
    same did no run begin.
    """
    layout = names.layout
    with_parts = (each for each, parts in names.cold.parts.items() if parts)
    replicas = [layout.replica(each) for each in sorted({*names.replicas, *with_parts})]
    paths = [path for each in replicas for path in (each.host, each.log_pointer, each.queue)]
    epoch, *marks = cold.read([epoch_path, *paths])
    if epoch is None:
        return {}
    later = [each.stat.czxid for each in _there(marks) if each.stat.czxid > epoch.stat.mzxid]
    if not later:
        return {}
    places = (
        (each, layout.replica(replica).part(part.text))
        for replica, partitions in names.cold.parts.items()
        for each, in_cold in partitions.items()
        for part in in_cold
    )
    found = set[str]()
    for portion in _portions(places):
        znodes = cold.read([path for _partition, path in portion])
        found.update(
            partition
            for (partition, _path), znode in zip_strict(portion, znodes)
            if znode is not None and znode.stat.czxid >= min(later)
        )
    return {epoch.stat.mzxid: found}


def _there(znodes: Iterable[Znode | None]) -> Iterator[Znode]:
    return (each for each in znodes if each is not None)


def _written_after(latest: int, partitions: Partitions) -> Iterator[str]:
    """Yield the partitions with a part in cold written after a time, in milliseconds since 1970.

    Only partitions whose content was read are known.
    """
    for content in partitions.contents.values():
        yield from (each for each, mtime in content.cold_mtimes.items() if mtime > latest)


def _is_of_another(copy: _Copy, record: _Record) -> bool:
    """Return whether no lease up to now can have made the copy.

    A server that fetches a lost part anew creates its part znode anew, and the copy of a run is older.
    """
    return copy.ctime_in_cold >= copy.ctime_in_hot and _is_later(copy.czxid_in_hot, copy.ctime_in_hot, record)


def _is_later(zxid: int, time: int, record: _Record) -> bool:
    """Return whether no lease up to now can have made a write to hot, of this transaction and time."""
    age = time - record.epoch.stat.mtime
    is_after_locks = zxid > max(record.epoch.stat.mzxid, record.locks.stat.pzxid)
    return age > (_SHORT_LEASE_MS if is_after_locks else _LONGEST_LEASE_MS)
