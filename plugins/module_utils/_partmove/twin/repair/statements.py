# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL statements of a repair, as values: a run executes them, and check mode prints them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Union

from ...errors import FormatError
from ...formats.sql import SECRET, identifier, literal
from ..move.row_sql import free_name, in_parts, row_of
from ..move.tables import Side, TwinTable, TwinTables

SCRATCH_COMMENT = "olap.partmove: scratch table of twin_repair"
"""The comment of a scratch table. Only a table with this comment is dropped."""

_ENGINE = re.compile(r" Replicated\w*MergeTree\(")


class DetachPart(NamedTuple):
    """Takes an active part out of one of the two tables, into ``detached/``; all replicas follow."""

    tables: TwinTables
    side: Side
    part: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"ALTER TABLE {self.tables.on(self.side).sql_name} DETACH PART {literal(self.part)}"


class AttachPart(NamedTuple):
    """Attaches a part from ``detached/`` of the twin on the server of ``tables``; all replicas follow."""

    tables: TwinTables
    part: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"ALTER TABLE {self.tables.cold.sql_name} ATTACH PART {literal(self.part)}"


class ReplicaCommand(NamedTuple):
    """A SYSTEM command for the replica of the twin on the server of ``tables``."""

    tables: TwinTables
    command: str
    """RESTART, RESTORE or SYNC."""

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"SYSTEM {self.command} REPLICA {self.tables.cold.sql_name}"


class DropDetached(NamedTuple):
    """Deletes a folder in ``detached/`` of one of the two tables, on the server of ``tables`` only."""

    tables: TwinTables
    side: Side
    part: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"ALTER TABLE {self.tables.on(self.side).sql_name} DROP DETACHED PART {literal(self.part)}"


class BuildScratch(NamedTuple):
    """Fills a scratch table, on one server, with the rows that only the hot parts have.

    A row that occurs more often in ``hot_parts`` than in ``cold_parts`` is written as often as it occurs
    more.
    """

    tables: TwinTables
    partition_id: str
    hot_parts: tuple[str, ...]
    cold_parts: tuple[str, ...]

    @property
    def scratch(self) -> str:
        """The scratch table, quoted for SQL."""
        return scratch_of(self.tables, self.partition_id)

    @property
    def statements(self) -> tuple[str, str]:
        """The SQL texts: CREATE TABLE and INSERT. Raises FormatError if the table is not understood."""
        hot = self.tables.hot
        rows = surplus(self.tables, self.hot_parts, self.cold_parts)
        return (
            scratch_definition(self.scratch, hot),
            f"INSERT INTO {self.scratch} ({row_of(hot.columns)}) {rows}",
        )


class AttachScratch(NamedTuple):
    """Clones the rows of the scratch table into the twin, by hard links; all replicas follow."""

    tables: TwinTables
    partition_id: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        return (
            f"ALTER TABLE {self.tables.cold.sql_name} ATTACH PARTITION ID {literal(self.partition_id)}"
            f" FROM {scratch_of(self.tables, self.partition_id)}"
        )


class DropScratch(NamedTuple):
    """Drops the scratch table of a partition on the server of ``tables``."""

    tables: TwinTables
    partition_id: str

    @property
    def sql(self) -> str:
        """The SQL text."""
        return f"DROP TABLE IF EXISTS {scratch_of(self.tables, self.partition_id)} SYNC"


RepairStatement = Union[AttachPart, AttachScratch, DetachPart, DropDetached, DropScratch, ReplicaCommand]


def scratch_name(table: TwinTable, partition_id: str) -> str:
    """Return the name of the scratch table of a partition."""
    return f"{table.name}_partmove_{partition_id}"


def scratch_of(tables: TwinTables, partition_id: str) -> str:
    """Return database and name of the scratch table, quoted for SQL."""
    return f"{identifier(tables.hot.database)}.{identifier(scratch_name(tables.hot, partition_id))}"


def row_hash(table: TwinTable) -> str:
    """Return the hash of a row: rows have the same hash if all stored columns have the same bytes.

    The whole row is serialized first, because the hash of a list of values is NULL if one of them is NULL.
    """
    return f"sipHash128(formatRow('RowBinary', {row_of(table.columns)}))"


def surplus(tables: TwinTables, hot_parts: Sequence[str], cold_parts: Sequence[str]) -> str:
    """Return the SELECT of the rows in the hot parts that the cold parts do not have as often."""
    hot, cold = tables.hot, tables.cold
    columns = row_of(hot.columns)
    h, n, c, x, y = (free_name(f"partmove_{each}", hot, cold) for each in "hncxy")
    return (
        f"SELECT {columns} FROM"
        f" (SELECT {columns}, {h}, row_number() OVER (PARTITION BY {h}) AS {n} FROM"
        f" (SELECT {columns}, {row_hash(hot)} AS {h} FROM {hot.sql_name}"
        f" WHERE {in_parts(hot, hot_parts)})) AS {x} LEFT JOIN"
        f" (SELECT {row_hash(cold)} AS {h}, count() AS {c} FROM {cold.sql_name}"
        f" WHERE {in_parts(cold, cold_parts)} GROUP BY {h}) AS {y}"
        f" ON {x}.{h} = {y}.{h} WHERE {x}.{n} > ifNull({y}.{c}, 0)"
    )


def scratch_definition(scratch: str, table: TwinTable) -> str:
    """Return the CREATE statement of a scratch table: the definition of the table, not replicated.

    The engine is MergeTree, because other engines remove rows in an INSERT. Raises FormatError for a
    definition that is not understood.

    >>> from ..move.tables import TwinTable
    >>> table = TwinTable(
    ...     "db", "t", "default", "/t", "r1", "(`d` Date) ReplicatedSummingMergeTree((a, b)) ORDER BY d",
    ...     ("d",), 1, 1,
    ... )
    >>> scratch_definition("db.s", table)  # doctest: +ELLIPSIS
    "CREATE TABLE db.s (`d` Date) ENGINE = MergeTree ORDER BY d COMMENT 'olap.partmove: ...'"
    """
    text = table.definition
    columns = _closing(text, 0)
    engine = None if columns is None else _ENGINE.match(text, columns + 1)
    arguments = None if engine is None else _closing(text, engine.end() - 1)
    rest = "" if arguments is None else text[arguments + 1 :]
    if columns is None or " ORDER BY " not in rest:
        raise FormatError(
            f"The definition of {table} is not one for which a scratch table can be made",
            remedy="A table in the old syntax of the engine needs manual action: see docs/twin/repair.md",
        )
    if SECRET in rest:
        raise FormatError(
            f"The keys, TTL or settings of {table} have a secret, which the server shows as {SECRET}",
            remedy="The rows need manual action: see docs/twin/repair.md",
        )
    # The server copies columns with a secret, which it does not show, from the table.
    source = text[: columns + 1]
    source = f"AS {table.sql_name}" if SECRET in source else source
    return f"CREATE TABLE {scratch} {source} ENGINE = MergeTree{rest} COMMENT {literal(SCRATCH_COMMENT)}"


def _closing(text: str, begin: int) -> int | None:
    """Return where the parenthesis at ``begin`` is closed, past quoted text; None if it is not."""
    depth, at = 0, begin
    while at < len(text):
        char = text[at]
        if char in "'`\"":
            at = _end_of_quotes(text, at)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        if depth == 0:
            return at if at < len(text) and at > begin else None
        at += 1
    return None


def _end_of_quotes(text: str, begin: int) -> int:
    at = begin + 1
    while at < len(text) and text[at] != text[begin]:
        at += 2 if text[at] == "\\" else 1
    return at
