# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements that change a table and its twin, and what servers say about their effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._partmove.errors import PartMoveError
from .._partmove.formats.names import PATCH_PREFIX
from .._partmove.formats.sql import identifier, literal
from .._partmove.text import shortened
from .._partmove.twin.alter.servers import Blocks, Mutation, ReadingTable, Refused
from .._partmove.twin.alter.statement import check_text
from .._partmove.twin.move.tables import Side, TwinReplica, TwinTables
from .._partmove.twin.table.pair import as_twin_tables, locate_name
from .client import ClickHouseClient, QueryRefused
from .expected_expiries import read_expected_expiries
from .pair_servers import HttpPairServers
from .query_errors import UNKNOWN_EFFECT
from .sent_settings import EVERY_REPLICA
from .twin_activity import names_table
from .twin_sql import begins_with, pair_condition, table_condition
from .visible_tables import refuse_hidden_tables

_REPLACEABLE = ("Atomic", "Replicated")
"""Engines of databases that replace a table in one step."""


class HttpAlterServers(HttpPairServers):
    """Implements AlterServers over the HTTP interface."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Implement `TwinServers.tables`, also while a RENAME has changed one of the two names."""
        found = self.find(shard_path, replica)
        if found.pair is None:
            return super().tables(shard_path, replica)
        try:
            at = locate_name(found.pair, self._twin).at
        except PartMoveError:
            at = Side.HOT
        return as_twin_tables(found.pair, at)

    def syntax_tree(self, tables: TwinTables, text: str) -> Sequence[str]:
        """Implement `AlterServers.syntax_tree`."""
        check_text(text)
        sql = f"EXPLAIN AST ALTER TABLE {tables.hot.sql_name} {text}"
        try:
            return [str(line) for (line,) in self._client_of(tables).rows_of_text(sql)]
        except QueryRefused as error:
            raise Refused(error.message, remedy="Give the text that follows ALTER TABLE <name>") from None

    def in_progress(self, tables: TwinTables) -> Sequence[str]:
        """Implement `AlterServers.in_progress`."""
        client = self._client_of(tables)
        verbs = begins_with("ALTER", "TRUNCATE", "RENAME", "EXCHANGE", "DELETE", "UPDATE", "OPTIMIZE")
        statements = [
            f"a statement is in progress: {shortened(query)}"
            for (query,) in client.rows(f"SELECT query FROM system.processes WHERE {verbs}")
            if any(names_table(query, each.database, each.name) for each in (tables.hot, tables.cold))
        ]
        queued = client.rows(
            f"SELECT table, type FROM system.replication_queue WHERE {pair_condition(tables)}"
            " AND type IN ('ALTER_METADATA', 'DROP_RANGE', 'REPLACE_RANGE')"
        )
        return [*statements, *(f"the queue of {table} has {kind}" for table, kind in queued)]

    def mutations(self, tables: TwinTables, side: Side) -> Sequence[Mutation]:
        """Implement `AlterServers.mutations`."""
        rows = self._client_of(tables).rows(
            "SELECT mutation_id, command, toString(is_done), latest_fail_reason FROM system.mutations"
            f" WHERE {table_condition(tables.on(side))} ORDER BY mutation_id"
        )
        return [Mutation(each, command, done == "1", shortened(why)) for each, command, done, why in rows]

    def blocks(self, tables: TwinTables, side: Side) -> Mapping[str, Blocks]:
        """Implement `AlterServers.blocks`."""
        rows = self._client_of(tables).rows(
            "SELECT partition_id, toString(min(min_block_number)), toString(max(max_block_number)),"
            f" toString(sum(rows)) FROM system.parts WHERE active AND {table_condition(tables.on(side))}"
            f" AND NOT startsWith(partition_id, {literal(PATCH_PREFIX)}) GROUP BY partition_id"
        )
        return {each: Blocks(*map(int, numbers)) for each, *numbers in rows}

    def detached(self, tables: TwinTables, side: Side, partition_id: str) -> int:
        """Implement `AlterServers.detached`. Parts with a reason cannot be attached under their name."""
        ((count,),) = self._client_of(tables).rows(
            f"SELECT toString(count()) FROM system.detached_parts WHERE {table_condition(tables.on(side))}"
            f" AND partition_id = {literal(partition_id)} AND reason = ''"
        )
        return int(count)

    def expected_expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """Implement `AlterServers.expected_expiries`."""
        return read_expected_expiries(self._client_of(tables), tables, partition_ids)

    def columns(self, tables: TwinTables) -> tuple[str, ...]:
        """Implement `AlterServers.columns`."""
        rows = self._columns(self._client_of(tables), tables.hot.database, tables.hot.name)
        return tuple(map(" ".join, rows))

    def reading(self, tables: TwinTables) -> Sequence[ReadingTable]:
        """Implement `AlterServers.reading`. Raises NotPermitted if the server may hide one."""
        client, database = self._client_of(tables), tables.hot.database
        refuse_hidden_tables(client, database)
        ((engine,),) = client.rows(f"SELECT engine FROM system.databases WHERE name = {literal(database)}")
        found = []
        for name, text in client.rows(
            "SELECT name, engine_full FROM system.tables"
            f" WHERE database = {literal(database)} AND engine = 'Merge' ORDER BY name"
        ):
            rows = self._columns(client, database, name)
            found.append(
                ReadingTable(
                    f"{identifier(database)}.{identifier(name)}",
                    text,
                    tuple(map(" ".join, rows)),
                    tuple(row[0] for row in rows),
                    engine in _REPLACEABLE,
                    tuple(row[3] for row in rows),
                )
            )
        return found

    def execute(self, tables: TwinTables, sql: str) -> None:
        """Implement `AlterServers.execute`."""
        client = self._client_of(tables)
        settings = {self.clients.settings.name_of(client, EVERY_REPLICA): 2, "mutations_sync": 2}
        try:
            client.execute(sql, **settings)
        except QueryRefused as error:
            if error.code in UNKNOWN_EFFECT:
                raise
            raise Refused(error.message, remedy=error.remedy) from None

    def _columns(self, client: ClickHouseClient, database: str, name: str) -> list[list[str]]:
        """Return name, type, kind and expression of the default of each column of a table, in their order."""
        return client.rows(
            "SELECT name, type, default_kind, default_expression FROM system.columns"
            f" WHERE database = {literal(database)} AND table = {literal(name)} ORDER BY position"
        )
