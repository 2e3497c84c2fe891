# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a run for the partitions of a shard path: the part of the report that both ways share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..gates.gate import Refusal
from ..journal.events import Event
from ..journal.port import Journal
from ..lease.bars import Hold

_Moved = TypeVar("_Moved")


def refused(shard_path: str, refusals: Mapping[str, Refusal]) -> Iterator[dict[str, object]]:
    """Yield the journal fields of each refused partition, sorted by partition id."""
    for each in sorted(refusals):
        yield {
            "shard_path": shard_path,
            "partition": each,
            "gate": refusals[each].gate.value,
            "reason": refusals[each].reason,
        }


@dataclass
class RunReport(Generic[_Moved]):
    """The outcome of each requested partition.

    Once the run is over, each requested partition is in exactly one of the collections of `outcomes`.
    """

    shard_path: str
    moved: dict[str, _Moved] = field(default_factory=dict)
    """Partition id → the row about its move."""
    unchanged: set[str] = field(default_factory=set)
    """Partitions that already were in the desired state."""
    deferred: dict[str, Refusal] = field(default_factory=dict)
    """Partitions that a gate refused; each stays as it was."""
    failed: dict[str, Refusal] = field(default_factory=dict)
    """Partitions that need manual action."""
    touched: set[str] = field(default_factory=set)
    """Partitions that the run wrote to, or may have written to, whatever their outcome."""
    ended_hold: Hold | None = None
    """The hold that the run deleted because its time had passed."""

    @property
    def is_changed(self) -> bool:
        """Whether the run changed anything or may have changed it; in check mode, whether it would."""
        return bool(self.moved or self.touched)

    def outcomes(self) -> tuple[Mapping[str, object] | set[str], ...]:
        """Return the collections of partitions, each for a single outcome."""
        return self.moved, self.unchanged, self.deferred, self.failed

    def open(self, requested: Sequence[str]) -> list[str]:
        """Return the requested partitions without an outcome, in their order."""
        outcomes = self.outcomes()
        return [each for each in requested if not any(each in outcome for outcome in outcomes)]

    def defer_open(self, requested: Sequence[str], refusal: Refusal) -> None:
        """Defer the requested partitions without an outcome."""
        self.deferred.update(dict.fromkeys(self.open(requested), refusal))

    def record_refusals(self, journal: Journal) -> None:
        """Write the deferred and the failed partitions to the journal. Raises PartMoveError."""
        journal.record(Event.DEFERRED, refused(self.shard_path, self.deferred))
        journal.record(Event.FAILED, refused(self.shard_path, self.failed))
