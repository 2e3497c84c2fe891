# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One read of a shard path in hot and one in cold, with the order of the requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..binding.binding import paths_in_hot
from ..formats.layout import ShardLayout
from ..lease.confirmation import lease_paths_in_cold, lease_paths_in_hot
from ..tree.ports import ZnodeReader
from ..tree.reading import Reading, Steps, last_steps, read_together
from ..tree.znodes import Query, QueryAnswer, Znode
from ..zip_strict import zip_strict
from .fence import Fence
from .part_listing import ListedParts, Names, PartListing
from .pending import EntryReader, block_number_steps, mutation_steps, quorum_steps
from .shared_storage import shared_storage_steps


class HotRead:
    """The facts read from hot together, for a table with the given replicas.

    The order matters: the versions of the fence come before all fenced facts, and the locks of inserts before
    the parts. Lock and epoch come last, see `confirmation`.
    """

    def __init__(
        self,
        layout: ShardLayout,
        root: str,
        replicas: Sequence[str],
        partition_ids: Sequence[str],
        *,
        fence: Steps[Fence],
        lists: PartListing,
        entries: EntryReader,
    ) -> None:
        """Prepare the read. ``root``: the coordination root. Without partitions, no parts are listed."""
        layouts = [layout.replica(name) for name in replicas]
        self.replicas = replicas
        self.fence = Reading(fence)
        self.states = Reading(znode_steps([layout.state(each) for each in partition_ids]))
        self.block_numbers = Reading(block_number_steps(layout, partition_ids))
        self.parts = Reading(lists.steps(replicas if partition_ids else [], partition_ids))
        self.pending = Reading(entries.pending_steps(replicas, self.fence))
        self.mutations = Reading(mutation_steps(layout))
        self.quorum = Reading(quorum_steps(layout, self.fence))
        self.shared_storage = Reading(shared_storage_steps(layout, self.fence))
        self.of_replicas = Reading(names_steps([each.path for each in layouts]))
        self.binding = Reading(znode_steps(paths_in_hot(root, layout)))
        self._readings: list[Reading[Any]] = [
            *(self.fence, self.states, self.block_numbers, self.parts, self.pending),
            *(self.mutations, self.quorum, self.shared_storage, self.of_replicas, self.binding),
        ]
        self.lease = Reading(last_steps(lease_paths_in_hot(root, layout.path), self._readings))

    def take(self, hot: ZnodeReader) -> HotRead:
        """Read all facts. Raises NoSuchTable, FormatError, EnsembleError and its subclasses."""
        read_together(hot, [*self._readings, self.lease])
        return self

    @property
    def is_of_all_replicas(self) -> bool:
        """Whether the table still had exactly the given replicas after the read of their versions."""
        return tuple(self.replicas) == self.fence.result.replica_names


class ColdRead(NamedTuple):
    """The facts read from cold together."""

    binding: QueryAnswer
    """The answer to `query_in_cold`."""
    listed: ListedParts
    """The parts of the requested partitions, for each replica; no replicas without requested partitions."""
    has_parts: bool
    """Whether cold has any part at the shard path, also of unrequested replicas of a former table."""
    epoch: Znode | None
    """The epoch, read last; see `confirmation`."""


def read_cold(
    cold: ZnodeReader,
    layout: ShardLayout,
    query: Query,
    replicas: Sequence[str],
    lists: PartListing,
    partition_ids: Sequence[str] = (),
    *,
    root: str,
) -> ColdRead:
    """Read the parts of these replicas in cold. Without partitions, read only whether cold has parts.

    query: that of the binding, `query_in_cold`. root: the coordination root.
    """
    folders = [layout.replica(name).parts for name in replicas]
    top = Reading(_top_steps(layout, query, replicas))
    listed = Reading(lists.steps(replicas if partition_ids else [], partition_ids))
    counted = Reading(znode_steps([] if partition_ids else folders))
    readings: list[Reading[Any]] = [top, listed, counted]
    epoch = Reading(last_steps(lease_paths_in_cold(root, layout.path), readings))
    read_together(cold, [*readings, epoch])
    binding, has_others = top.result
    has_counted = any(each.stat.num_children for each in counted.result.values() if each is not None)
    has_parts = has_others or listed.result.has_parts or has_counted
    return ColdRead(binding, listed.result, has_parts, epoch.result[0])


def _top_steps(
    layout: ShardLayout, binding: Query, replicas: Sequence[str]
) -> Steps[tuple[QueryAnswer, bool]]:
    """Read the znodes of the binding, and whether a replica outside of ``replicas`` has parts."""
    answer = yield Query(binding.znodes, [*binding.children, layout.replicas])
    *of_binding, existing = answer.children
    others = [layout.replica(name).parts for name in existing or () if name not in replicas]
    has_others = any((yield Query(children=others)).children) if others else False
    return QueryAnswer(answer.znodes, of_binding), has_others


def znode_steps(paths: Sequence[str]) -> Steps[Mapping[str, Znode | None]]:
    """Read znodes: path → znode, or None."""
    if not paths:
        return {}
    return dict(zip_strict(paths, (yield Query(paths)).znodes))


def names_steps(paths: Sequence[str]) -> Steps[list[Names]]:
    """List the names of the children of each path, in order."""
    if not paths:
        return []
    return [*(yield Query(children=paths)).children]
