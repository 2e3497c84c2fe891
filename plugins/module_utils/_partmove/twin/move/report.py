# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run did to the partitions of one shard path whose table has a cold twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...gates.gate import Refusal
from ...journal.events import Event
from ...journal.port import Journal


class MovedTwin(NamedTuple):
    """A partition that is in the other table now."""

    partition: str
    parts: int
    """On each replica, as are rows and bytes."""
    rows: int
    bytes_on_disk: int
    left_behind: tuple[str, ...]
    """Parts of the source that came after the move had begun, and stayed."""
    seen_twice_seconds: float | None
    """For how long both tables had rows of it; None where an earlier run had begun."""


@dataclass
class TwinReport:
    """Each partition asked for is in exactly one of the first four once the run is over."""

    shard_path: str
    moved: dict[str, MovedTwin] = field(default_factory=dict)
    unchanged: set[str] = field(default_factory=set)
    deferred: dict[str, Refusal] = field(default_factory=dict)
    failed: dict[str, Refusal] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """Those of which a statement was given, whatever became of them."""
    merges_started: bool = False
    """Whether merges go on that a run had left stopped which was killed."""
    statements: list[str] = field(default_factory=list)
    """In check mode, what would be given first of all for each partition, in SQL."""

    @property
    def is_changed(self) -> bool:
        """Whether a statement was given, or would be in check mode."""
        return bool(self.moved or self.touched or self.merges_started)

    def open(self, wanted: Sequence[str]) -> list[str]:
        """Those of the wanted partitions that nothing has been said about yet."""
        said = (self.moved, self.unchanged, self.deferred, self.failed)
        return [each for each in wanted if not any(each in kind for kind in said)]

    def record_refusals(self, journal: Journal) -> None:
        """Let the journal have what the run is over with and did not do."""
        for event, refusals in ((Event.DEFERRED, self.deferred), (Event.FAILED, self.failed)):
            journal.record(event, _refused(self.shard_path, refusals))


def _refused(shard_path: str, refusals: Mapping[str, Refusal]) -> Iterator[dict[str, object]]:
    for each in sorted(refusals):
        refusal = refusals[each]
        yield {
            "shard_path": shard_path,
            "partition": each,
            "gate": refusal.gate.value,
            "reason": refusal.reason,
        }
