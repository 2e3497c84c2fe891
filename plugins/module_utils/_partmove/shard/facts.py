# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known of one shard path, read once, for the gates to judge and the switch to be fenced by."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from ..binding.binding import Binding
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
    """The znodes that register one part of one replica in one ensemble."""

    name: PartName
    znode: Znode
    children: tuple[Znode, ...]

    @property
    def replica(self) -> str:
        """Name of the replica, from the path ``…/replicas/<replica>/parts/<part>``."""
        return self.znode.path.rsplit("/", 3)[1]

    @property
    def znodes(self) -> int:
        """How many znodes register the part."""
        return 1 + len(self.children)

    @property
    def data_bytes(self) -> int:
        """Bytes of data in those znodes."""
        return len(self.znode.data) + sum([len(child.data) for child in self.children])

    @property
    def payload(self) -> tuple[bytes, tuple[tuple[str, bytes], ...]]:
        """Data of the part znode, then name and data of each child: what a copy must equal."""
        if not self.children:
            return self.znode.data, ()
        prefix = len(self.znode.path) + 1
        return self.znode.data, tuple((child.path[prefix:], child.data) for child in self.children)

    def registers_as(self, other: RegisteredPart) -> bool:
        """Whether the other has the same payload."""
        # Each part is compared many times, and most have no children: no payload is made for it.
        if self.znode.data != other.znode.data or len(self.children) != len(other.children):
            return False
        return not self.children or self._has_children_of(other)

    def _has_children_of(self, other: RegisteredPart) -> bool:
        here, there = len(self.znode.path), len(other.znode.path)
        for child, another in zip_strict(self.children, other.children):
            if child.data != another.data or child.path[here:] != another.path[there:]:
                return False
        return True


@dataclass(frozen=True)
class ReplicaFacts:
    """What the znodes of one replica say. None stands for a znode that is not there."""

    name: str
    host: Znode | None
    is_active: Znode | None
    is_lost: Znode | None
    columns: bytes | None
    metadata: bytes | None
    unknown_children: tuple[str, ...]
    created: int
    """As `ReplicaZnodes.created` has it."""


@dataclass(frozen=True)
class ShardFacts:
    """What concerns all partitions of a shard path.

    ``fence`` was read before everything else here, so a multi that carries it fails when anything
    relevant happened since.
    """

    layout: ShardLayout
    metadata: TableMetadata
    columns: bytes
    czxid: int
    """Transaction that created the shard path: another one after the table was made again."""
    binding: Binding
    """How hot and cold are bound to each other there."""
    has_parts_in_cold: bool
    """Whether cold has a part there, of whatever replica."""
    replicas: tuple[ReplicaFacts, ...]
    fence: tuple[Op, ...]
    unknown_children: tuple[str, ...]
    being_dropped: bool
    pending: Mapping[str, tuple[LogEntry, ...]]
    """Partition id → queue and log entries that name it."""
    pending_table_wide: tuple[str, ...]
    """Paths of queue and log entries that concern every partition."""
    mutations: tuple[MutationEntry, ...]
    quorum: Mapping[str, tuple[str, ...]]
    """Partition id → paths of quorum znodes that name a part of it."""
    shared_storage: tuple[str, ...]
    """Paths of zero-copy locks, pinned part UUIDs and parts on the move between shards."""


class RegisteredNames(NamedTuple):
    """Which parts of a partition each ensemble registers, by name only; every replica is a key of both."""

    state: Znode | None
    """The State marker; None where there is none."""
    hot: Mapping[str, Collection[str]]
    cold: Mapping[str, Collection[str]]

    @property
    def is_cold(self) -> bool:
        """Whether a server takes the partition for cold."""
        return self.state is not None and is_cold(self.state.data)

    @property
    def are_even_in_cold(self) -> bool:
        """Whether cold registers the same parts for every replica."""
        return len({frozenset(parts) for parts in self.cold.values()}) == 1

    @property
    def parts(self) -> int:
        """How many parts there are, over all replicas, in the ensemble that has more of them."""
        return max(sum(map(len, names.values())) for names in (self.hot, self.cold))


def state_text(state: Znode | None) -> str:
    """The State marker as rows and messages have it; empty where there is none."""
    return marker_text(None if state is None else state.data)


@dataclass(frozen=True)
class PartitionFacts:
    """What concerns one partition of a shard path."""

    partition_id: str
    exists: bool
    """Whether ``block_numbers/<partition>`` is there."""
    state: Znode | None
    inserts_in_flight: tuple[str, ...]
    hot: Mapping[str, tuple[RegisteredPart, ...]]
    """Replica → parts registered in the hot ensemble; every replica is a key, in order, as are the parts."""
    cold: Mapping[str, tuple[RegisteredPart, ...]]
    """Replica → parts registered in the cold ensemble; without keys where it was not read."""

    @property
    def is_cold(self) -> bool:
        """Whether a server takes the partition for cold."""
        return self.state is not None and is_cold(self.state.data)

    @property
    def names(self) -> RegisteredNames:
        """The partition without payloads."""
        hot, cold = (
            {replica: [part.name.text for part in parts] for replica, parts in found.items()}
            for found in (self.hot, self.cold)
        )
        return RegisteredNames(self.state, hot, cold)

    @property
    def are_even_in_cold(self) -> bool:
        """Whether cold registers the same parts for every replica."""
        return self.names.are_even_in_cold

    @property
    def only_in_cold(self) -> list[RegisteredPart]:
        """Parts that cold registers, and that hot neither registers nor has merged or mutated."""
        return [
            part
            for replica, parts in self.cold.items()
            for part in parts
            if not is_covered(part.name, [each.name for each in self.hot[replica]])
        ]

    def place_of(self, part: RegisteredPart) -> str:
        """The path of the part as messages have it: with the ensemble, where that is cold."""
        is_of_cold = part in self.cold.get(part.replica, ())
        return f"{part.znode.path} in the cold ensemble" if is_of_cold else part.znode.path

    @cached_property
    def hot_parts(self) -> tuple[RegisteredPart, ...]:
        """Parts in hot of all replicas; put together once, as most gates and steps ask for them."""
        return tuple(part for parts in self.hot.values() for part in parts)

    @property
    def cold_parts(self) -> list[RegisteredPart]:
        """Parts in cold of all replicas."""
        return [part for parts in self.cold.values() for part in parts]


def by_partition(
    found: Mapping[str, Mapping[str, Sequence[_Part]]], partition_ids: Sequence[str]
) -> dict[str, Mapping[str, tuple[_Part, ...]]]:
    """Partition id → replica → its parts; every replica is a key. Those with no part have one in common."""
    there = frozenset[str]().union(*found.values())
    nothing: dict[str, tuple[_Part, ...]] = dict.fromkeys(found, ())
    return {
        each: {replica: tuple(parts.get(each, ())) for replica, parts in found.items()}
        if each in there
        else nothing
        for each in partition_ids
    }
