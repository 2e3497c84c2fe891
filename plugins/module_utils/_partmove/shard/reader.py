# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a shard path: first the versions that the switch is fenced by, then all the gates look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..binding.binding import (
    Binding,
    binding_of,
    binding_of_any_cold,
    marked_cold,
    read_binding,
    read_binding_of_any_cold,
)
from ..errors import EnsembleError
from ..formats.layout import ShardLayout, unknown_replica_children, unknown_table_children
from ..tree.ports import ZnodeReader, ZnodeStore
from ..tree.reading import Steps
from ..tree.znodes import Znode
from ..zip_strict import zip_strict
from .facts import PartitionFacts, RegisteredNames, ReplicaFacts, ShardFacts, by_partition
from .fence import Fence, ReplicaZnodes, fence_steps
from .listing_cache import ListingCache
from .part_listing import ListedParts, PartListing
from .parts import PartNames
from .pending import BlockNumbers, EntryReader
from .reads import ColdRead, HotRead, look_at_cold

_ATTEMPTS = 5
_DROPPED = "dropped"
"""Child of a shard path whose table is being dropped."""


class ShardRead(NamedTuple):
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


class NamesRead(NamedTuple):
    """What one look at a shard path found by names alone; no part of it is older than the call."""

    shard: ShardFacts
    partitions: Mapping[str, RegisteredNames]
    block_numbers: BlockNumbers


