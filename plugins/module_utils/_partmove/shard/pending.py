# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the pending work of servers on the parts of a shard path.

Pending work is: entries of the queues and of the log, mutations, inserts that wait for a quorum, and inserts
in flight.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import FormatError
from ..formats.block_lock import BlockLock, block_lock
from ..formats.layout import ShardLayout
from ..formats.log_entry import LogEntry, parse_log_entry, partitions_named
from ..formats.mutation_entry import MutationEntry, parse_mutation_entry
from ..formats.quorum import parse_quorum_entry, quorum_parts
from ..formats.state import STATE
from ..tree.reading import Reading, Steps
from ..tree.znodes import Query, Znode
from ..zip_strict import zip_strict
from .fence import Fence, ReplicaZnodes

_NUMBER = re.compile("[0-9]{1,19}")


class PendingEntries(NamedTuple):
    """Entries of the queues, and entries of the log not yet in the queue of every replica."""

    by_partition: Mapping[str, tuple[LogEntry, ...]]
    """Partition id → entries with parts of the partition."""
    table_wide: tuple[str, ...]
    """Paths of entries about every partition."""


class EntryReader:
    """Reads queues and log. An entry never changes, so each entry is read and parsed once.

    A replica that was removed and added again under the same name restarts the numbers of its queue.
    """

    def __init__(self, layout: ShardLayout) -> None:
        self._layout = layout
        self._entries: dict[str, LogEntry] = {}
        self._created: dict[str, int] = {}
        """Replica → transaction id of its creation."""

    def forget(self) -> None:
        """Forget all entries, because a recreated table restarts the numbers of its entries."""
        self._entries.clear()
        self._created.clear()

    def pending_steps(self, replicas: Sequence[str], begun: Reading[Fence]) -> Steps[PendingEntries]:
        """Read the pending entries of the queues and of the log.

        begun: the read of the fence, with the log pointers.

        The order is log pointers, queues, log. So an entry that moves from the log to a queue meanwhile is
        read at least once. Raises FormatError.
        """
        log = self._layout.log
        queues = [self._layout.replica(name).queue for name in replicas]
        *queued, logged = (yield Query(children=[*queues, log])).children
        fence = begun.result
        self._forget_replaced(fence.replicas)
        oldest = min((_pointer(replica) for replica in fence.replicas), default=0)
        paths = [f"{queue}/{name}" for queue, names in zip_strict(queues, queued) for name in names or ()]
        paths += [f"{log}/{name}" for name in logged or () if _log_number(name, log) >= oldest]
        fresh = [path for path in paths if path not in self._entries]
        if fresh:
            for path, znode in zip_strict(fresh, (yield Query(fresh)).znodes):
                if znode is not None:
                    self._entries[path] = parse_log_entry(znode.data, path)
        entries = [self._entries[path] for path in paths if path in self._entries]
        return _by_partition(entries, fence.definition.format_version)

    def _forget_replaced(self, replicas: Sequence[ReplicaZnodes]) -> None:
        for replica in replicas:
            if self._created.setdefault(replica.layout.name, replica.created) != replica.created:
                self._created[replica.layout.name] = replica.created
                prefix = f"{replica.layout.queue}/"
                for path in [each for each in self._entries if each.startswith(prefix)]:
                    del self._entries[path]


def _by_partition(entries: Iterable[LogEntry], format_version: int) -> PendingEntries:
    named: defaultdict[str, list[LogEntry]] = defaultdict(list)
    table_wide: list[str] = []
    for entry in entries:
        if entry.table_wide:
            table_wide.append(entry.where)
        for partition_id in partitions_named(entry, format_version):
            named[partition_id].append(entry)
    return PendingEntries({each: tuple(its) for each, its in named.items()}, tuple(table_wide))


