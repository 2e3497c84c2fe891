# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a run for the partitions of a shard path whose table has a cold twin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ...run.report import RunReport


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


@dataclass
class TwinReport(RunReport[MovedTwin]):
    """The outcome of each requested partition of a shard path whose table has a cold twin."""

    merges_started: bool = False
    """Whether the run started merges that a killed run had left stopped."""
    statements: list[str] = field(default_factory=list)
    """In check mode, the SQL statements that the run would execute, in their order."""

    @property
    def is_changed(self) -> bool:
        """Whether the run executed a statement; in check mode, whether the run would."""
        return super().is_changed or self.merges_started
