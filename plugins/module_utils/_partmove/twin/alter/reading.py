# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the tables of readers in step with a statement that changes columns or names.

A reading table is of the engine Merge, has columns of its own, and finds the two tables by their names. Its
columns must exist in both tables: some versions return empty values for a column that one of them lacks.

- Before the statement: columns that leave are dropped from the reading table, so that queries for them fail,
  together with those that are computed from them (`dependents`).
  For a RENAME the reading table is created again, so that it reads the tables under both names.
- After the statement: the reading table is created again with the columns and names of the tables.

Both steps compare the reading table first, so repeating them changes nothing.

Databases of the engine Ordinary do not know CREATE OR REPLACE. There the reading table is dropped before it
is created again, and a run that is killed in between leaves readers without a table. So the record of the
statement lists such reading tables, and the next run creates those that are missing before anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from ...errors import NotPermitted
from ...formats.sql import identifier, literal
from ..move.tables import TwinTables
from .dependents import leaving_columns
from .servers import ReadingTable
from .shard import AlterShard
from .statement import AlterKind, Statement


def engine_of(database: str, names: Sequence[str]) -> str:
    """Return the engine of a table that reads the tables with these names."""
    pattern = "|".join(re.escape(each) for each in names)
    return f"Merge({literal(database)}, {literal(f'^({pattern})$')})"


def dropped_first(shard: AlterShard, tables: TwinTables, statement: Statement) -> dict[str, str]:
    """Map the reading tables of a replica that are dropped before they are created again to their engines."""
    if not (statement.of_columns or statement.names):
        return {}
    found = _of_current_names(shard, tables)
    return {each.sql_name: each.engine for each in found if not each.can_be_replaced}


def restore(shard: AlterShard, statement: Statement, recorded: Mapping[str, Mapping[str, str]]) -> None:
    """Create the reading tables that a killed run dropped; ``recorded`` is replica → `dropped_first`."""
    for tables in shard.tables():
        missing = dict(recorded.get(tables.replica.name, {}))
        if missing:
            for table in shard.servers.reading(tables):
                missing.pop(table.sql_name, None)
        for name, engine in sorted(missing.items()):
            if statement.names:
                engine = engine_of(tables.hot.database, statement.names)  # noqa: PLW2901 - under all names
            shard.execute(tables, f"CREATE TABLE {name} AS {tables.hot.sql_name} ENGINE = {engine}")


def prepare(shard: AlterShard, statement: Statement) -> None:
    """Take the steps before the statement on every replica."""
    if statement.leaving or statement.names:
        for tables in shard.tables():
            for sql in preparing_statements(shard, tables, statement):
                shard.execute(tables, sql)


def preparing_statements(shard: AlterShard, tables: TwinTables, statement: Statement) -> list[str]:
    """Return the statements of `prepare` for a replica."""
    found: list[str] = []
    if statement.kind is AlterKind.RENAME and tables.hot.name == statement.names[0]:
        engine = engine_of(tables.hot.database, statement.names)
        for table in _of_current_names(shard, tables):
            found += creation(table._replace(engine=engine), tables)
    if statement.leaving:
        for table in _of_current_names(shard, tables):
            columns = leaving_columns(table, statement.leaving)
            drops = ", ".join(f"DROP COLUMN {identifier(each)}" for each in columns)
            found += [f"ALTER TABLE {table.sql_name} {drops}"] if drops else []
    return found


def recreate(shard: AlterShard, statement: Statement) -> None:
    """Create the reading tables again that differ from the two tables, on every replica."""
    if not (statement.of_columns or statement.names):
        return
    for tables in shard.tables():
        columns = shard.servers.columns(tables)
        for table in _of_current_names(shard, tables) if statement.of_columns else ():
            if table.columns != columns:
                _execute(shard, tables, table)
        wide = engine_of(tables.hot.database, statement.names)
        for table in shard.servers.reading(tables) if statement.names else ():
            if table.engine == wide:
                _execute(shard, tables, table._replace(engine=_current_engines(tables)[0]))


def planned_creations(shard: AlterShard, tables: TwinTables, statement: Statement) -> list[str]:
    """Return the statements of `recreate` for a replica, as far as they can be foretold."""
    found: list[str] = []
    for table in _of_current_names(shard, tables) if statement.of_columns or statement.names else ():
        if statement.names:
            hot = tables.hot._replace(name=statement.names[2])
            engine = engine_of(hot.database, statement.names[2:])
            found += creation(table._replace(engine=engine), tables._replace(hot=hot))
        else:
            found += creation(table, tables)
    return found


def creation(table: ReadingTable, tables: TwinTables) -> Iterator[str]:
    """Yield the statements that create a reading table again."""
    definition = f"TABLE {table.sql_name} AS {tables.hot.sql_name} ENGINE = {table.engine}"
    if table.can_be_replaced:
        yield f"CREATE OR REPLACE {definition}"
    else:
        yield f"DROP TABLE {table.sql_name}"
        yield f"CREATE {definition}"


def _execute(shard: AlterShard, tables: TwinTables, table: ReadingTable) -> None:
    for sql in creation(table, tables):
        shard.execute(tables, sql)


def _of_current_names(shard: AlterShard, tables: TwinTables) -> list[ReadingTable]:
    """Return the tables that read the two tables by the names that they have now, as twin_view writes it."""
    engines = _current_engines(tables)
    found = [each for each in shard.servers.reading(tables) if each.engine in engines]
    for each in found:
        if not each.names:
            raise NotPermitted(
                f"{tables.server} shows the user no column of the reading table {each.sql_name}",
                remedy=f"GRANT SHOW COLUMNS ON {each.sql_name} to the user",
            )
    return found


def _current_engines(tables: TwinTables) -> list[str]:
    names = (tables.hot.name, tables.cold.name)
    return [engine_of(tables.hot.database, each) for each in permutations(names)]
