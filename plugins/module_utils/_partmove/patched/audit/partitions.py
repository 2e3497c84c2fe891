# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence of all partitions of a shard path, made for one partition at a time.

A table may have a million parts, and most of them are consistent. So only the listed names and the problems
found in the content of parts stay in memory; the evidence of a partition is made from them on each access.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...binding.owner import Owner
from ...shard.copy_retention import retention_left_of
from .content import ReplicaContent, with_content
from .evidence import FirstReadMismatches, PartitionEvidence, ReplicaEvidence
from .replicas import NO_PARTITION, ListedNames, invalid_names, replica_evidence

Mismatches = Mapping[str, Mapping[str, FirstReadMismatches]]
"""Partition id → replica → its mismatches in the first read; a place without mismatches is no key."""


@dataclass(frozen=True, eq=False)
class Partitions(Mapping[str, PartitionEvidence]):
    """Every partition registered or on disk, by id; sorted, after the znodes without a valid part name.

    cold_is_known: see `PartitionEvidence`. now: time of the read, in seconds since 1970.
    contents: replica → what its parts contain, of the partitions whose content was read.
    before: the mismatches of the first read; None in the first read itself.
    """

    names: ListedNames
    owner: Owner
    cold_is_known: bool
    now: float
    contents: Mapping[str, ReplicaContent] = field(default_factory=dict)
    before: Mismatches | None = None

    def __getitem__(self, partition_id: str) -> PartitionEvidence:
        """Make the evidence of a partition. Raises KeyError for an unknown partition."""
        if partition_id == NO_PARTITION:
            invalid = invalid_names(self.names, self.owner)
            if invalid is None:
                raise KeyError(partition_id)
            replicas = [self._after_first_read(partition_id, each) for each in invalid.replicas]
            return replace(invalid, replicas=tuple(replicas))
        state = self.names.states[partition_id]
        are_active = all(each.is_active for each in self.names.replicas.values())
        replicas = [
            self._after_first_read(partition_id, with_content(each, self.contents.get(each.name)))
            for each in replica_evidence(self.names, partition_id)
        ]
        return PartitionEvidence(
            partition_id=partition_id,
            state=state,
            replicas=tuple(replicas),
            owner=self.owner,
            cold_is_known=self.cold_is_known,
            seconds_needed=retention_left_of(state, self.now, are_active=are_active),
            now=self.now,
        )

    def __iter__(self) -> Iterator[str]:
        """Yield the ids."""
        if self.names.hot.unreadable or self.names.cold.unreadable:
            yield NO_PARTITION
        yield from self.names.states

    def __len__(self) -> int:
        """Return the number of partitions."""
        return len(self.names.states) + bool(self.names.hot.unreadable or self.names.cold.unreadable)

    def __contains__(self, partition_id: object) -> bool:
        """Whether there is such a partition, without making its evidence."""
        return partition_id in self.names.states or (
            partition_id == NO_PARTITION and bool(self.names.hot.unreadable or self.names.cold.unreadable)
        )

    def _after_first_read(self, partition_id: str, replica: ReplicaEvidence) -> ReplicaEvidence:
        if self.before is None:
            return replica
        before = self.before.get(partition_id, {}).get(replica.name, FirstReadMismatches())
        return replace(replica, before=before)
