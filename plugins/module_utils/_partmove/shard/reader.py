# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads a shard path: first the fence of the switch, then the facts for the gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..binding.binding import (
    Binding,
    BindingZnodes,
    binding_of,
    binding_of_any_cold,
    marked_cold,
    query_in_cold,
    read_znodes,
)
from ..binding.owner import owner_of
from ..errors import EnsembleError
from ..formats.layout import ShardLayout, unknown_table_children
from ..lease.confirmation import lease_paths_in_cold, lease_paths_in_hot
from ..lease.lease import LeaseZnodes
from ..tree.ports import ZnodeReader, ZnodeStore
from ..tree.reading import Steps, read_before
from ..tree.znodes import Query, Znode
from ..zip_strict import zip_strict
from .facts import PartitionFacts, RegisteredNames, ShardFacts, by_partition, names_by_partition
from .fence import Fence, fence_steps
from .listing_cache import ListingCache
from .part_listing import PartListing
from .parts import PartNames
from .pending import BlockNumbers, EntryReader
from .reads import ColdRead, HotRead, read_cold

_ATTEMPTS = 5
_DROPPED = "dropped"
"""The child of a shard path that exists during a drop of the table."""


class ShardRead(NamedTuple):
    """The result of one read of a shard path; no part of it is older than the call."""

    shard: ShardFacts
    partitions: dict[str, PartitionFacts]


class ColdPartitions(NamedTuple):
    """The ids of partitions that are not only in hot, sorted.

    registered: partitions with parts in cold, or with parts in hot and State COLD.
    unregistered: partitions with State COLD and no part in either ensemble.
    """

    registered: list[str]
    unregistered: list[str]


class NamesRead(NamedTuple):
    """The result of one read of a shard path without payloads; no part of it is older than the call."""

    shard: ShardFacts
    partitions: Mapping[str, RegisteredNames]
    block_numbers: BlockNumbers


