# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the tables of the engine Merge that read a table and its twin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.move.tables import TwinTables
from .._partmove.twin.readers.hidden import CONDITION_NAMES
from .._partmove.twin.readers.statements import ReadingTable
from .client import ClickHouseClient

_TEXT = r"'(?:[^'\\]|\\.)*'"
_MERGE = re.compile(rf"Merge\((?P<several>REGEXP\()?(?P<database>{_TEXT})\)?, (?P<names>{_TEXT})\)")


class _Merge(NamedTuple):
    """A table of the engine Merge, with its arguments as SQL literals."""

    table: ReadingTable
    database: str
    names: str
    is_of_several: bool
    """Whether the table reads every database that matches a regular expression."""

    def reads(self, database: str, name: str) -> str:
        """Return the SQL condition for reading a table."""
        if self.is_of_several:
            in_database = f"match({literal(database)}, {self.database})"
        else:
            in_database = f"{literal(database)} = {self.database}"
        return f"({in_database} AND match({literal(name)}, {self.names}))"


def reading_tables(client: ClickHouseClient, tables: TwinTables) -> tuple[ReadingTable, ...]:
    """Return the tables that read both tables of the pair, sorted.

    Raises PartMoveError for a table whose definition is not understood.
    """
    return tuple(sorted(each.table for each in _matching(client, _merges(client), tables)))


def reads_any(client: ClickHouseClient, tables: TwinTables) -> bool:
    """Return whether a table of the engine Merge reads one of the two tables. Raises as `reading_tables`."""
    conditions = [
        f"{each.reads(table.database, table.name)}"
        for each in _merges(client)
        for table in (tables.hot, tables.cold)
    ]
    return any(_met(client, conditions))


def reading_problem(client: ClickHouseClient, tables: TwinTables) -> str:
    """Return why a row policy on a reading table would not mean what a move needs; "" if it would.

    A table may read several databases, another Merge table may read the reading table, or a column may have a
    name that the condition of the policy means otherwise.
    """
    merges = _merges(client)
    found = _matching(client, merges, tables)
    for each in found:
        if each.is_of_several:
            return (
                f"{client.label}: {each.table} reads {tables.hot} and {tables.cold} in each of several"
                " databases, and a row policy cannot tell tables of the same name apart. Create it with the"
                " name of one database"
            )
    for each in found:
        for over in _over(client, merges, each.table):
            return (
                f"{client.label}: {over} reads {each.table}, and queries of {over} fail or see rows twice"
                f" while {each.table} has a row policy. Let it read {tables.hot} and {tables.cold}"
            )
        for table, column in _hiding_columns(client, each):
            return (
                f"{client.label}: {each.table} reads the column {column} of {table}, and a row policy would"
                " read it in place of the virtual column with that name. Rename the column in all tables"
            )
    return ""


def _merges(client: ClickHouseClient) -> list[_Merge]:
    merges = []
    for database, name, engine in client.rows(
        "SELECT database, name, engine_full FROM system.tables WHERE engine = 'Merge' ORDER BY database, name"
    ):
        match = _MERGE.match(engine)
        if match is None:
            raise PartMoveError(
                f"{client.label}: the engine of {database}.{name} is not understood: {engine}",
                remedy="Write its first argument as the name of the database, and the second as a text",
            )
        table = ReadingTable(database, name)
        merges.append(_Merge(table, match["database"], match["names"], bool(match["several"])))
    return merges


def _matching(client: ClickHouseClient, merges: Sequence[_Merge], tables: TwinTables) -> list[_Merge]:
    hot, cold = tables.hot, tables.cold
    conditions = [
        f"{each.reads(hot.database, hot.name)} AND {each.reads(cold.database, cold.name)}" for each in merges
    ]
    return [each for each, is_met in zip(merges, _met(client, conditions)) if is_met]


def _over(client: ClickHouseClient, merges: Sequence[_Merge], reading: ReadingTable) -> list[ReadingTable]:
    others = [each for each in merges if each.table != reading]
    conditions = [each.reads(reading.database, reading.name) for each in others]
    return [each.table for each, is_met in zip(others, _met(client, conditions)) if is_met]


def _hiding_columns(client: ClickHouseClient, merge: _Merge) -> list[tuple[str, str]]:
    """Return tables and columns that a row policy on the Merge table would read as virtual columns."""
    own = merge.table
    is_read = (
        f"database = {merge.database} AND match(table, {merge.names})"
        f" OR database = {literal(own.database)} AND table = {literal(own.name)}"
    )
    rows = client.rows(
        "SELECT concat(database, '.', table), name FROM system.columns"
        f" WHERE {is_one_of('name', CONDITION_NAMES)} AND ({is_read}) ORDER BY database, table, name"
    )
    return [(str(table), str(column)) for table, column in rows]


def _met(client: ClickHouseClient, conditions: Sequence[str]) -> list[bool]:
    """Return which conditions are true, by the regular expressions of the server."""
    if not conditions:
        return []
    ((met,),) = client.rows(f"SELECT [{', '.join(f'toString({each})' for each in conditions)}]")
    return [each in ("1", "true") for each in met]
