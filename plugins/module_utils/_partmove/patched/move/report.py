# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run did to the partitions of one shard path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...formats.state import State
from ...gates.gate import Refusal
from ...shard.facts import PartitionFacts, RegisteredPart, state_text


class MovedPartition(NamedTuple):
    """A partition whose registration changed the ensemble."""

    partition: str
    state_before: str
    """Empty where there was no State."""
    state_after: str
    parts: int
    """Over all replicas, as are znodes and bytes."""
    znodes: int
    data_bytes: int

    @classmethod
    def to_cold(cls, partition: PartitionFacts) -> MovedPartition:
        """The row of a partition that was registered in hot as ``partition`` says."""
        states = state_text(partition.state), State.COLD.value
        return cls._of(partition.partition_id, states, partition.hot_parts)

    @classmethod
    def to_hot(cls, partition_id: str, returned: Sequence[RegisteredPart]) -> MovedPartition:
        """The row of a partition whose parts are registered in hot again."""
        return cls._of(partition_id, (State.COLD.value, State.HOT.value), returned)

    def event(self, shard_path: str, zxid: int) -> dict[str, object]:
        """What a journal keeps of it; ``zxid`` is the transaction that did it."""
        return {
            "shard_path": shard_path,
            "partition": self.partition,
            "parts": self.parts,
            "znodes": self.znodes,
            "bytes": self.data_bytes,
            "zxid": zxid,
        }

    @classmethod
    def _of(
        cls, partition_id: str, states: tuple[str, str], parts: Sequence[RegisteredPart]
    ) -> MovedPartition:
        return cls(
            partition_id,
            *states,
            len(parts),
            sum([part.znodes for part in parts]),
            sum([part.data_bytes for part in parts]),
        )


@dataclass
class ShardReport:
    """Each partition asked for is in exactly one of the first five once the run is over."""

    shard_path: str
    moved: dict[str, MovedPartition] = field(default_factory=dict)
    unchanged: set[str] = field(default_factory=set)
    copies_removed: set[str] = field(default_factory=set)
    """Was registered in hot again by an earlier run, and has no copies in cold any more."""
    deferred: dict[str, Refusal] = field(default_factory=dict)
    """Not moved, for a reason that a gate gives; as they were."""
    failed: dict[str, Refusal] = field(default_factory=dict)
    """Something is not as it must be; a person has to look."""
    touched: set[str] = field(default_factory=set)
    """Deferred or failed, and something was written of it all the same, or may have been: it was switched, or
    copies that an earlier run had left were removed."""

    @property
    def is_changed(self) -> bool:
        """Whether the run left anything of a partition other than it was before, or may have."""
        return bool(self.moved or self.copies_removed or self.touched)

    def fail(self, partition_id: str, refusal: Refusal) -> None:
        """Take a partition from the moved ones to those that a person has to look at."""
        del self.moved[partition_id]
        self.failed[partition_id] = refusal
        self.touched.add(partition_id)

    def undo(self, partition_id: str, refusal: Refusal) -> None:
        """Take a partition from the moved ones to the deferred ones, as its switch was undone."""
        del self.moved[partition_id]
        self.deferred[partition_id] = refusal
        self.touched.add(partition_id)

    def lose(self, partition_ids: Iterable[str], refusal: Refusal) -> None:
        """Let partitions fail of which nobody knows whether they were switched."""
        lost = sorted(partition_ids)
        self.failed.update(dict.fromkeys(lost, refusal))
        self.touched.update(lost)

    def open(self, wanted: Sequence[str]) -> list[str]:
        """Those of the wanted partitions that nothing has been said about yet."""
        return [each for each in wanted if each not in self]

    def __contains__(self, partition_id: str) -> bool:
        return (
            partition_id in self.moved
            or partition_id in self.unchanged
            or partition_id in self.copies_removed
            or partition_id in self.deferred
            or partition_id in self.failed
        )
