# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads from the query log which tables got another name: RENAME, EXCHANGE TABLES and RENAME DATABASE."""

from __future__ import annotations

import re
from collections.abc import Collection

from .._partmove.formats.sql import identifier
from .client import ClickHouseClient
from .system_tables import columns_of

_NEEDED = frozenset({"query_kind", "databases", "tables"})
# RENAME DATABASE names no table, or the empty name (25.8). The word in another statement only makes more
# tables unknown.
_RENAMES = """
    SELECT DISTINCT databases, tables, positionCaseInsensitive(query, 'DATABASE') > 0 AS is_of_databases
    FROM system.query_log WHERE {condition} AND query_kind = 'Rename'"""
_NAME = r"(?:`((?:[^`\\]|\\.)*)`|([^`.]+))"
_DATABASE = re.compile(_NAME)
_TABLE = re.compile(rf"{_NAME}\.{_NAME}")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANINGS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


def renamed_tables(
    client: ClickHouseClient, tables: Collection[tuple[str, str]], condition: str
) -> frozenset[str]:
    """Return those of the tables (database and name) that a logged statement may have given their name.

    The names are quoted for SQL, database first. All tables are returned if the log has a name that cannot be
    read. A version whose log does not name tables tells of none.

    condition: of the entries of system.query_log.
    """
    if not columns_of(client, "query_log") >= _NEEDED:
        return frozenset()
    databases: set[str | None] = set()
    names: set[tuple[str | None, str | None]] = set()
    for row in client.stream(_RENAMES.format(condition=condition)):
        if int(row["is_of_databases"]) or not row["tables"]:
            databases.update(_unquoted_database(each) for each in row["databases"])
        else:
            names.update(_unquoted_table(each) for each in row["tables"])
    databases.update(database for database, name in names if name == "")
    is_unread = None in databases or (None, None) in names
    return frozenset(
        f"{identifier(database)}.{identifier(name)}"
        for database, name in tables
        if is_unread or database in databases or (database, name) in names
    )


def _unquoted_database(text: str) -> str | None:
    found = _DATABASE.fullmatch(text)
    return None if found is None else _unquoted(found[1], found[2])


def _unquoted_table(text: str) -> tuple[str | None, str | None]:
    found = _TABLE.fullmatch(text)
    if found is None:
        return None, None
    return _unquoted(found[1], found[2]), _unquoted(found[3], found[4])


def _unquoted(quoted: str | None, plain: str | None) -> str:
    if quoted is None:
        return plain or ""
    return _ESCAPED.sub(lambda each: _MEANINGS.get(each[1], each[1]), quoted)
