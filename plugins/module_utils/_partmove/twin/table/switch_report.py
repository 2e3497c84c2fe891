# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run reports of the move of a whole table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...text import count_of, first_few
from ..move.report import TwinReport
from .pair import PairContents, TableContents


class Exchanged(NamedTuple):
    """The exchange on one replica, executed or, in check mode, simulated."""

    replica: str
    server: str
    statement: str


class FinalCounts(NamedTuple):
    """The contents of the tables of a replica at the end of the run, and before the names were exchanged."""

    replica: str
    server: str
    with_name: TableContents
    without_name: TableContents
    before: PairContents | None
    """The earlier contents of the tables that now are with and without the name; None without an exchange."""
    older_inserts: Sequence[str] | None
    """What began before the exchange and may still insert into the table without the name, for people; None
    while the replica has not exchanged its names."""


@dataclass
class TableSwitchReport:
    """The outcome for the table of a shard."""

    shard_path: str
    name: str = ""
    exchanged: list[Exchanged] = field(default_factory=list)
    before: TwinReport | None = None
    """Partitions moved away from the name, before the exchange."""
    after: TwinReport | None = None
    """Partitions moved to the name, after the exchange."""
    final_counts: list[FinalCounts] = field(default_factory=list)
    differing: str = ""
    """Which replicas had different parts at the end, for people; empty if none had. See `unfinished`."""
    between: Sequence[str] = ()
    """Partitions with a record at the end."""
    never_left: bool = False
    """Whether the table is to be at home and never left, so that no replica has a twin."""

    @property
    def is_finished(self) -> bool:
        """Whether no row is, or can still come, in the table without the name."""
        return self.never_left or (bool(self.final_counts) and not self.unfinished)

    @property
    def unfinished(self) -> str:
        """Why the move is not finished, for people; empty if it is, or if the end was not reached.

        Replicas may differ. The table without the name is only finished without a part on every replica, so
        it has no difference. In the table with the name inserts and merges make differences all the time:
        what one replica has, the ensemble of that table brings to the others, with no help of the old table.
        """
        for each in self.final_counts:
            if each.older_inserts is None:
                return f"{each.server} has not exchanged the names of {self.name}"
            if each.older_inserts:
                return f"on {each.server} there began before the exchange: {first_few(each.older_inserts)}"
        for each in self.final_counts:
            if each.without_name.parts:
                left = count_of(each.without_name.parts, "part")
                return f"the other table of {self.name} has {left} on {each.server}"
        if self.between:
            partitions = first_few(self.between)
            return f"partition {partitions} of {self.shard_path} is between the two tables by its record"
        return ""
