# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers have begun with the parts of a shard path, or have yet to do with them.

That is: entries of the queues and of the log, mutations, inserts that wait for a quorum, and inserts that
hold a block number.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..aligned import aligned
from ..errors import FormatError
from ..formats.block_lock import BlockLock, block_lock
from ..formats.layout import ShardLayout
from ..formats.log_entry import LogEntry, parse_log_entry, partitions_named
from ..formats.mutation_entry import MutationEntry, parse_mutation_entry
from ..formats.quorum import parse_quorum_entry, quorum_parts
from ..formats.state import STATE
from ..tree.ports import ZnodeReader
from .fence import ReplicaZnodes

_NUMBER = re.compile("[0-9]{1,19}")


class PendingEntries(NamedTuple):
    """Entries of the queues, and of the log as far as a replica has not taken them over."""

    by_partition: Mapping[str, tuple[LogEntry, ...]]
    """Partition id → entries that name it."""
    table_wide: tuple[str, ...]
    """Paths of entries that concern every partition."""


class EntryReader:
    """Reads queues and log; an entry never changes, so each is read and parsed once.

    A replica that was removed and added again under its name numbers its entries anew.
    """

    def __init__(self, hot: ZnodeReader, layout: ShardLayout) -> None:
        self._hot = hot
        self._layout = layout
        self._entries: dict[str, LogEntry] = {}
        self._created: dict[str, int] = {}
        """Replica → transaction that created it."""

    def forget(self) -> None:
        """Forget the entries; a table that was made again numbers its own anew."""
        self._entries.clear()
        self._created.clear()

    def pending(self, replicas: Sequence[ReplicaZnodes], format_version: int) -> PendingEntries:
        """Which partitions the queues and the unread end of the log name, and the table-wide entries.

        The pointers were read before the queues, and the queues are read before the log: an entry
        that moves from the log to a queue meanwhile is seen in one of the two. Raises FormatError.
        """
        self._forget_replaced(replicas)
        named: defaultdict[str, list[LogEntry]] = defaultdict(list)
        table_wide: list[str] = []
        for entry in self._read(self._paths(replicas)):
            if entry.table_wide:
                table_wide.append(entry.where)
            for partition_id in partitions_named(entry, format_version):
                named[partition_id].append(entry)
        return PendingEntries({each: tuple(found) for each, found in named.items()}, tuple(table_wide))

    def _forget_replaced(self, replicas: Sequence[ReplicaZnodes]) -> None:
        for replica in replicas:
            if self._created.setdefault(replica.layout.name, replica.created) != replica.created:
                self._created[replica.layout.name] = replica.created
                prefix = f"{replica.layout.queue}/"
                for path in [each for each in self._entries if each.startswith(prefix)]:
                    del self._entries[path]

    def _paths(self, replicas: Sequence[ReplicaZnodes]) -> list[str]:
        queues = [replica.layout.queue for replica in replicas]
        paths = [
            f"{queue}/{name}"
            for queue, names in aligned(queues, self._hot.children(queues))
            for name in names or ()
        ]
        oldest = min((_pointer(replica) for replica in replicas), default=0)
        log = self._layout.log
        names = self._hot.children([log])[0] or ()
        return [*paths, *(f"{log}/{name}" for name in names if _log_number(name, log) >= oldest)]

    def _read(self, paths: Sequence[str]) -> list[LogEntry]:
        fresh = [path for path in paths if path not in self._entries]
        for path, znode in aligned(fresh, self._hot.read(fresh)):
            if znode is not None:
                self._entries[path] = parse_log_entry(znode.data, path)
        return [self._entries[path] for path in paths if path in self._entries]


def read_mutations(hot: ZnodeReader, layout: ShardLayout) -> tuple[MutationEntry, ...]:
    """The mutations of the table that have not been cleaned up. Raises FormatError."""
    names = hot.children([layout.mutations])[0] or ()
    found = hot.read([f"{layout.mutations}/{name}" for name in names])
    return tuple(parse_mutation_entry(znode.data, znode.path) for znode in found if znode is not None)


def read_quorum(hot: ZnodeReader, layout: ShardLayout, format_version: int) -> Mapping[str, tuple[str, ...]]:
    """Partition id → paths of the quorum znodes that name a part of it. Raises FormatError."""
    named: defaultdict[str, list[str]] = defaultdict(list)
    status = hot.read([layout.quorum_status])[0]
    if status is not None:
        entry = parse_quorum_entry(status.data, format_version, status.path)
        named[entry.part.partition_id].append(status.path)
    folders = [layout.quorum_parallel, layout.quorum_failed_parts]
    for folder, names in aligned(folders, hot.children(folders)):
        for part in quorum_parts(names or (), format_version, folder):
            named[part.partition_id].append(f"{folder}/{part.text}")
    return {each: tuple(found) for each, found in named.items()}


def read_inserts_in_flight(
    hot: ZnodeReader, layout: ShardLayout, children: Mapping[str, Iterable[str] | None]
) -> dict[str, tuple[str, ...]]:
    """Partition id → paths of the locks of inserts that are under way; a partition without is no key.

    ``children`` are those of each partition's znode; None where there is no such znode.
    """
    paths = [
        f"{layout.partition(each)}/{name}"
        for each, names in children.items()
        for name in names or ()
        if name != STATE
    ]
    if not paths:
        return {}
    locks = [znode for znode in hot.read(paths) if znode is not None]
    holders = frozenset(hot.children([layout.temp])[0] or ())
    found: defaultdict[str, list[str]] = defaultdict(list)
    for lock in locks:
        folder, _slash, name = lock.path.rpartition("/")
        meaning = block_lock(name, lock.data, lock.stat.ephemeral_owner, holders, lock.path)
        if meaning is BlockLock.IN_FLIGHT:
            found[folder.rpartition("/")[2]].append(lock.path)
    return {each: tuple(paths) for each, paths in found.items()}


def _pointer(replica: ReplicaZnodes) -> int:
    """Number of the first log entry that the replica has not taken over; 0 when it has none yet."""
    znode = replica.log_pointer
    if znode is None or not znode.data:
        return 0
    if _NUMBER.fullmatch(znode.data.decode(errors="replace")) is None:
        raise FormatError(
            f"{znode.path} holds {znode.data!r} where a number of a log entry is expected",
            remedy="Find out what wrote it; the partition stays where it is",
        )
    return int(znode.data)


def _log_number(name: str, log: str) -> int:
    prefix, _dash, number = name.partition("-")
    if prefix != "log" or _NUMBER.fullmatch(number) is None:
        raise FormatError(
            f"{log}/{name} is not a log entry", remedy="Find out what created it; nothing is moved"
        )
    return int(number)
