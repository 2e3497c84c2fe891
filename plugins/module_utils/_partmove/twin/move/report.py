# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a run for the partitions of a shard path whose table has a cold twin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ...gates.gate import Refusal
from ...run.report import RunReport
from .hot_znodes import HotZnodes
from .readers import ReadersSeen
from .tables import Side


class MovedTwin(NamedTuple):
    """A partition that arrived in the destination table."""

    partition: str
    parts: int
    """Number of parts on each replica; rows and bytes are those of each replica, too."""
    rows: int
    bytes_on_disk: int
    left_behind: tuple[str, ...]
    """Names of parts that were inserted into the source during the move, and stay there."""
    seen_twice_seconds: float | None
    """Seconds with the rows in both tables; None in check mode and if an earlier run began the move."""
    forgotten_inserts: int = 0
    """INSERTs that the hot table recognised as repeated before the move, and does not any more."""


class FinishedTwin(NamedTuple):
    """A partition whose record of an earlier run this run has finished without being asked for it."""

    partition: str
    destination: Side
    """The direction of the record."""
    undone: bool
    """Whether the clones were dropped instead of the recorded parts, so that the partition stayed."""


@dataclass
class TwinReport(RunReport[MovedTwin]):
    """The outcome of each requested partition of a shard path whose table has a cold twin."""

    merges_started: bool = False
    """Whether the run started merges that a killed run had left stopped."""
    finished: dict[str, FinishedTwin] = field(default_factory=dict)
    """Partition id → the end of a record of an earlier run, for partitions that were not requested."""
    unfinished: dict[str, Refusal] = field(default_factory=dict)
    """Partition id → why its record of an earlier run is left, for partitions that were not requested."""
    readers: ReadersSeen = field(default_factory=ReadersSeen)
    """What readers of both tables saw during the moves."""
    hot_znodes: HotZnodes | None = None
    """Znodes of the table in hot after the moves; None if nothing was moved, and in check mode."""
    statements: list[str] = field(default_factory=list)
    """In check mode, the SQL statements that the run would execute, in their order."""

    @property
    def is_changed(self) -> bool:
        """Whether the run executed a statement or ended a move; in check mode, whether the run would."""
        return super().is_changed or self.merges_started or bool(self.finished)