class ShardReader:
    """Reads one shard path as often as needed; what does not change while it is there is kept."""

    def __init__(
        self,
        hot: ZnodeStore,
        cold: ZnodeReader,
        layout: ShardLayout,
        root: str,
        *,
        any_cold: bool = False,
        known: ListingCache | None = None,
    ) -> None:
        """``root`` is the coordination root of whoever reads, ``known`` what one before this one has listed.

        With ``any_cold`` another cold ensemble than the parts went to is not refused, for what goes by hot
        and the disks alone.
        """
        self._hot = hot
        self._cold = cold
        self._layout = layout
        self._root = root
        self._any_cold = any_cold
        self._czxid = 0
        self._replicas: tuple[str, ...] = ()
        """Names of the replicas that the look before found."""
        self._entries = EntryReader(layout)
        self._names = PartNames(layout, 0)
        self._known = ListingCache() if known is None else known
        self.hot_lists = PartListing(hot, self._names, self._known.hot)
        self.cold_lists = PartListing(cold, self._names, self._known.cold)
        """To be told by whoever writes to an ensemble."""

    def look(self, partition_ids: Sequence[str]) -> ShardRead:
        """Everything about the partitions and their shard path, none of it older than the call.

        Raises as `shard` does.
        """
        return self._look(partition_ids, *self._look_at_both(partition_ids), reread=True)

    def look_again(self, partition_ids: Sequence[str], *, reread: bool) -> ShardRead:
        """As `look`, but without the parts in cold.

        Without ``reread`` the data of a part in hot may be as the last look saw them, if it is the same
        znode. They may be others by now, which its version tells: that is for those who only delete it with
        the version that was read.
        """
        in_hot, in_cold = self._look_at_both(partition_ids, parts_in_cold=False)
        return self._look(partition_ids, in_hot, in_cold, reread=reread)

    def _look(
        self, partition_ids: Sequence[str], in_hot: HotRead, in_cold: ColdRead, *, reread: bool
    ) -> ShardRead:
        hot = self.hot_lists.registered(in_hot.parts.result, partition_ids, reread=reread)
        cold = self.cold_lists.registered(in_cold.listed, partition_ids)
        states, block_numbers = in_hot.states.result, in_hot.block_numbers.result
        of_hot, of_cold = by_partition(hot, partition_ids), by_partition(cold, partition_ids)
        partitions = {
            each: PartitionFacts(
                partition_id=each,
                exists=each in block_numbers.partitions,
                state=states[self._layout.state(each)],
                inserts_in_flight=block_numbers.in_flight.get(each, ()),
                hot=of_hot[each],
                cold=of_cold[each],
            )
            for each in partition_ids
        }
        return ShardRead(self._facts(in_hot, in_cold), partitions)

    def survey(self, partition_ids: Sequence[str]) -> NamesRead:
        """As `look`, by names alone."""
        in_hot, in_cold = self._look_at_both(partition_ids)
        partitions: Mapping[str, RegisteredNames] = {}
        if partition_ids:
            partitions = self._registered_names(
                partition_ids, in_hot.states.result, in_hot.parts.result, in_cold.listed
            )
        return NamesRead(self._facts(in_hot, in_cold), partitions, in_hot.block_numbers.result)

    def shard(self) -> ShardFacts:
        """Everything that concerns all partitions, not older than the call.

        Raises NoSuchTable, FormatError, EnsembleError, and BindingConflict where others go about the
        shard path in another way.
        """
        return self.survey(()).shard

    def registered_names(self, partition_ids: Sequence[str]) -> tuple[ShardFacts, dict[str, RegisteredNames]]:
        """The shard path, and which parts of the partitions each ensemble registers; no payloads are read.

        Without the lease another run may move a partition between two reads, which also writes its
        State: such a partition is left out. Raises as `shard` does.
        """
        found = self.survey(partition_ids)
        after = self._hot.read([self._layout.state(each) for each in partition_ids])
        settled = {
            each: found.partitions[each]
            for each, state in zip_strict(partition_ids, after)
            if found.partitions[each].state == state
        }
        return found.shard, settled

    def binding(self) -> Binding:
        """How hot and cold are bound to each other; raises as `read_binding` does."""
        read = read_binding_of_any_cold if self._any_cold else read_binding
        return read(self._hot, self._cold, self._root, self._layout)

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

    def _look_at_both(
        self, partition_ids: Sequence[str], *, parts_in_cold: bool = True
    ) -> tuple[HotRead, ColdRead]:
        in_hot = self._look_at_hot(partition_ids)
        # After the fence: whatever was taken from cold before that is seen to be gone.
        self._cold.sync(self._layout.path)
        wanted = partition_ids if parts_in_cold else ()
        return in_hot, look_at_cold(self._cold, self._layout, in_hot.replicas, self.cold_lists, wanted)

    def _look_at_hot(self, partition_ids: Sequence[str]) -> HotRead:
        layout = self._layout
        self._hot.sync(layout.path)
        replicas = self._replicas or self._hot.children([layout.replicas])[0] or ()
        for _attempt in range(_ATTEMPTS):
            fence = self._fence_steps(replicas)
            look = HotRead(
                layout,
                self._root,
                replicas,
                partition_ids,
                fence=fence,
                lists=self.hot_lists,
                entries=self._entries,
            ).take(self._hot)
            replicas = self._replicas = look.fence.result.replica_names
            if look.is_of_all_replicas:
                return look
        raise EnsembleError(
            f"Replicas of {layout.path} came or went {_ATTEMPTS} times while they were read",
            remedy="Run again when no replica is added or dropped any more",
        )

    def _fence_steps(self, replicas: Sequence[str]) -> Steps[Fence]:
        fence = yield from fence_steps(self._layout, replicas)
        if fence.shard.stat.czxid != self._czxid:
            # Another table is at the path by now, whose parts may be named in another way.
            self._entries.forget()
            self._names.renew(fence.definition.format_version)
            self._known.renew(fence.shard.stat.czxid)
            self._czxid = fence.shard.stat.czxid
        return fence

    def _facts(self, hot: HotRead, cold: ColdRead) -> ShardFacts:
        fence, pending = hot.fence.result, hot.pending.result
        bind = binding_of_any_cold if self._any_cold else binding_of
        (known,) = hot.known.result.values()
        return ShardFacts(
            layout=self._layout,
            metadata=fence.definition,
            columns=fence.columns.data,
            czxid=fence.shard.stat.czxid,
            binding=bind(self._hot, self._root, self._layout, known, cold.shard),
            has_parts_in_cold=cold.has_parts,
            replicas=tuple(
                _replica_facts(replica, names or ())
                for replica, names in zip_strict(fence.replicas, hot.of_replicas.result)
            ),
            fence=fence.checks,
            unknown_children=unknown_table_children(set(fence.children) - {_DROPPED}),
            being_dropped=_DROPPED in fence.children,
            pending=pending.by_partition,
            pending_table_wide=pending.table_wide,
            mutations=hot.mutations.result,
            quorum=hot.quorum.result,
            shared_storage=hot.shared_storage.result,
        )

    def _registered_names(
        self,
        partition_ids: Sequence[str],
        states: Mapping[str, Znode | None],
        hot: ListedParts,
        cold: ListedParts,
    ) -> dict[str, RegisteredNames]:
        of_hot, of_cold = (by_partition(each.texts, partition_ids) for each in (hot, cold))
        return {
            each: RegisteredNames(states[self._layout.state(each)], of_hot[each], of_cold[each])
            for each in partition_ids
        }

    def _names_in(self, reader: ZnodeReader, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        replicas = [replica.name for replica in shard.replicas]
        return {
            replica: {each: [name.text for name in names] for each, names in partitions.items()}
            for replica, partitions in self._names.by_partition(reader, replicas).items()
        }


def _replica_facts(replica: ReplicaZnodes, children: Sequence[str]) -> ReplicaFacts:
    return ReplicaFacts(
        name=replica.layout.name,
        host=replica.host,
        is_active=replica.is_active,
        is_lost=replica.is_lost,
        columns=None if replica.columns is None else replica.columns.data,
        metadata=None if replica.metadata is None else replica.metadata.data,
        unknown_children=unknown_replica_children(children),
        created=replica.created,
    )
