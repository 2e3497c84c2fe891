# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run did to the partitions of one shard path of patched servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...formats.state import State
from ...gates.gate import Refusal
from ...run.report import RunReport
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
class PatchedReport(RunReport[MovedPartition]):
    """The outcome of each requested partition of one shard path of patched servers."""

    copies_removed: set[str] = field(default_factory=set)
    """Partitions that hot registered again already, and whose copies in cold were removed."""

    @property
    def is_changed(self) -> bool:
        """Whether the run changed anything, or may have; in check mode, whether it would."""
        return super().is_changed or bool(self.copies_removed)

    def outcomes(self) -> tuple[Mapping[str, object] | set[str], ...]:
        """Return the collections that each hold the partitions of one outcome."""
        return *super().outcomes(), self.copies_removed

    def fail(self, partition_id: str, refusal: Refusal) -> None:
        """Turn a moved partition into a failed one."""
        del self.moved[partition_id]
        self.failed[partition_id] = refusal
        self.touched.add(partition_id)

    def undo(self, partition_id: str, refusal: Refusal) -> None:
        """Turn a moved partition into a deferred one, because its switch was undone."""
        del self.moved[partition_id]
        self.deferred[partition_id] = refusal
        self.touched.add(partition_id)

    def lose(self, partition_ids: Iterable[str], refusal: Refusal) -> None:
        """Fail partitions whose switch got no answer, so that the run does not know if it happened."""
        lost = sorted(partition_ids)
        self.failed.update(dict.fromkeys(lost, refusal))
        self.touched.update(lost)
