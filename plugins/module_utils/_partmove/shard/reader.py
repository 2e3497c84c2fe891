# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a shard path: first the versions that the switch is fenced by, then all the gates look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..aligned import aligned
from ..errors import FormatError, NoSuchTable
from ..formats.block_lock import STATE, BlockLock, block_lock
from ..formats.layout import ReplicaLayout, ShardLayout, unknown_replica_children, unknown_table_children
from ..formats.log_entry import LogEntry, parse_log_entry, partitions_named
from ..formats.mutation_entry import MutationEntry, parse_mutation_entry
from ..formats.names import PartName, parse_part_name
from ..formats.quorum import parse_quorum_entry, quorum_parts
from ..formats.table_metadata import TableMetadata, parse_table_metadata
from ..tree.ports import ZnodeReader
from ..tree.znodes import Check, Op, Znode
from .facts import COLD, PartitionFacts, RegisteredPart, ReplicaFacts, ShardFacts, Whereabouts
from .parts import read_parts
from .shared_storage import read_shared_storage

_ATTEMPTS = 5
_DROPPED = "dropped"
"""Child of a shard path whose table is being dropped."""


class _Fence(NamedTuple):
    """What was read before anything else; None where there is no znode."""

    log: Znode
    mutations: Znode
    replicas: Znode
    columns: Znode
    metadata: Znode


class _ReplicaZnodes(NamedTuple):
    layout: ReplicaLayout
    host: Znode | None
    is_active: Znode | None
    is_lost: Znode | None
    log_pointer: Znode | None
    columns: Znode | None
    metadata: Znode | None