class ShardReader:
    """Reads one shard path repeatedly, and caches log entries, part names and listings."""

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
        """Set up a reader.

        root: the coordination root of the run.
        any_cold: accept a cold ensemble other than the bound ensemble, for callers that rely only on hot and
        the disks.
        known: the listings of an earlier reader of the same shard path.
        """
        self._hot = hot
        self._cold = cold
        self._layout = layout
        self.root = root
        """The coordination root."""
        self.lease_znodes = LeaseZnodes()
        """The znodes of the lease as of the end of the last read."""
        self._any_cold = any_cold
        self._czxid = 0
        self._replicas: tuple[str, ...] = ()
        """Names of the replicas at the last read."""
        self._entries = EntryReader(layout)
        self._names = PartNames(layout, 0)
        self._cache = ListingCache() if known is None else known
        self.hot_lists = PartListing(hot, self._names, self._cache.hot)
        self.cold_lists = PartListing(cold, self._names, self._cache.cold)
        """Writers report their writes to the listing of the ensemble."""

    def read(self, partition_ids: Sequence[str]) -> ShardRead:
        """Read all facts about the partitions and their shard path, none of them older than the call.

        Raises as `shard` does.
        """
        return self._with_payloads(partition_ids, *self._read_both(partition_ids), reread=True)

    def read_hot(self, partition_ids: Sequence[str], *, reread: bool) -> ShardRead:
        """Read as `read` does, but without the parts in cold.

        reread: if false, the data of a part in hot may come from the last read, provided that the znode is
        the same. The data may be outdated. Safe only for callers that delete a part with the version read.
        """
        in_hot, in_cold = self._read_both(partition_ids, parts_in_cold=False)
        return self._with_payloads(partition_ids, in_hot, in_cold, reread=reread)

    def _with_payloads(
        self, partition_ids: Sequence[str], in_hot: HotRead, in_cold: ColdRead, *, reread: bool
    ) -> ShardRead:
        root, path = self.root, self._layout.path
        in_hot_parts = self.hot_lists.registered_steps(in_hot.parts.result, partition_ids, reread=reread)
        hot, lease = read_before(self._hot, in_hot_parts, lease_paths_in_hot(root, path))
        if lease:
            self.lease_znodes = self.lease_znodes._replace(lock=lease[0], hot_epoch=lease[1])
        in_cold_parts = self.cold_lists.registered_steps(in_cold.listed, partition_ids)
        cold, lease = read_before(self._cold, in_cold_parts, lease_paths_in_cold(root, path))
        if lease:
            self.lease_znodes = self.lease_znodes._replace(cold_epoch=lease[0])
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

    def read_names(self, partition_ids: Sequence[str]) -> NamesRead:
        """Read as `read` does, but only the names of the parts."""
        in_hot, in_cold = self._read_both(partition_ids)
        partitions: Mapping[str, RegisteredNames] = {}
        if partition_ids:
            states = [in_hot.states.result[self._layout.state(each)] for each in partition_ids]
            hot, cold = in_hot.parts.result.texts, in_cold.listed.texts
            partitions = names_by_partition(dict(zip_strict(partition_ids, states)), hot, cold)
        return NamesRead(self._facts(in_hot, in_cold), partitions, in_hot.block_numbers.result)

    def shard(self) -> ShardFacts:
        """Read the facts about all partitions, none of them older than the call.

        Raises NoSuchTable, FormatError, EnsembleError, and BindingConflict if earlier runs used another
        coordination root or cold ensemble.
        """
        return self.read_names(()).shard

    def registered_names(
        self, partition_ids: Sequence[str], concludes: Callable[[RegisteredNames], bool] = lambda _names: True
    ) -> tuple[ShardFacts, dict[str, RegisteredNames]]:
        """Read the shard path and the names of the partitions' parts, also without a lease.

        Without a lease, another run may move a partition between two reads. A move also writes State. So
        partitions with a changed State are left out.

        concludes: whether the caller draws a conclusion from these names; otherwise State is not read again.
        Raises as `shard` does.
        """
        read = self.read_names(partition_ids)
        doubted = [each for each in partition_ids if concludes(read.partitions[each])]
        after = self._hot.read([self._layout.state(each) for each in doubted]) if doubted else []
        changed = {each for each, state in zip_strict(doubted, after) if state != read.partitions[each].state}
        return read.shard, {each: read.partitions[each] for each in partition_ids if each not in changed}

    def read_with_replicas(self, path: str) -> Znode | None:
        """Read a znode in hot, and in the same request the names of the replicas for the next read."""
        (answer,) = self._hot.ask([Query([path], [self._layout.replicas])])
        self._replicas = answer.children[0] or ()
        return answer.znodes[0]

    def binding(self) -> Binding:
        """Read the binding of hot and cold. Raises as `read_binding` does."""
        return self._binding_of(read_znodes(self._hot, self._cold, self.root, self._layout))

    def partitions_not_only_in_hot(self, shard: ShardFacts) -> ColdPartitions:
        """Find the partitions with parts in cold or with State COLD.

        A partition dropped while cold is unregistered and keeps its State forever.
        """
        # State is read first: the parts of a partition that becomes cold meanwhile are then listed in cold.
        marked = set(marked_cold(self._hot, self._layout))
        in_cold = set[str]().union(*self.names_in_cold(shard).values())
        marked -= in_cold
        in_hot = set[str]().union(*self.names_in_hot(shard).values()) if marked else set()
        return ColdPartitions(sorted(in_cold | (marked & in_hot)), sorted(marked - in_hot))

    def names_in_hot(self, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        """List the parts in hot: replica → partition id → names."""
        return self._names_in(self._hot, shard)

    def names_in_cold(self, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        """List the parts in cold of the replicas in hot: replica → partition id → names."""
        return self._names_in(self._cold, shard)

    def _read_both(
        self, partition_ids: Sequence[str], *, parts_in_cold: bool = True
    ) -> tuple[HotRead, ColdRead]:
        in_hot = self._read_hot(partition_ids)
        # After the fence: parts removed from cold before the fence must not be read any more.
        self._cold.sync(self._layout.path)
        requested = partition_ids if parts_in_cold else ()
        query = query_in_cold(self.root, self._layout, [*in_hot.binding.result.values()])
        in_cold = read_cold(
            self._cold, self._layout, query, in_hot.replicas, self.cold_lists, requested, root=self.root
        )
        lock, hot_epoch = in_hot.lease.result
        self.lease_znodes = LeaseZnodes(lock, hot_epoch, in_cold.epoch)
        return in_hot, in_cold

    def _read_hot(self, partition_ids: Sequence[str]) -> HotRead:
        layout = self._layout
        self._hot.sync(layout.path)
        replicas = self._replicas or self._hot.children([layout.replicas])[0] or ()
        for _attempt in range(_ATTEMPTS):
            fence = self._fence_steps(replicas)
            read = HotRead(
                layout,
                self.root,
                replicas,
                partition_ids,
                fence=fence,
                lists=self.hot_lists,
                entries=self._entries,
            ).take(self._hot)
            replicas = self._replicas = read.fence.result.replica_names
            if read.is_of_all_replicas:
                return read
        raise EnsembleError(
            f"Replicas of {layout.path} were added or dropped {_ATTEMPTS} times while they were read",
            remedy="Run again when no replica is added or dropped any more",
        )

    def _fence_steps(self, replicas: Sequence[str]) -> Steps[Fence]:
        fence = yield from fence_steps(self._layout, replicas)
        if fence.shard.stat.czxid != self._czxid:
            # The table was recreated, and the names of its parts may have another format.
            self._entries.forget()
            self._names.renew(fence.definition.format_version)
            self._cache.renew(fence.shard.stat.czxid)
            self._czxid = fence.shard.stat.czxid
        return fence

    def _facts(self, hot: HotRead, cold: ColdRead) -> ShardFacts:
        fence, pending = hot.fence.result, hot.pending.result
        binding = self._binding_of(BindingZnodes.of([*hot.binding.result.values()], cold.binding))
        return ShardFacts(
            layout=self._layout,
            metadata=fence.definition,
            columns=fence.columns.data,
            czxid=fence.shard.stat.czxid,
            ctime=fence.shard.stat.ctime,
            binding=binding,
            owner=owner_of(binding, fence.shard.stat),
            has_parts_in_cold=cold.has_parts,
            replicas=tuple(
                replica.facts(names or ())
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

    def _binding_of(self, znodes: BindingZnodes) -> Binding:
        if self._any_cold:
            return binding_of_any_cold(self._hot, self._cold, self.root, self._layout, znodes)
        return binding_of(self._hot, self._cold, self.root, self._layout, znodes)

    def _names_in(self, reader: ZnodeReader, shard: ShardFacts) -> dict[str, dict[str, list[str]]]:
        replicas = [replica.name for replica in shard.replicas]
        return {
            replica: {each: [name.text for name in names] for each, names in partitions.items()}
            for replica, partitions in self._names.by_partition(reader, replicas).items()
        }
