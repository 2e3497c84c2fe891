# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a shard path: first the versions that the switch is fenced by, then all the gates look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..aligned import aligned
from ..binding.binding import Binding, marked_cold, read_binding, read_binding_of_any_cold
from ..formats.layout import ShardLayout, unknown_replica_children, unknown_table_children
from ..formats.table_metadata import parse_table_metadata
from ..tree.ports import ZnodeReader, ZnodeStore
from .facts import PartitionFacts, RegisteredNames, RegisteredPart, ReplicaFacts, ShardFacts
from .fence import Fence, no_table, read_fence
from .parts import PartNames, read_parts
from .pending import EntryReader, read_inserts_in_flight, read_mutations, read_quorum
from .shared_storage import read_shared_storage

_ATTEMPTS = 5
_DROPPED = "dropped"
"""Child of a shard path whose table is being dropped."""


class Look(NamedTuple):
    """What one look at a shard path found; no part of it is older than the call."""

    shard: ShardFacts
    partitions: dict[str, PartitionFacts]


class ColdPartitions(NamedTuple):
    """The partitions that are not in hot alone; ids, sorted.

    registered: cold has parts of them, or hot has although State says that they are cold.
    nowhere: State says that they are cold, and neither ensemble has a part.
    """

    registered: list[str]
    nowhere: list[str]


