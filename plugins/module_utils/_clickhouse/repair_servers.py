# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries and statements for repairs of partitions between a table and its cold twin."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.move.row_sql import free_name, in_parts
from .._partmove.twin.move.tables import ActivityInProgress, Side, TwinTable, TwinTables
from .._partmove.twin.repair.servers import RowCounts
from .._partmove.twin.repair.statements import (
    SCRATCH_COMMENT,
    AttachPart,
    AttachScratch,
    BuildScratch,
    DetachPart,
    DropDetached,
    DropScratch,
    ReplicaCommand,
    row_hash,
    scratch_name,
)
from .client import ClickHouseClient, QueryRefused
from .creation_settings import create_table
from .permission import permitted
from .query_size import size_settings
from .replicated_database import refuse_new_twin
from .sent_settings import DROP_DETACHED, EVERY_REPLICA, PART_SIZE, ROWS_ALONE, TABLE_SIZE
from .twin_activity import read_activity
from .twin_sql import OWN_ROWS, pair_condition
from .twin_witnesses import HttpTwinWitnesses

_NOT_DETACHED = frozenset({232, 384})
"""Codes of a DETACH PART without effect: no such active part, or a merge or mutation has the part."""
_NO_FOLDER = 233
"""The code of a DROP DETACHED PART without such a folder."""
_WAIT_FOR_ALL = 2
_OF_INSERTS = {"insert_allow_materialized_columns": 1, "insert_deduplicate": 0}
"""Settings with which an INSERT writes every row as it is."""
_NO_SETTINGS: Mapping[str, int] = MappingProxyType({})