def mutation_steps(layout: ShardLayout) -> Steps[tuple[MutationEntry, ...]]:
    """Read all mutations of the table, also finished ones until servers delete them. Raises FormatError."""
    names = (yield Query(children=[layout.mutations])).children[0] or ()
    if not names:
        return ()
    znodes = (yield Query([f"{layout.mutations}/{name}" for name in names])).znodes
    return tuple(parse_mutation_entry(znode.data, znode.path) for znode in znodes if znode is not None)


def quorum_steps(layout: ShardLayout, begun: Reading[Fence]) -> Steps[Mapping[str, tuple[str, ...]]]:
    """Read quorum znodes: partition id → paths of znodes with its parts. Raises FormatError."""
    named: defaultdict[str, list[str]] = defaultdict(list)
    folders = [layout.quorum_parallel, layout.quorum_failed_parts]
    (status,), listed = yield Query([layout.quorum_status], folders)
    format_version = begun.result.definition.format_version
    if status is not None:
        entry = parse_quorum_entry(status.data, format_version, status.path)
        named[entry.part.partition_id].append(status.path)
    for folder, names in zip_strict(folders, listed):
        for part in quorum_parts(names or (), format_version, folder):
            named[part.partition_id].append(f"{folder}/{part.text}")
    return {each: tuple(paths) for each, paths in named.items()}


class BlockNumbers(NamedTuple):
    """The content of ``block_numbers`` for the requested partitions."""

    partitions: frozenset[str]
    """Ids of the partitions that exist or existed."""
    in_flight: Mapping[str, tuple[str, ...]]
    """Partition id → paths of the locks of inserts in flight. Partitions without such inserts have no key."""


def block_number_steps(layout: ShardLayout, partition_ids: Sequence[str]) -> Steps[BlockNumbers]:
    """Read the existing partitions, and the inserts in flight. Raises FormatError.

    An insert deletes its lock and creates its part znode in one transaction. A lock deleted between listing
    and read counts as in flight. So every insert shows up here or in a later listing of the parts.
    """
    if not partition_ids:
        return BlockNumbers(frozenset(), {})
    folders = [layout.partition(each) for each in partition_ids]
    listed = [*zip_strict(partition_ids, (yield Query(children=folders)).children)]
    existing = frozenset(each for each, names in listed if names is not None)
    locks = [
        (each, f"{layout.partition(each)}/{name}")
        for each, names in listed
        for name in names or ()
        if name != STATE
    ]
    if not locks:
        return BlockNumbers(existing, {})
    znodes, (holding,) = yield Query([path for _each, path in locks], [layout.temp])
    holders = frozenset(holding or ())
    in_flight: defaultdict[str, list[str]] = defaultdict(list)
    for (each, path), lock in zip_strict(locks, znodes):
        if lock is None or _is_in_flight(lock, holders):
            in_flight[each].append(path)
    return BlockNumbers(existing, {each: tuple(paths) for each, paths in in_flight.items()})


def _is_in_flight(lock: Znode, holders: frozenset[str]) -> bool:
    name = lock.path.rpartition("/")[2]
    return block_lock(name, lock.data, lock.stat.ephemeral_owner, holders, lock.path) is BlockLock.IN_FLIGHT


def _pointer(replica: ReplicaZnodes) -> int:
    """Return the number of the first log entry not yet in the replica's queue; 0 without a log pointer."""
    znode = replica.log_pointer
    if znode is None or not znode.data:
        return 0
    if _NUMBER.fullmatch(znode.data.decode(errors="replace")) is None:
        raise FormatError(
            f"{znode.path} holds {znode.data!r} where a number of a log entry is expected",
            remedy="Find out which client wrote the znode; the partition stays in its ensemble",
        )
    return int(znode.data)


def _log_number(name: str, log: str) -> int:
    prefix, _dash, number = name.partition("-")
    if prefix != "log" or _NUMBER.fullmatch(number) is None:
        raise FormatError(
            f"{log}/{name} is not a log entry",
            remedy="Find out which client created the znode; no partition is moved",
        )
    return int(number)