class ShardReader:
    """Reads one shard path as often as needed; what does not change while it is there is kept."""

    def __init__(
        self, hot: ZnodeStore, cold: ZnodeReader, layout: ShardLayout, root: str, *, any_cold: bool = False
    ) -> None:
        """``root`` is the coordination root of whoever reads.

        With ``any_cold`` another cold ensemble than the parts went to is not refused, for what goes by hot
        and the disks alone.
        """
        self._hot = hot
        self._cold = cold
        self._layout = layout
        self._root = root
        self._any_cold = any_cold
        self._czxid = 0
        self._entries = EntryReader(hot, layout)
        self._names = PartNames(layout, 0)

    def look(self, partition_ids: Sequence[str], *, with_cold: bool = True) -> Look:
        """Everything about the partitions and their shard path, none of it older than the call.

        Without ``with_cold`` the parts in cold are not read. Raises as `shard` does.
        """
        shard = self.shard()
        return Look(shard, self._partitions(shard, partition_ids, with_cold=with_cold))

    def shard(self) -> ShardFacts:
        """Everything that concerns all partitions, not older than the call.

        Raises NoSuchTable, FormatError, EnsembleError, and BoundElsewhere where others go about the
        shard path in another way.
        """
        layout = self._layout
        self._hot.sync(layout.path)
        fence = read_fence(self._hot, layout)
        # After the fence: whatever was taken from cold before that is seen to be gone.
        self._cold.sync(layout.path)
        shard_znode = self._hot.read([layout.path])[0]
        if shard_znode is None:
            raise no_table(layout)
        metadata = parse_table_metadata(fence.metadata.data, layout.metadata)
        if shard_znode.stat.czxid != self._czxid:
            # Another table is at the path by now, whose parts may be named in another way.
            self._entries.forget()
            self._names = PartNames(layout, metadata.format_version)
            self._czxid = shard_znode.stat.czxid
        children = self._hot.children([layout.path])[0] or ()
        pending = self._entries.pending(fence.replicas, metadata.format_version)
        return ShardFacts(
            layout=layout,
            metadata=metadata,
            columns=fence.columns.data,
            czxid=shard_znode.stat.czxid,
            binding=self.binding(),
            has_parts_in_cold=self._has_parts_in_cold(),
            replicas=tuple(self._replica_facts(fence)),
            fence=fence.checks,
            unknown_children=unknown_table_children(set(children) - {_DROPPED}),
            being_dropped=_DROPPED in children,
            pending=pending.by_partition,
            pending_table_wide=pending.table_wide,
            mutations=read_mutations(self._hot, layout),
            quorum=read_quorum(self._hot, layout, metadata.format_version),
            shared_storage=read_shared_storage(self._hot, layout, children),
        )

    def binding(self) -> Binding:
        """How hot and cold are bound to each other; raises as `read_binding` does."""
        read = read_binding_of_any_cold if self._any_cold else read_binding
        return read(self._hot, self._cold, self._root, self._layout)

    def registered_names(self, shard: ShardFacts, partition_ids: Sequence[str]) -> dict[str, RegisteredNames]:
        """Which parts of the partitions each ensemble registers; no payloads are read.

        Without the lease another run may move a partition between two reads, which also writes its
        State: such a partition is left out.
        """
        states = [self._layout.state(each) for each in partition_ids]
        before = self._hot.read(states)
        hot, cold = self.names_in_hot(shard), self.names_in_cold(shard)
        return {
            each: RegisteredNames(
                state,
                {replica: parts.get(each, ()) for replica, parts in hot.items()},
                {replica: parts.get(each, ()) for replica, parts in cold.items()},
            )
            for each, (state, after) in aligned(partition_ids, [*aligned(before, self._hot.read(states))])
            if state == after
        }

    def inserts_in_flight(self, partition_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Partition id → paths of the locks of inserts that are under way; one without is no key."""
        return read_inserts_in_flight(self._hot, self._layout, self._children(partition_ids))

    def partitions_not_only_in_hot(self, shard: ShardFacts) -> ColdPartitions:
        """The partitions that cold has parts of, or State says to be cold.

        A cold partition that was dropped is registered nowhere and keeps its State for ever.
        """
        # State first: a partition that becomes cold meanwhile is then found in cold.
        marked = set(marked_cold(self._hot, self._layout))
        in_cold = set[str]().union(*self.names_in_cold(shard).values())
        marked -= in_cold
        in_hot = set[str]().union(*self.names_in_hot(shard).values()) if marked else set()
        return ColdPartitions(sorted(in_cold | (marked & in_hot)), sorted(marked - in_hot))

    def names_in_hot(self, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        """Replica → partition id → names of parts in hot; no payloads are read."""
        return self._names_in(self._hot, shard)

    def names_in_cold(self, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        """Replica → partition id → names of parts in cold, of the replicas that hot has."""
        return self._names_in(self._cold, shard)

    def _partitions(
        self, shard: ShardFacts, partition_ids: Sequence[str], *, with_cold: bool
    ) -> dict[str, PartitionFacts]:
        layout = self._layout
        states = self._hot.read([layout.state(each) for each in partition_ids])
        children = self._children(partition_ids)
        wanted = frozenset(partition_ids)
        replicas = [replica.name for replica in shard.replicas]
        hot = self._registered(self._hot, replicas, wanted)
        cold = self._registered(self._cold, replicas, wanted) if with_cold else {}
        in_flight = read_inserts_in_flight(self._hot, layout, children)
        return {
            each: PartitionFacts(
                partition_id=each,
                exists=children[each] is not None,
                state=state,
                inserts_in_flight=in_flight.get(each, ()),
                hot={replica: tuple(hot[replica].get(each, ())) for replica in replicas},
                cold={replica: tuple(parts.get(each, ())) for replica, parts in cold.items()},
            )
            for each, state in aligned(partition_ids, states)
        }

    def _children(self, partition_ids: Sequence[str]) -> dict[str, tuple[str, ...] | None]:
        """Partition id → State and the locks of inserts; None where the table never had the partition."""
        paths = [self._layout.partition(each) for each in partition_ids]
        return dict(aligned(partition_ids, self._hot.children(paths)))

    def _replica_facts(self, fence: Fence) -> Iterator[ReplicaFacts]:
        children = self._hot.children([replica.layout.path for replica in fence.replicas])
        for replica, names in aligned(fence.replicas, children):
            yield ReplicaFacts(
                name=replica.layout.name,
                host=replica.host,
                is_active=replica.is_active,
                is_lost=replica.is_lost,
                columns=None if replica.columns is None else replica.columns.data,
                metadata=None if replica.metadata is None else replica.metadata.data,
                unknown_children=unknown_replica_children(names or ()),
                created=replica.created,
            )

    def _has_parts_in_cold(self) -> bool:
        """Whether cold has a part there at all.

        Also replicas that hot does not have count: a former table may have had other ones.
        """
        names = self._cold.children([self._layout.replicas])[0] or ()
        return any(self._cold.children([self._layout.replica(name).parts for name in names]))

    def _registered(
        self, reader: ZnodeReader, replicas: Sequence[str], wanted: frozenset[str]
    ) -> dict[str, dict[str, list[RegisteredPart]]]:
        """Replica → partition id → parts, by name, of the partitions wanted."""
        for _attempt in range(_ATTEMPTS):
            parts = [
                (path, name)
                for names in self._names.listed(reader, replicas)
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

    def _names_in(self, reader: ZnodeReader, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        replicas = [replica.name for replica in shard.replicas]
        return {
            replica: {each: [name.text for name in names] for each, names in partitions.items()}
            for replica, partitions in self._names.by_partition(reader, replicas).items()
        }