class HttpRepairServers(HttpTwinWitnesses):
    """Implements RepairServers over the HTTP interface."""

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """Implement `TwinServers.activity`, without folders in ``detached/``: repairs make such folders."""
        client = self._client_of(tables)
        activity = read_activity(client, tables, partition_ids, with_detached=False)
        return activity._replace(most_bytes_to_drop=self.clients.drop_limits.most_bytes(client))

    def row_counts(
        self, tables: TwinTables, hot_parts: Sequence[str], cold_parts: Sequence[str], scratch: str = ""
    ) -> RowCounts:
        """Implement `RepairServers.row_counts`. Raises NotPermitted if the user may not read the tables."""
        client = self._client_of(tables)
        hot, cold = tables.hot, tables.cold
        sources = [(hot, _rows_in(hot, hot_parts), 0), (cold, _rows_in(cold, cold_parts), 1)]
        counted = _counted([*sources, (hot, scratch, 1)] if scratch else sources)
        with permitted():
            query = (
                "SELECT toString(sum(least(a, b))), toString(sum(a - least(a, b))),"
                " toString(sum(b - least(a, b))), toString(sumIf(b, a = 0)), toString(sumIf(b - 1, b > 0))"
                f" FROM ({counted}){self._own_rows(client)}"
            )
            rows = client.rows(query, **size_settings(client, query))
        ((both, hot_only, cold_only, cold_new, cold_repeats),) = rows
        return RowCounts(int(both), int(hot_only), int(cold_only), int(cold_new), int(cold_repeats))

    def rows_in_common(self, tables: TwinTables, parts: Sequence[str], others: Sequence[str]) -> int:
        """Implement `RepairServers.rows_in_common`."""
        client = self._client_of(tables)
        cold = tables.cold
        counted = _counted([(cold, _rows_in(cold, parts), 0), (cold, _rows_in(cold, others), 1)])
        with permitted():
            query = f"SELECT toString(sum(least(a, b))) FROM ({counted}){self._own_rows(client)}"
            ((common,),) = client.rows(query, **size_settings(client, query))
        return int(common)

    def detached(self, tables: TwinTables, partition_id: str) -> Mapping[Side, list[str]]:
        """Implement `RepairServers.detached`."""
        rows = self._client_of(tables).rows(
            "SELECT table, name FROM system.detached_parts"
            f" WHERE {pair_condition(tables)} AND partition_id = {literal(partition_id)}"
        )
        return {side: sorted(name for table, name in rows if table == tables.on(side).name) for side in Side}

    def build(self, statement: BuildScratch) -> int:
        """Implement `RepairServers.build`."""
        client = self._client_of(statement.tables)
        refuse_new_twin(client, statement.tables.hot)
        create, insert = statement.statements
        with permitted():
            create_table(client, create, statement.tables.hot.definition)
            # A merge could remove rows whose TTL is over. Without the right, the next comparison finds that.
            with suppress(QueryRefused):
                client.execute(f"SYSTEM STOP MERGES {statement.scratch}")
            client.execute(insert, **_known(client, _OF_INSERTS), **size_settings(client, insert))
        ((rows,),) = client.rows(f"SELECT toString(count()) FROM {statement.scratch}")
        return int(rows)

    def attach_scratch(self, statement: AttachScratch) -> None:
        """Implement `RepairServers.attach_scratch`."""
        with permitted():
            self._everywhere(statement.tables, statement.sql)

    def drop_scratch(self, statement: DropScratch) -> None:
        """Implement `RepairServers.drop_scratch`."""
        hot = statement.tables.hot
        client, name = self._client_of(statement.tables), scratch_name(hot, statement.partition_id)
        found = client.rows(
            f"SELECT comment FROM system.tables WHERE database = {literal(hot.database)}"
            f" AND name = {literal(name)}"
        )
        if not found:
            return
        if found != [[SCRATCH_COMMENT]]:
            raise PartMoveError(
                f"{client.label} has a table {hot.database}.{name} that is no scratch table of a repair",
                remedy="Rename that table, and run twin_repair again",
            )
        with permitted():
            client.execute(statement.sql, **self.clients.drop_limits.lifted(client, TABLE_SIZE))

    def detach(self, statement: DetachPart) -> bool:
        """Implement `RepairServers.detach`. Any error besides _NOT_DETACHED leaves the outcome unknown.

        A part of any size may be detached: the folder in ``detached/`` keeps its rows.
        """
        lifted = self.clients.drop_limits.lifted(self._client_of(statement.tables), PART_SIZE)
        try:
            with permitted():
                self._everywhere(statement.tables, statement.sql, lifted)
        except QueryRefused as error:
            if error.code not in _NOT_DETACHED:
                raise
            return False
        return True

    def attach_part(self, statement: AttachPart) -> None:
        """Implement `RepairServers.attach_part`."""
        with permitted():
            self._client_of(statement.tables).execute(statement.sql)

    def command(self, statement: ReplicaCommand) -> None:
        """Implement `RepairServers.command`."""
        with permitted():
            self._client_of(statement.tables).execute(statement.sql)

    def drop_detached(self, statement: DropDetached) -> None:
        """Implement `RepairServers.drop_detached`."""
        try:
            with permitted():
                client = self._client_of(statement.tables)
                client.execute(statement.sql, **{self.clients.settings.name_of(client, DROP_DETACHED): 1})
        except QueryRefused as error:
            if error.code != _NO_FOLDER:
                raise

    def _everywhere(self, tables: TwinTables, sql: str, more: Mapping[str, int] = _NO_SETTINGS) -> None:
        client = self._client_of(tables)
        sync = self.clients.settings.name_of(client, EVERY_REPLICA)
        client.execute(sql, **{sync: _WAIT_FOR_ALL, **more})

    def _own_rows(self, client: ClickHouseClient) -> str:
        return "" if self.clients.settings.lacks(client.label, ROWS_ALONE) else OWN_ROWS


def _rows_in(table: TwinTable, parts: Sequence[str]) -> str:
    """Return the FROM of a SELECT of the rows in the parts."""
    return f"{table.sql_name} WHERE {in_parts(table, parts)}"


def _counted(sources: Sequence[tuple[TwinTable, str, int]]) -> str:
    """Return the SELECT of each hash, and how often it is in the sources 0, as a, and in the sources 1, as b.

    sources: the table that has the columns, the FROM of its rows, and 0 or 1.
    """
    tables = [table for table, _rows, _source in sources]
    h, of = free_name("h", *tables), free_name("source", *tables)
    hashes = (
        f"SELECT {row_hash(each)} AS {h}, {source} AS {of} FROM {rows}" for each, rows, source in sources
    )
    return (
        f"SELECT {h}, countIf({of} = 0) AS a, countIf({of} = 1) AS b"
        f" FROM ({' UNION ALL '.join(hashes)}) GROUP BY {h}"
    )


def _known(client: ClickHouseClient, settings: Mapping[str, int]) -> dict[str, int]:
    """Return the settings that the version of the server knows."""
    known: Collection[str] = {
        name
        for (name,) in client.rows(
            f"SELECT name FROM system.settings WHERE {is_one_of('name', sorted(settings))}"
        )
    }
    return {name: value for name, value in settings.items() if name in known}
