# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run did to the partitions of one shard path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .facts import PartitionFacts
from .gate import Refusal


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
    def to_cold(cls, partition: PartitionFacts, state_before: str) -> MovedPartition:
        """The row of a partition that was registered in hot as ``partition`` says."""
        parts = partition.hot_parts
        return cls(
            partition.partition_id,
            state_before,
            "COLD",
            len(parts),
            sum(part.znodes for part in parts),
            sum(part.data_bytes for part in parts),
        )


@dataclass(slots=True)
class ShardReport:
    """Each partition asked for is a key of exactly one of the four once the run is over."""

    shard_path: str
    moved: dict[str, MovedPartition] = field(default_factory=dict)
    unchanged: set[str] = field(default_factory=set)
    deferred: dict[str, Refusal] = field(default_factory=dict)
    """Not moved, for a reason that a gate gives; as they were."""
    failed: dict[str, Refusal] = field(default_factory=dict)
    """Something is not as it must be; a person has to look."""

    def open(self, wanted: Sequence[str]) -> list[str]:
        """Those of the wanted partitions that nothing has been said about yet."""
        return [each for each in wanted if each not in self]

    def __contains__(self, partition_id: str) -> bool:
        return (
            partition_id in self.moved
            or partition_id in self.unchanged
            or partition_id in self.deferred
            or partition_id in self.failed
        )
