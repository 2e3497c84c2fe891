# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries and statements for partitions between a table and its cold twin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import identifier, is_one_of, literal
from .._partmove.twin.move.statements import AttachPartition, DropPart, SetMerges
from .._partmove.twin.move.tables import (
    ActivityInProgress,
    PartContent,
    PartsOf,
    Side,
    TwinPart,
    TwinReplica,
    TwinTable,
    TwinTables,
)
from .._partmove.twin.table.pair import TABLE
from .auxiliary import reports_ensembles
from .client import ClickHouseClient, QueryRefused
from .options import ClickHouseOptions
from .permission import permitted
from .replica_table import TwinClients
from .replicated_database import refuse_several_shards
from .sent_settings import EVERY_REPLICA
from .table_definition import definition_of, ensemble_in
from .twin_activity import read_activity
from .twin_checksum import checksum_of
from .twin_sql import pair_condition, table_condition

DEFAULT_TWIN = f"{TABLE}_cold"

_NOT_DROPPED = frozenset({232, 384})
"""Codes of a DROP PART without effect: no such active part, or a merge or mutation has the part."""
_NOT_DONE = frozenset({36, 48, 62, 122, 243})
"""Codes of an ATTACH that the server refused before any effect: wrong argument, or no room."""
_KEEPER_EXCEPTION = 999
NO_PART = "no part"
"""A text that names no part in any version."""
_WAIT_FOR_ALL = 2
"""The value of EVERY_REPLICA with which a server waits for all replicas."""


class TwinOfReplica(NamedTuple):
    """The twin of a replica, or the texts for creating it.

    name: name of the twin, quoted for SQL.
    engine, create: texts of the hot table, for `create_statement`.
    found: the twin; None if there is none yet.
    """

    client: ClickHouseClient
    hot: TwinTable
    name: str
    engine: str
    create: str
    found: TwinTable | None


