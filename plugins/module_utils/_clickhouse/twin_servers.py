# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries and statements for partitions between a table and its cold twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from .._partmove.errors import PartMoveError, StatementEnded
from .._partmove.formats.inner_tables import InnerTable, is_inner
from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .._partmove.formats.sql import identifier, literal
from .._partmove.twin.move.statements import AttachPartitions, DropParts, SetMerges
from .._partmove.twin.move.tables import (
    ActivityInProgress,
    KnownClones,
    PairMarks,
    PartsOf,
    Side,
    TwinReplica,
    TwinTable,
    TwinTables,
)
from .._partmove.twin.table.pair import TABLE
from .client import ClickHouseClient, QueryRefused
from .clone_blocks import read_known_clones
from .dropped_parts import drop_parts
from .missing_replica import missing_replica
from .options import ClickHouseOptions
from .permission import permitted
from .query_errors import KEEPER_EXCEPTION, NOT_FOUND_NODE, UNKNOWN_EFFECT
from .replica_table import TwinClients
from .replicated_database import is_replicated, refuse_several_shards
from .replicated_tables import ReplicatedTables, read_tables
from .sent_settings import EVERY_REPLICA, PART_SIZE
from .system_tables import columns_of
from .twin_activity import read_activity
from .twin_checksum import checksum_of
from .twin_marks import read_marks
from .twin_parts import read_parts
from .twin_sql import table_condition
from .waited_replicas import WaitedReplica, name_waited

DEFAULT_TWIN = f"{TABLE}_cold"

