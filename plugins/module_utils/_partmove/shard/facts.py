# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of one shard path, from one read: the input of the gates, and the fence of the switch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from ..binding.binding import Binding
from ..binding.owner import Owner
from ..formats.layout import ShardLayout
from ..formats.log_entry import LogEntry
from ..formats.mutation_entry import MutationEntry
from ..formats.names import PartName, is_covered
from ..formats.state import is_cold, marker_text
from ..formats.table_metadata import TableMetadata
from ..tree.znodes import Op, Znode
from ..zip_strict import zip_strict

_Part = TypeVar("_Part")


class RegisteredPart(NamedTuple):
    """The znodes of one part of one replica in one ensemble: the part znode and its children."""

    name: PartName
    znode: Znode
    children: tuple[Znode, ...]

    @property
    def replica(self) -> str:
        """The name of the replica, from the path ``…/replicas/<replica>/parts/<part>``."""
        return self.znode.path.rsplit("/", 3)[1]

    @property
    def znodes(self) -> int:
        """The number of znodes of the part."""
        return 1 + len(self.children)

    @property
    def data_bytes(self) -> int:
        """The bytes of data in the znodes of the part."""
        return len(self.znode.data) + sum([len(child.data) for child in self.children])

    @property
    def payload(self) -> tuple[bytes, tuple[tuple[str, bytes], ...]]:
        """The data of the part znode, then name and data of each child. A copy must have the same payload."""
        if not self.children:
            return self.znode.data, ()
        prefix = len(self.znode.path) + 1
        return self.znode.data, tuple((child.path[prefix:], child.data) for child in self.children)

    def registers_as(self, other: RegisteredPart) -> bool:
        """Whether the other part has the same payload."""
        # Each part is compared many times, and most parts have no children. So no payloads are built.
        if self.znode.data != other.znode.data or len(self.children) != len(other.children):
            return False
        return not self.children or self._has_children_of(other)

    def _has_children_of(self, other: RegisteredPart) -> bool:
        start, other_start = len(self.znode.path), len(other.znode.path)
        for child, other_child in zip_strict(self.children, other.children):
            if child.data != other_child.data or child.path[start:] != other_child.path[other_start:]:
                return False
        return True


@dataclass(frozen=True)
class ReplicaFacts:
    """The znodes of one replica; None for a missing znode."""

    name: str
    host: Znode | None
    is_active: Znode | None
    is_lost: Znode | None
    columns: bytes | None
    metadata: bytes | None
    unknown_children: tuple[str, ...]
    created: int
    """Transaction id of the creation of the replica, see `ReplicaZnodes.created`."""


@dataclass(frozen=True)
class ShardFacts:
    """The facts about all partitions of a shard path.

    ``fence`` was read before all other facts. So a multi with these checks fails if any relevant fact has
    changed.
    """

    layout: ShardLayout
    metadata: TableMetadata
    columns: bytes
    czxid: int
    """Transaction id of the creation of the shard path; differs after the table was recreated."""
    ctime: int
    """Time of the creation of the shard path in milliseconds since 1970."""
    binding: Binding
    """The binding of hot and cold at the shard path."""
    owner: Owner
    """The owner of the parts in cold."""
    has_parts_in_cold: bool
    """Whether cold has a part of any replica at the shard path."""
    replicas: tuple[ReplicaFacts, ...]
    fence: tuple[Op, ...]
    unknown_children: tuple[str, ...]
    being_dropped: bool
    pending: Mapping[str, tuple[LogEntry, ...]]
    """Partition id → queue and log entries with parts of the partition."""
    pending_table_wide: tuple[str, ...]
    """Paths of queue and log entries about every partition."""
    mutations: tuple[MutationEntry, ...]
    quorum: Mapping[str, tuple[str, ...]]
    """Partition id → paths of quorum znodes with a part of the partition."""
    shared_storage: tuple[str, ...]
    """Paths of zero-copy locks, of pinned part UUIDs, and of part moves between shards."""


