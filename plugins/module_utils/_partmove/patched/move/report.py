# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcomes of a run over one shard path of patched servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...formats.state import State
from ...gates.gate import Refusal
from ...run.report import RunReport
from ...shard.facts import PartitionFacts, RegisteredPart, state_text


class MovedPartition(NamedTuple):
    """A partition whose part znodes moved to the other ensemble."""

    partition: str
    state_before: str
    """Empty without a State."""
    state_after: str
    parts: int
    """Number over all replicas, as are znodes and bytes."""
    znodes: int
    data_bytes: int

    @classmethod
    def to_cold(cls, partition: PartitionFacts) -> MovedPartition:
        """Return the row of a partition; ``partition``: the facts before the switch to cold."""
        states = state_text(partition.state), State.COLD.value
        return cls._of(partition.partition_id, states, partition.hot_parts)

    @classmethod
    def to_hot(cls, partition_id: str, returned: Sequence[RegisteredPart]) -> MovedPartition:
        """Return the row of a partition whose parts are registered in hot again."""
        return cls._of(partition_id, (State.COLD.value, State.HOT.value), returned)

    def event(self, shard_path: str, zxid: int) -> dict[str, object]:
        """Return the journal fields; ``zxid`` is the transaction of the switch."""
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
    """Partitions already in hot before the run, whose copies in cold were removed."""
    is_bound_now: bool = False
    """Whether the run bound the shard path to the two ensembles; their identities may be new, too."""

    @property
    def is_changed(self) -> bool:
        """Whether the run changed the ensembles, or may have; in check mode, whether it would."""
        return super().is_changed or bool(self.copies_removed) or self.is_bound_now

    def outcomes(self) -> tuple[Mapping[str, object] | set[str], ...]:
        """Return one collection of partitions per outcome."""
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
        """Fail partitions without an answer to their switch: the run does not know whether it happened."""
        lost = sorted(partition_ids)
        self.failed.update(dict.fromkeys(lost, refusal))
        self.touched.update(lost)