_NOT_DONE = frozenset({36, 48, 62, 122, 243})
"""Codes of an ATTACH that the server refused before any effect: wrong argument, or no room."""
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
        self._timeout = options.timeout
        self._known_columns: dict[str, frozenset[str]] = {}
        self._tables: dict[frozenset[str], dict[str, TwinTables]] = {}
        """The places of both tables → the tables so far of each replica."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Implement `TwinServers.tables`. Raises PartMoveError unless the server has both tables."""
        client = self.clients.of(shard_path, replica.name, replica.host)
        database, name = self._find_hot(client, shard_path, replica)
        twin = self._twin_of(name)
        found = self._read_tables(client, database, [name, twin])
        hot = found.table(name)
        # Otherwise the remedy would be to create the twin, which an inner table cannot have.
        if is_inner(name) and twin not in found.texts:
            raise InnerTable(client.label, str(hot))
        refuse_several_shards(client, hot)
        return self._remembered(TwinTables(replica, client.label, hot, found.table(twin)))

    def _remembered(self, tables: TwinTables) -> TwinTables:
        """Remember the tables of a replica, for statements that wait for every replica; return them."""
        self._tables.setdefault(_places_of(tables), {})[tables.replica.name] = tables
        return tables

    def read_twin(self, shard_path: str, replica: TwinReplica) -> TwinOfReplica:
        """Return the hot table of the replica, and its twin or the texts for creating the twin."""
        client = self.clients.of(shard_path, replica.name, replica.host)
        database, name = self._find_hot(client, shard_path, replica)
        twin = self._twin_of(name)
        tables = self._read_tables(client, database, [name, twin])
        hot = tables.table(name)
        found = tables.table(twin) if twin in tables.texts else None
        sql_name = f"{identifier(database)}.{identifier(twin)}"
        return TwinOfReplica(client, hot, sql_name, *tables.texts[name], found)

    def _twin_of(self, hot: str) -> str:
        return self._twin.replace(TABLE, hot)

    def _find_hot(self, client: ClickHouseClient, shard_path: str, replica: TwinReplica) -> tuple[str, str]:
        """Return database and name of the table of the replica. Raises PartMoveError without exactly one."""
        found = self._find_at(client, DEFAULT_ENSEMBLE, shard_path, replica)
        if len(found) != 1:
            raise missing_replica(client, shard_path, replica.name, len(found))
        return found[0]

    def _find_at(
        self, client: ClickHouseClient, ensemble: str, path: str, replica: TwinReplica
    ) -> list[tuple[str, str]]:
        """Return database and name of each table of the replica at the path.

        A version that does not report ensembles returns the tables of all ensembles.
        """
        of_ensemble = f" AND zookeeper_name = {literal(ensemble)}" if self._reports_ensembles(client) else ""
        rows = client.rows(
            f"SELECT database, table FROM system.replicas WHERE zookeeper_path = {literal(path)}"
            f" AND replica_name = {literal(replica.name)}{of_ensemble}"
        )
        return [(str(database), str(name)) for database, name in rows]

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Implement `TwinServers.parts`. Raises QueryRefused if the version lacks one of the columns."""
        return read_parts(self._client_of(tables), tables, partition_ids)

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """Implement `TwinServers.partition_ids`."""
        rows = self._client_of(tables).rows(
            "SELECT DISTINCT partition_id FROM system.parts"
            f" WHERE active AND {table_condition(tables.on(side))}"
        )
        return sorted(partition_id for (partition_id,) in rows)

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """Implement `TwinServers.activity`. Raises NotPermitted if the user may not read a limit."""
        client = self._client_of(tables)
        activity = read_activity(client, tables, partition_ids)
        return activity._replace(most_bytes_to_drop=self.clients.drop_limits.most_bytes(client))

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """Implement `TwinServers.checksum`. Rows that a lightweight DELETE has marked count as well."""
        return checksum_of(self._client_of(tables), tables.on(side), parts)

    def marks(self, tables: TwinTables, partition_ids: Sequence[str]) -> PairMarks:
        """Implement `TwinServers.marks`."""
        return read_marks(self._client_of(tables), tables, partition_ids)

    def known_clones(
        self, tables: TwinTables, side: Side, since: Mapping[str, int]
    ) -> Mapping[str, KnownClones]:
        """Implement `TwinServers.known_clones`."""
        return read_known_clones(self._client_of(tables), tables.on(side), tables.on(side.other), since)

    def attach(self, statement: AttachPartitions) -> str:
        """Implement `TwinServers.attach`. Any error besides _NOT_DONE leaves the outcome unknown.

        After an error that is not in UNKNOWN_EFFECT, the server does not go on, unless it executes statements
        through the queue of its database, where another server may try again.

        Raises NotPermitted, with nothing attached, unless the user may also drop the parts: otherwise the
        rows would stay in both tables.
        """
        self._require_right_to_drop(DropParts(statement.tables, statement.destination.other, (NO_PART,)))
        try:
            with permitted():
                self._attach_everywhere(statement)
        except QueryRefused as error:
            if error.code in _NOT_DONE or _parts_are_equal(error) or _lacks_lock(error):
                return error.text
            client = self._client_of(statement.tables)
            if error.code in UNKNOWN_EFFECT or is_replicated(client, statement.tables.hot):
                raise
            raise StatementEnded(error.message, remedy=error.remedy) from None
        return ""

    def _require_right_to_drop(self, statement: DropParts) -> None:
        """Raise NotPermitted unless the user may drop parts. The statement names no part, so it must fail."""
        with suppress(QueryRefused), permitted():
            self._client_of(statement.tables).execute(statement.sql)

    def drop(self, statement: DropParts) -> bool:
        """Implement `TwinServers.drop`. Any error besides PartTooLarge leaves the outcome unknown.

        A part of any size may be dropped: all its rows are in the other table, as was verified.
        """
        client = self._client_of(statement.tables)
        return drop_parts(
            client,
            statement,
            self._replicas_of(statement.tables, statement.side),
            sync_setting=self.clients.settings.name_of(client, EVERY_REPLICA),
            lifted=self.clients.drop_limits.lifted(client, PART_SIZE),
            timeout=self._timeout,
        )

    def set_merges(self, statement: SetMerges) -> None:
        """Implement `TwinServers.set_merges`."""
        self._client_of(statement.tables).execute(statement.sql)

    def _attach_everywhere(self, statement: AttachPartitions) -> None:
        client = self._client_of(statement.tables)
        settings = {self.clients.settings.name_of(client, EVERY_REPLICA): _WAIT_FOR_ALL}
        try:
            client.execute(statement.sql, **settings)
        except PartMoveError as error:
            table = statement.tables.on(statement.destination)
            replicas = self._replicas_of(statement.tables, statement.destination)
            raise name_waited(error, client, table, replicas) from None

    def _replicas_of(self, tables: TwinTables, side: Side) -> list[WaitedReplica]:
        """Return the same table of every replica, also where its name was exchanged."""
        place = tables.on(side).place
        return [
            WaitedReplica(name, self._client_of(each), each.hot if each.hot.place == place else each.cold)
            for name, each in sorted(self._tables[_places_of(tables)].items())
        ]

    def _client_of(self, tables: TwinTables) -> ClickHouseClient:
        replica = tables.replica
        return self.clients.of(tables.hot.path, replica.name, replica.host)

    def _reports_ensembles(self, client: ClickHouseClient) -> bool:
        """Whether system.replicas has the name of the ensemble."""
        return "zookeeper_name" in self._replica_columns(client)

    def _replica_columns(self, client: ClickHouseClient) -> frozenset[str]:
        """Return the columns of system.replicas; queries each server once."""
        if client.label not in self._known_columns:
            self._known_columns[client.label] = columns_of(client, "replicas")
        return self._known_columns[client.label]

    def _read_tables(self, client: ClickHouseClient, database: str, names: Sequence[str]) -> ReplicatedTables:
        return read_tables(client, database, names, self._replica_columns(client))


def _places_of(tables: TwinTables) -> frozenset[str]:
    return frozenset({tables.hot.place, tables.cold.place})


def _lacks_lock(error: QueryRefused) -> bool:
    """Whether a server refused an ATTACH because the zero-copy lock of a part is in the other ensemble.

    The server takes the locks of all clones before the multi that registers them.
    """
    return error.code == NOT_FOUND_NODE and "zero copy lock" in error.text


def _parts_are_equal(error: QueryRefused) -> bool:
    """Whether a server before 23.8 refused an ATTACH because several parts are equal.

    The server registers all clones in one multi. Equal clones have the same znode in ``blocks``, so
    ZooKeeper refuses the multi, and nothing is attached.
    """
    is_refused = "Node exists" in error.text and "/blocks/" in error.text
    return error.code == KEEPER_EXCEPTION and is_refused
