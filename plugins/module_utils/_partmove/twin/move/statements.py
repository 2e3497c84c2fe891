# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL statements of a move, as values: a run executes them, and check mode prints them."""

from __future__ import annotations

from typing import NamedTuple, Union

from ...formats.sql import literal
from .tables import Side, TwinTables


class AttachPartitions(NamedTuple):
    """Clones the parts of partitions from the source table into the destination, by hard links.

    The server of ``tables`` executes the statement, and all replicas follow. Servers clone one partition
    after the other, each with all its parts or none, and stop at the first partition that they refuse.
    """

    tables: TwinTables
    destination: Side
    partition_ids: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The SQL text."""
        to, source = self.tables.on(self.destination), self.tables.on(self.destination.other)
        commands = (
            f"ATTACH PARTITION ID {literal(each)} FROM {source.sql_name}" for each in self.partition_ids
        )
        return f"ALTER TABLE {to.sql_name} {', '.join(commands)}"


class DropParts(NamedTuple):
    """Drops active parts from one of the two tables by name; all replicas follow.

    Servers drop one part after the other, and stop at the first part that they refuse to drop.
    """

    tables: TwinTables
    side: Side
    parts: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The SQL text."""
        commands = (f"DROP PART {literal(each)}" for each in self.parts)
        return f"ALTER TABLE {self.tables.on(self.side).sql_name} {', '.join(commands)}"


class SetMerges(NamedTuple):
    """Stops merges and mutations of one of the two tables on a single replica, or starts them again."""

    tables: TwinTables
    side: Side
    allowed: bool

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"SYSTEM {'START' if self.allowed else 'STOP'} MERGES {self.tables.on(self.side).sql_name}"


Statement = Union[AttachPartitions, DropParts, SetMerges]
