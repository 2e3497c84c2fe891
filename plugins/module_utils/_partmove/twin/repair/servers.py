# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to the servers of a table and its cold twin, for repairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ..audit.evidence import TwinWitnesses
from ..move.servers import TwinServers
from ..move.tables import Side, TwinTables
from .statements import (
    AttachPart,
    AttachScratch,
    BuildScratch,
    DetachPart,
    DropDetached,
    DropScratch,
    ReplicaCommand,
)


class RowCounts(NamedTuple):
    """How many rows two sets of parts have, each row by its values and counted as often as it occurs.

    both: rows that both have. hot_only, cold_only: rows that one has more often than the other.
    cold_new: rows of the cold parts with values that no hot row has.
    cold_repeats: rows of the cold parts with the values of another of these rows.
    """

    both: int
    hot_only: int
    cold_only: int
    cold_new: int
    cold_repeats: int


class RepairServers(TwinServers, TwinWitnesses, Protocol):
    """Queries the servers of replicas and executes statements on them. Raises PartMoveError on a failure."""

    def row_counts(
        self, tables: TwinTables, hot_parts: Sequence[str], cold_parts: Sequence[str], scratch: str = ""
    ) -> RowCounts:
        """Compare the visible rows of active parts of both tables, on the server of ``tables``.

        scratch: a table, quoted for SQL, whose rows count as rows of the cold parts.
        """

    def rows_in_common(self, tables: TwinTables, parts: Sequence[str], others: Sequence[str]) -> int:
        """Return how many rows of these parts of the twin other parts of the twin have too."""

    def detached(self, tables: TwinTables, partition_id: str) -> Mapping[Side, list[str]]:
        """Return the names of all folders of the partition in ``detached/`` of both tables."""

    def build(self, statement: BuildScratch) -> int:
        """Create and fill the scratch table; return its number of rows."""

    def attach_scratch(self, statement: AttachScratch) -> None:
        """Execute the statement, and wait for all replicas."""

    def drop_scratch(self, statement: DropScratch) -> None:
        """Drop the scratch table if there is one. Raises PartMoveError if another table has the name."""

    def detach(self, statement: DetachPart) -> bool:
        """Execute the statement, and wait for all replicas. False if the server reports no effect."""

    def attach_part(self, statement: AttachPart) -> None:
        """Execute the statement, without a wait for other replicas."""

    def command(self, statement: ReplicaCommand) -> None:
        """Execute the statement on the server of its tables, and wait until it has ended."""

    def drop_detached(self, statement: DropDetached) -> None:
        """Execute the statement on the server of its tables."""