class ShardReader:
    """Reads one shard path as often as needed; what does not change while it is there is kept.

    Call ``hot.sync``, and `sync_cold`, first where the answer must not be older than the call.
    """

    def __init__(self, hot: ZnodeReader, cold: ZnodeReader, layout: ShardLayout) -> None:
        self._hot = hot
        self._cold = cold
        self._layout = layout
        self._czxid = 0
        self._entries: dict[str, LogEntry] = {}
        self._names: dict[str, PartName] = {}

    def sync_cold(self) -> None:
        """Let what is read of cold from here on be no older than this call."""
        self._cold.sync(self._layout.path)

    def shard(self) -> ShardFacts:
        """Everything that concerns all partitions. Raises NoSuchTable, FormatError."""
        layout = self._layout
        fence = self._read_fence()
        replicas = self._read_replicas()
        shard_znode = self._hot.read([layout.path])[0]
        if shard_znode is None:
            raise self._no_table()
        if shard_znode.stat.czxid != self._czxid:
            # A table that was made again numbers its log entries anew.
            self._entries.clear()
            self._czxid = shard_znode.stat.czxid
        metadata = parse_table_metadata(fence.metadata.data, layout.metadata)
        children = self._hot.children([layout.path])[0] or ()
        pending, table_wide = self._read_pending(replicas, metadata.format_version)
        return ShardFacts(
            layout=layout,
            metadata=metadata,
            columns=fence.columns.data,
            czxid=shard_znode.stat.czxid,
            cold_marker=self._read_cold_marker(),
            replicas=tuple(self._replica_facts(replicas)),
            fence=_fence_ops(fence, replicas),
            unknown_children=unknown_table_children(set(children) - {_DROPPED}),
            being_dropped=_DROPPED in children,
            pending=pending,
            pending_table_wide=table_wide,
            mutations=self._read_mutations(),
            quorum=self._read_quorum(metadata.format_version),
            shared_storage=read_shared_storage(self._hot, layout, children),
        )

    def partitions(
        self, shard: ShardFacts, partition_ids: Sequence[str], *, with_cold: bool = True
    ) -> dict[str, PartitionFacts]:
        """Facts of the partitions asked for, read after the shard's."""
        layout = self._layout
        states = self._hot.read([layout.state(each) for each in partition_ids])
        locks = self._hot.children([layout.partition(each) for each in partition_ids])
        wanted = frozenset(partition_ids)
        replicas = [replica.name for replica in shard.replicas]
        hot = self._registered(self._hot, shard.metadata, replicas, wanted)
        cold = self._registered(self._cold, shard.metadata, replicas, wanted) if with_cold else {}
        in_flight = self._inserts_in_flight(partition_ids, locks)
        return {
            each: PartitionFacts(
                partition_id=each,
                exists=children is not None,
                state=state,
                inserts_in_flight=in_flight.get(each, ()),
                hot={replica: tuple(hot[replica].get(each, ())) for replica in replicas},
                cold={replica: tuple(parts.get(each, ())) for replica, parts in cold.items()},
            )
            for each, state, children in aligned(partition_ids, states, locks)
        }

    def whereabouts(self, shard: ShardFacts, partition_ids: Sequence[str]) -> dict[str, Whereabouts]:
        """Where the partitions are registered; no payloads are read.

        Without the lease another run may move a partition between two reads, which also writes its
        State: such a partition is left out.
        """
        states = [self._layout.state(each) for each in partition_ids]
        before = self._hot.read(states)
        hot, cold = self.names_in_hot(shard), self.names_in_cold(shard)
        return {
            each: Whereabouts(
                state,
                {replica: parts.get(each, ()) for replica, parts in hot.items()},
                {replica: parts.get(each, ()) for replica, parts in cold.items()},
            )
            for each, state, after in aligned(partition_ids, before, self._hot.read(states))
            if state == after
        }

    def partitions_not_only_in_hot(self, shard: ShardFacts) -> list[str]:
        """Ids of the partitions that cold has parts of, or hot although State says they are cold; sorted.

        A cold partition that was dropped is registered nowhere and keeps its State for ever.
        """
        # State first: a partition that becomes cold meanwhile is then found in cold.
        marked = set(marked_cold(self._hot, self._layout))
        in_cold = set[str]().union(*self.names_in_cold(shard).values())
        marked -= in_cold
        if marked:
            marked &= set[str]().union(*self.names_in_hot(shard).values())
        return sorted(in_cold | marked)

    def names_in_hot(self, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        """Replica → partition id → names of parts in hot; no payloads are read."""
        return self._names_in(self._hot, shard)

    def names_in_cold(self, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        """The same of the cold ensemble."""
        return self._names_in(self._cold, shard)

    def _names_in(self, reader: ZnodeReader, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        replicas = [replica.name for replica in shard.replicas]
        found: dict[str, dict[str, list[str]]] = {name: {} for name in replicas}
        for replica, names in aligned(replicas, self._listed(reader, shard.metadata, replicas)):
            for _path, name in names:
                found[replica].setdefault(name.partition_id, []).append(name.text)
        return found

    def _no_table(self) -> NoSuchTable:
        return NoSuchTable(
            f"There is no replicated table at {self._layout.path} in the hot ensemble",
            remedy="Give the ZooKeeper path of the table as in its ENGINE clause, with macros replaced",
        )

    def _read_fence(self) -> _Fence:
        layout = self._layout
        paths = [layout.log, layout.mutations, layout.replicas, layout.columns, layout.metadata]
        found = [znode for znode in self._hot.read(paths) if znode is not None]
        if len(found) != len(paths):
            raise self._no_table()
        return _Fence(*found)

    def _read_replicas(self) -> list[_ReplicaZnodes]:
        names = self._hot.children([self._layout.replicas])[0] or ()
        layouts = [self._layout.replica(name) for name in names]
        paths = [
            path
            for each in layouts
            for path in (
                each.host, each.is_active, each.is_lost, each.log_pointer, each.columns, each.metadata
            )
        ]  # fmt: skip
        found = iter(self._hot.read(paths))
        return [_ReplicaZnodes(each, *(next(found) for _field in range(6))) for each in layouts]

    def _replica_facts(self, replicas: Iterable[_ReplicaZnodes]) -> Iterable[ReplicaFacts]:
        replicas = list(replicas)
        children = self._hot.children([replica.layout.path for replica in replicas])
        for replica, names in aligned(replicas, children):
            yield ReplicaFacts(
                name=replica.layout.name,
                host=replica.host,
                is_active=replica.is_active,
                is_lost=replica.is_lost,
                columns=None if replica.columns is None else replica.columns.data,
                metadata=None if replica.metadata is None else replica.metadata.data,
                unknown_children=unknown_replica_children(names or ()),
            )

    def _read_pending(
        self, replicas: Sequence[_ReplicaZnodes], format_version: int
    ) -> tuple[Mapping[str, tuple[LogEntry, ...]], tuple[str, ...]]:
        """Which partitions the queues and the unread end of the log name, and the table-wide entries.

        The pointers were read before the queues, and the queues are read before the log: an entry
        that moves from the log to a queue meanwhile is seen in one of the two.
        """
        queues = [replica.layout.queue for replica in replicas]
        listed = self._hot.children(queues)
        paths = [f"{queue}/{name}" for queue, names in aligned(queues, listed) for name in names or ()]
        oldest = min((_pointer(replica) for replica in replicas), default=0)
        log = self._layout.log
        paths += [
            f"{log}/{name}" for name in self._hot.children([log])[0] or () if _log_number(name, log) >= oldest
        ]
        named: defaultdict[str, list[LogEntry]] = defaultdict(list)
        table_wide: list[str] = []
        for entry in self._read_entries(paths):
            if entry.table_wide:
                table_wide.append(entry.where)
            for partition_id in partitions_named(entry, format_version):
                named[partition_id].append(entry)
        return {each: tuple(found) for each, found in named.items()}, tuple(table_wide)

    def _read_entries(self, paths: Sequence[str]) -> list[LogEntry]:
        fresh = [path for path in paths if path not in self._entries]
        for path, znode in aligned(fresh, self._hot.read(fresh)):
            if znode is not None:
                self._entries[path] = parse_log_entry(znode.data, path)
        return [self._entries[path] for path in paths if path in self._entries]

    def _read_mutations(self) -> tuple[MutationEntry, ...]:
        names = self._hot.children([self._layout.mutations])[0] or ()
        paths = [f"{self._layout.mutations}/{name}" for name in names]
        return tuple(
            parse_mutation_entry(znode.data, znode.path)
            for znode in self._hot.read(paths)
            if znode is not None
        )

    def _read_quorum(self, format_version: int) -> Mapping[str, tuple[str, ...]]:
        layout = self._layout
        named: defaultdict[str, list[str]] = defaultdict(list)
        status = self._hot.read([layout.quorum_status])[0]
        if status is not None:
            entry = parse_quorum_entry(status.data, format_version, status.path)
            named[entry.part.partition_id].append(status.path)
        folders = [layout.quorum_parallel, layout.quorum_failed_parts]
        for folder, names in aligned(folders, self._hot.children(folders)):
            for part in quorum_parts(names or (), format_version, folder):
                named[part.partition_id].append(f"{folder}/{part.text}")
        return {each: tuple(found) for each, found in named.items()}

    def _inserts_in_flight(
        self, partition_ids: Sequence[str], children: Sequence[Sequence[str] | None]
    ) -> dict[str, tuple[str, ...]]:
        paths = [
            f"{self._layout.partition(each)}/{name}"
            for each, names in aligned(partition_ids, children)
            for name in names or ()
            if name != STATE
        ]
        if not paths:
            return {}
        locks = [znode for znode in self._hot.read(paths) if znode is not None]
        holders = frozenset(self._hot.children([self._layout.temp])[0] or ())
        found: defaultdict[str, list[str]] = defaultdict(list)
        for lock in locks:
            folder, _slash, name = lock.path.rpartition("/")
            meaning = block_lock(name, lock.data, lock.stat.ephemeral_owner, holders, lock.path)
            if meaning is BlockLock.IN_FLIGHT:
                found[folder.rpartition("/")[2]].append(lock.path)
        return {each: tuple(paths) for each, paths in found.items()}

    def _read_cold_marker(self) -> bytes | None:
        """What marks the shard path in cold; None where cold has no part of a table there at all.

        Also replicas that hot does not have count: a former table may have had other ones.
        """
        names = self._cold.children([self._layout.replicas])[0] or ()
        if not any(self._cold.children([self._layout.replica(name).parts for name in names])):
            return None
        znode = self._cold.read([self._layout.path])[0]
        return b"" if znode is None else znode.data

    def _registered(
        self, reader: ZnodeReader, metadata: TableMetadata, replicas: Sequence[str], wanted: frozenset[str]
    ) -> dict[str, dict[str, list[RegisteredPart]]]:
        """Replica → partition id → parts, by name, of the partitions wanted."""
        for _attempt in range(_ATTEMPTS):
            parts = [
                (path, name)
                for names in self._listed(reader, metadata, replicas)
                for path, name in names
                if name.partition_id in wanted
            ]
            read = read_parts(reader, parts)
            # Parts that were merged after they were listed are gone, and what they became was not listed.
            if len(read) == len(parts):
                break
        found: dict[str, dict[str, list[RegisteredPart]]] = {name: {} for name in replicas}
        for part in read:
            found[part.replica].setdefault(part.name.partition_id, []).append(part)
        return found

    def _listed(
        self, reader: ZnodeReader, metadata: TableMetadata, replicas: Sequence[str]
    ) -> list[list[tuple[str, PartName]]]:
        """Path and name of every part, a list a replica. Raises FormatError for what is no part."""
        folders = [self._layout.replica(name).parts for name in replicas]
        return [
            [self._part_name(name, metadata.format_version, folder) for name in listed or ()]
            for folder, listed in aligned(folders, reader.children(folders))
        ]

    def _part_name(self, text: str, format_version: int, folder: str) -> tuple[str, PartName]:
        path = f"{folder}/{text}"
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = parse_part_name(text, format_version, path)
        return path, name


def _fence_ops(fence: _Fence, replicas: Sequence[_ReplicaZnodes]) -> tuple[Op, ...]:
    """Checks that fail once anything happened that could concern a part of the table.

    Servers from 20.x on raise the data version of ``/log`` whenever they assign a merge, a mutation
    or a drop. Older ones never do: there the version stays 0, and the log pointers of the replicas
    stand in, which also move with every insert. An ALTER of the columns writes to the shard path first,
    and then to every part.
    """
    ops: list[Op] = [Check(znode.path, znode.stat.version) for znode in fence]
    if fence.log.stat.version == 0:
        ops += [
            Check(replica.log_pointer.path, replica.log_pointer.stat.version)
            for replica in replicas
            if replica.log_pointer is not None
        ]
    for replica in replicas:
        ops += [
            Check(znode.path, znode.stat.version)
            for znode in (replica.host, replica.is_lost)
            if znode is not None
        ]
    return tuple(ops)


def _pointer(replica: _ReplicaZnodes) -> int:
    """Number of the first log entry that the replica has not taken over; 0 when it has none yet."""
    znode = replica.log_pointer
    if znode is None or not znode.data:
        return 0
    if not znode.data.isdigit():
        raise FormatError(
            f"{znode.path} holds {znode.data!r} where a number of a log entry is expected",
            remedy="Find out what wrote it; the partition stays where it is",
        )
    return int(znode.data)


def _log_number(name: str, log: str) -> int:
    prefix, _dash, number = name.partition("-")
    if prefix != "log" or not number.isdigit():
        raise FormatError(
            f"{log}/{name} is not a log entry", remedy="Find out what created it; nothing is moved"
        )
    return int(number)


def marked_cold(hot: ZnodeReader, layout: ShardLayout) -> tuple[str, ...]:
    """Ids of the partitions whose State is COLD, sorted; one that was dropped while cold stays among them."""
    ids = hot.children([layout.block_numbers])[0] or ()
    states = hot.read([layout.state(each) for each in ids])
    return tuple(each for each, state in aligned(ids, states) if state is not None and state.data == COLD)