class RegisteredNames(NamedTuple):
    """The names of a partition's parts in each ensemble, by replica. Both mappings have all replicas."""

    state: Znode | None
    """The State marker, or None."""
    hot: Mapping[str, Collection[str]]
    cold: Mapping[str, Collection[str]]

    @property
    def is_cold(self) -> bool:
        """Whether servers treat the partition as cold."""
        return self.state is not None and is_cold(self.state.data)

    @property
    def are_even_in_cold(self) -> bool:
        """Whether all replicas have the same parts in cold."""
        return len({frozenset(parts) for parts in self.cold.values()}) == 1

    @property
    def parts(self) -> int:
        """The number of parts of all replicas, in the ensemble with more parts."""
        return max(sum(map(len, names.values())) for names in (self.hot, self.cold))


def state_text(state: Znode | None) -> str:
    """Return the State marker as text for rows and messages; empty for no marker."""
    return marker_text(None if state is None else state.data)


@dataclass(frozen=True)
class PartitionFacts:
    """The facts about one partition of a shard path."""

    partition_id: str
    exists: bool
    """Whether ``block_numbers/<partition>`` exists."""
    state: Znode | None
    inserts_in_flight: tuple[str, ...]
    hot: Mapping[str, tuple[RegisteredPart, ...]]
    """Replica → parts in the hot ensemble. Every replica is a key; replicas and parts are sorted."""
    cold: Mapping[str, tuple[RegisteredPart, ...]]
    """Replica → parts in the cold ensemble; empty if cold was not read."""

    @property
    def is_cold(self) -> bool:
        """Whether servers treat the partition as cold."""
        return self.state is not None and is_cold(self.state.data)

    @property
    def names(self) -> RegisteredNames:
        """The names of the parts, without payloads."""
        hot, cold = (
            {replica: [part.name.text for part in parts] for replica, parts in registered.items()}
            for registered in (self.hot, self.cold)
        )
        return RegisteredNames(self.state, hot, cold)

    @property
    def are_even_in_cold(self) -> bool:
        """Whether all replicas have the same parts in cold."""
        return self.names.are_even_in_cold

    @property
    def only_in_cold(self) -> list[RegisteredPart]:
        """The parts in cold that no part of the same replica in hot covers."""
        return [
            part
            for replica, parts in self.cold.items()
            for part in parts
            if not is_covered(part.name, [each.name for each in self.hot[replica]])
        ]

    def place_of(self, part: RegisteredPart) -> str:
        """Return the path of the part for messages, with the ensemble if the part is in cold."""
        is_in_cold = part in self.cold.get(part.replica, ())
        return f"{part.znode.path} in the cold ensemble" if is_in_cold else part.znode.path

    @cached_property
    def hot_parts(self) -> tuple[RegisteredPart, ...]:
        """The parts in hot of all replicas; cached, because most gates and steps use them."""
        return tuple(part for parts in self.hot.values() for part in parts)

    @property
    def cold_parts(self) -> list[RegisteredPart]:
        """The parts in cold of all replicas."""
        return [part for parts in self.cold.values() for part in parts]


def by_partition(
    by_replica: Mapping[str, Mapping[str, Sequence[_Part]]], partition_ids: Sequence[str]
) -> dict[str, Mapping[str, tuple[_Part, ...]]]:
    """Regroup parts from replica → partition id → parts to partition id → replica → parts.

    Every replica is a key in the result. Partitions without parts share one empty mapping.
    """
    with_parts = frozenset[str]().union(*by_replica.values())
    no_parts: dict[str, tuple[_Part, ...]] = dict.fromkeys(by_replica, ())
    return {
        each: {replica: tuple(parts.get(each, ())) for replica, parts in by_replica.items()}
        if each in with_parts
        else no_parts
        for each in partition_ids
    }


def names_by_partition(
    states: Mapping[str, Znode | None],
    hot: Mapping[str, Mapping[str, Sequence[str]]],
    cold: Mapping[str, Mapping[str, Sequence[str]]],
) -> dict[str, RegisteredNames]:
    """Combine State of each partition and the names in each ensemble, by replica and partition id."""
    of_hot, of_cold = (by_partition(each, [*states]) for each in (hot, cold))
    return {each: RegisteredNames(state, of_hot[each], of_cold[each]) for each, state in states.items()}