class HttpTwinServers:
    """Implements TwinServers over the HTTP interface.

    clients: the clients of the servers, which refuse servers of versions without auxiliary ensembles.
    """

    def __init__(self, options: ClickHouseOptions, twin: str = DEFAULT_TWIN) -> None:
        """``twin``: the name of a twin, with TABLE in it. Raises PartMoveError for another text."""
        self.clients = TwinClients(options)
        if TABLE not in twin or twin == TABLE:
            raise PartMoveError(
                f"The name of the twin is {twin!r}, which lacks {TABLE} or has no other text",
                remedy=f"Write it as {DEFAULT_TWIN}",
            )
        self._twin = twin
        self._ensembles_reported: dict[str, bool] = {}

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Implement `TwinServers.tables`. Raises PartMoveError unless the server has both tables."""
        client = self.clients.of(shard_path, replica.name, replica.host)
        hot = self._hot(client, shard_path, replica)
        refuse_several_shards(client, hot)
        return TwinTables(replica, client.label, hot, self._table(client, hot.database, self._twin_of(hot)))

    def read_twin(self, shard_path: str, replica: TwinReplica) -> TwinOfReplica:
        """Return the hot table of the replica, and its twin or the texts for creating the twin."""
        client = self.clients.of(shard_path, replica.name, replica.host)
        hot = self._hot(client, shard_path, replica)
        twin = self._twin_of(hot)
        exists = client.rows(
            f"SELECT engine FROM system.tables WHERE database = {literal(hot.database)}"
            f" AND name = {literal(twin)}"
        )
        found = self._table(client, hot.database, twin) if exists else None
        ((engine, create),) = _definition_texts(client, hot.database, hot.name)
        name = f"{identifier(hot.database)}.{identifier(twin)}"
        return TwinOfReplica(client, hot, name, engine, create, found)

    def _twin_of(self, hot: TwinTable) -> str:
        return self._twin.replace(TABLE, hot.name)

    def _hot(self, client: ClickHouseClient, shard_path: str, replica: TwinReplica) -> TwinTable:
        of_hot = " AND zookeeper_name = 'default'" if self._reports_ensembles(client) else ""
        found = client.rows(
            f"SELECT database, table FROM system.replicas WHERE zookeeper_path = {literal(shard_path)}"
            f" AND replica_name = {literal(replica.name)}{of_hot}"
        )
        if len(found) != 1:
            raise PartMoveError(
                f"{client.label} has {len(found)} tables that are replica {replica.name} of {shard_path}",
                remedy="Check that it is the server of the replica, else set endpoints; and check that the"
                " chroot of hot is the <root> that the server has for ZooKeeper",
            )
        ((database, name),) = found
        return self._table(client, database, name)

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Implement `TwinServers.parts`. Raises QueryRefused if the version lacks one of the columns."""
        names = pair_condition(tables)
        rows = self._client_of(tables).rows(
            "SELECT table, partition_id, name, toString(rows), hash_of_all_files, hash_of_uncompressed_files,"
            " toString(bytes_on_disk), disk_name, toString(toUnixTimestamp(modification_time)),"
            " toString(active)"
            f" FROM system.parts WHERE {names} AND {is_one_of('partition_id', partition_ids)}"
        )
        found: dict[tuple[str, str, bool], list[TwinPart]] = defaultdict(list)
        for table, partition_id, name, count, files, data, size, disk, modified, active in rows:
            is_active = bool(int(active))
            if is_active and not (files and data):
                raise PartMoveError(
                    f"{tables.server} does not report the hashes of part {name} of {table}",
                    remedy="Check whether the part is broken, and run again",
                )
            content = PartContent(int(count), files.lower(), data.lower())
            part = TwinPart(name, content, int(size), disk, float(modified))
            found[table, partition_id, is_active].append(part)
        kinds = [(side, active) for active in (True, False) for side in (tables.hot.name, tables.cold.name)]
        return {
            each: PartsOf(*(tuple(sorted(found[name, each, active])) for name, active in kinds))
            for each in partition_ids
        }

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """Implement `TwinServers.partition_ids`."""
        rows = self._client_of(tables).rows(
            "SELECT DISTINCT partition_id FROM system.parts"
            f" WHERE active AND {table_condition(tables.on(side))}"
        )
        return sorted(partition_id for (partition_id,) in rows)

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """Implement `TwinServers.activity`."""
        return read_activity(self._client_of(tables), tables, partition_ids)

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """Implement `TwinServers.checksum`. Rows that a lightweight DELETE has marked count as well."""
        return checksum_of(self._client_of(tables), tables.on(side), parts)

    def attach(self, statement: AttachPartition) -> str:
        """Implement `TwinServers.attach`. Any error besides _NOT_DONE leaves the outcome unknown.

        Raises NotPermitted, with nothing attached, unless the user may also drop the parts: otherwise the
        rows would stay in both tables.
        """
        self._require_right_to_drop(DropPart(statement.tables, statement.destination.other, NO_PART))
        try:
            with permitted():
                self._execute_everywhere(statement)
        except QueryRefused as error:
            if error.code not in _NOT_DONE and not _parts_are_equal(error):
                raise
            return error.text
        return ""

    def _require_right_to_drop(self, statement: DropPart) -> None:
        """Raise NotPermitted unless the user may drop parts. The statement names no part, so it must fail."""
        with suppress(QueryRefused), permitted():
            self._execute_everywhere(statement)

    def drop(self, statement: DropPart) -> bool:
        """Implement `TwinServers.drop`. Any error besides _NOT_THERE leaves the outcome unknown."""
        try:
            self._execute_everywhere(statement)
        except QueryRefused as error:
            if error.code not in _NOT_DROPPED:
                raise
            return False
        return True

    def set_merges(self, statement: SetMerges) -> None:
        """Implement `TwinServers.set_merges`."""
        self._client_of(statement.tables).execute(statement.sql)

    def _execute_everywhere(self, statement: AttachPartition | DropPart) -> None:
        client = self._client_of(statement.tables)
        client.execute(statement.sql, **{self.clients.settings.name_of(client, EVERY_REPLICA): _WAIT_FOR_ALL})

    def _client_of(self, tables: TwinTables) -> ClickHouseClient:
        replica = tables.replica
        return self.clients.of(tables.hot.path, replica.name, replica.host)

    def _reports_ensembles(self, client: ClickHouseClient) -> bool:
        """Whether system.replicas has the name of the ensemble; queries each server once."""
        if client.label not in self._ensembles_reported:
            self._ensembles_reported[client.label] = reports_ensembles(client)
        return self._ensembles_reported[client.label]

    def _table(self, client: ClickHouseClient, database: str, name: str) -> TwinTable:
        """Return the description of a table. Raises PartMoveError if the server has no such table."""
        reported = self._reports_ensembles(client)
        ensemble = "zookeeper_name" if reported else "''"
        replicas = client.rows(
            f"SELECT {ensemble}, zookeeper_path, replica_name, toString(total_replicas),"
            " toString(active_replicas), toString(is_readonly), toString(is_session_expired)"
            f" FROM system.replicas WHERE database = {literal(database)} AND table = {literal(name)}"
        )
        tables = _definition_texts(client, database, name)
        if len(replicas) != 1 or len(tables) != 1:
            raise PartMoveError(
                f"{client.label} has no replicated table {database}.{name}",
                remedy="Create the twin on every replica, with its path in the auxiliary ensemble, or set"
                " twin to the way twins are named",
            )
        ((where, path, replica, total, active, is_readonly, is_expired),) = replicas
        ((engine, create),) = tables
        return TwinTable(
            database,
            name,
            where if reported else ensemble_in(engine, f"{database}.{name}"),
            path,
            replica,
            definition_of(engine, create, f"{database}.{name}"),
            _stored_columns(client, database, name),
            int(total),
            int(active),
            "has no session with its ensemble" if int(is_readonly) or int(is_expired) else "",
        )


def _parts_are_equal(error: QueryRefused) -> bool:
    """Whether a server before 23.8 refused an ATTACH because several parts are equal.

    The server registers all clones in one multi. Equal clones have the same znode in ``blocks``, so
    ZooKeeper refuses the multi, and nothing is attached.
    """
    is_refused = "Node exists" in error.text and "/blocks/" in error.text
    return error.code == _KEEPER_EXCEPTION and is_refused


def _stored_columns(client: ClickHouseClient, database: str, name: str) -> tuple[str, ...]:
    rows = client.rows(
        f"SELECT name FROM system.columns WHERE database = {literal(database)} AND table = {literal(name)}"
        " AND default_kind NOT IN ('ALIAS', 'EPHEMERAL') ORDER BY position"
    )
    return tuple(column for (column,) in rows)


def _definition_texts(client: ClickHouseClient, database: str, name: str) -> list[list[str]]:
    """Return the engine of a table and its CREATE statement, as written by the server."""
    return client.rows(
        "SELECT engine_full, create_table_query FROM system.tables"
        f" WHERE database = {literal(database)} AND name = {literal(name)}"
    )
