# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL statements of a move, as values: a run executes them, and check mode prints them."""

from __future__ import annotations

from typing import NamedTuple, Union

from ...formats.sql import literal
from .tables import Side, TwinTables


class AttachPartition(NamedTuple):
    """Clones the parts of a partition from the source table into the destination, by hard links.

    The server of ``tables`` executes the statement, and all replicas follow.
    """

    tables: TwinTables
    destination: Side
    partition_id: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        to, source = self.tables.on(self.destination), self.tables.on(self.destination.other)
        partition = literal(self.partition_id)
        return f"ALTER TABLE {to.sql_name} ATTACH PARTITION ID {partition} FROM {source.sql_name}"


class DropPart(NamedTuple):
    """Drops an active part from one of the two tables; all replicas follow."""

    tables: TwinTables
    side: Side
    part: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"ALTER TABLE {self.tables.on(self.side).sql_name} DROP PART {literal(self.part)}"


class SetMerges(NamedTuple):
    """Stops merges and mutations of one of the two tables on a single replica, or starts them again."""

    tables: TwinTables
    side: Side
    allowed: bool

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"SYSTEM {'START' if self.allowed else 'STOP'} MERGES {self.tables.on(self.side).sql_name}"


Statement = Union[AttachPartition, DropPart, SetMerges]
