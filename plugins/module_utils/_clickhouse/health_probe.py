# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the health of a server by SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .._partmove.formats.sql import literal
from .._partmove.health.facts import (
    Disk,
    DiskPartition,
    DiskTable,
    FailingEntry,
    LogPosition,
    ReplicaStatus,
    ServerFacts,
    TableKey,
)
from .auxiliary import auxiliary_tables
from .census_servers import hidden_tables
from .client import ClickHouseClient, QueryRefused
from .server_probe import HttpServerProbe
from .system_tables import columns_of
from .system_zookeeper import SystemZookeeper

_FAILING_ENTRIES = 100


class HttpHealthProbe:
    """Queries a server. Every method raises PartMoveError if the server fails to answer."""

    def __init__(self, client: ClickHouseClient) -> None:
        self._client = client
        self.zookeeper = SystemZookeeper(client)

    def server(self, patched_sign: str | None) -> ServerFacts:
        """Return facts about the server. ``patched_sign``: a query that patched servers answer with 1."""
        (row,) = self._client.rows("SELECT version(), uptime(), toUInt32(now())")
        version, uptime, now = row
        limits = dict(
            self._client.rows(
                "SELECT name, value FROM system.merge_tree_settings"
                " WHERE name IN ('parts_to_delay_insert', 'parts_to_throw_insert')"
            )
        )
        return ServerFacts(
            address=self._client.label,
            version=version,
            uptime=int(uptime),
            now=int(now),
            patched=None if patched_sign is None else HttpServerProbe(self._client).shows(patched_sign),
            zookeeper_problem=self.zookeeper.problem(),
            parts_to_delay=int(limits.get("parts_to_delay_insert", 0)),
            parts_to_throw=int(limits.get("parts_to_throw_insert", 0)),
        )

    def hidden(self) -> str:
        """Return why the server may have replicated tables that the user does not see; empty otherwise."""
        return hidden_tables(self._client)

    def replicas(self, *, with_log: bool = True) -> list[ReplicaStatus]:
        """Return the replicated tables, sorted by database and name.

        With ``with_log`` the server reads ZooKeeper, which may take long while ZooKeeper is unreachable.
        """
        rows = self._client.rows(
            "SELECT database, table, engine, zookeeper_path, replica_name, is_leader, is_readonly,"
            " is_session_expired, absolute_delay, queue_size,"
            " if(queue_size > 0, toInt64(toUInt32(now())) - toInt64(toUInt32(queue_oldest_time)), 0)"
            " FROM system.replicas ORDER BY database, table"
        )
        keys = [TableKey(row[0], row[1]) for row in rows]
        logs = self._log_positions(keys) if with_log else {}
        auxiliary = auxiliary_tables(self._client)
        return [
            status_of(row, logs.get(key), auxiliary.get(key, DEFAULT_ENSEMBLE))
            for key, row in zip(keys, rows)
        ]

    def failing(self) -> list[FailingEntry]:
        """Return the queue entries after a failed attempt, sorted by the number of attempts, most first."""
        rows = self._client.rows(
            "SELECT database, table, type, new_part_name, num_tries, last_exception"
            " FROM system.replication_queue WHERE last_exception != ''"
            f" ORDER BY num_tries DESC, database, table, node_name LIMIT {_FAILING_ENTRIES}"
        )
        return [
            FailingEntry(TableKey(database, table), kind, part, int(tries), exception)
            for database, table, kind, part, tries, exception in rows
        ]

    def disk(self, *, read_disk: bool) -> Disk:
        """Return the active parts and the detached folders of all tables of the MergeTree family.

        With ``read_disk`` the folders are listed on this host, which must be that of the server, if the
        server cannot list them.
        """
        tables = self._tables()
        partitions: dict[TableKey, dict[str, DiskPartition]] = {key: {} for key in tables}
        rows = self._client.rows(
            "SELECT database, table, partition_id, sum(rows), arraySort(groupArray(name)) FROM system.parts"
            " WHERE active AND database != 'system' GROUP BY database, table, partition_id"
            " ORDER BY database, table, partition_id"
        )
        for database, table, partition_id, count, names in rows:
            # A table that was created after the tables were listed is left out.
            if (found := partitions.get(TableKey(database, table))) is not None:
                found[partition_id] = DiskPartition(int(count), tuple(names))
        folders = {key: folder for key, (_table, folder) in tables.items()}
        return Disk(
            {key: table._replace(partitions=partitions[key]) for key, (table, _folder) in tables.items()},
            self._detached(folders, read_disk=read_disk),
        )

    def _tables(self) -> Mapping[TableKey, tuple[DiskTable, str]]:
        """Return the tables without their partitions, each with its folder; "" for an unknown folder."""
        columns = columns_of(self._client, "tables")
        folder = next((sql for name, sql in _FOLDERS.items() if name in columns), "''")
        rows = self._client.rows(
            f"SELECT database, name, engine, position(engine_full, ' TTL ') > 0, {folder} FROM system.tables"
            " WHERE engine LIKE '%MergeTree' AND database != 'system' ORDER BY database, name"
        )
        return {
            TableKey(database, name): (DiskTable(engine, bool(int(ttl)), {}), path)
            for database, name, engine, ttl, path in rows
        }

    def _detached(
        self, folders: Mapping[TableKey, str], *, read_disk: bool
    ) -> Mapping[TableKey, frozenset[str] | None]:
        if columns_of(self._client, "detached_parts"):
            found: dict[TableKey, set[str]] = {key: set() for key in folders}
            for database, table, name in self._client.rows(
                "SELECT database, table, name FROM system.detached_parts"
            ):
                found.get(TableKey(database, table), set()).add(name)
            return {key: frozenset(names) for key, names in found.items()}
        if read_disk:
            return {key: detached_folders(folder) for key, folder in folders.items()}
        return dict.fromkeys(folders)

    def _log_positions(self, keys: Iterable[TableKey]) -> Mapping[TableKey, LogPosition]:
        """Return the log positions.

        A table that ZooKeeper no longer has makes the query for all tables fail; then each is queried alone.
        """
        sql = (
            "SELECT database, table, log_max_index, log_pointer, total_replicas, active_replicas"
            " FROM system.replicas"
        )
        try:
            rows = self._client.rows(sql)
        except QueryRefused:
            rows = []
            for key in keys:
                where = f" WHERE database = {literal(key.database)} AND table = {literal(key.table)}"
                try:
                    rows += self._client.rows(sql + where)
                except QueryRefused:
                    # The position stays unknown. For read-only tables the reason is read from ZooKeeper.
                    continue
        return {TableKey(row[0], row[1]): LogPosition(*map(int, row[2:])) for row in rows}


# The column of system.tables with the folder of a table: 18.16 has the first, versions with several disks
# have the second.
_FOLDERS = {"data_path": "data_path", "data_paths": "data_paths[1]"}


def detached_folders(folder: str) -> frozenset[str] | None:
    """Return the names in the folder ``detached`` of a table; None if the folder of the table is unknown.

    Raises PartMoveError if the folder cannot be listed.
    """
    if not folder:
        return None
    path = Path(folder) / "detached"
    try:
        return frozenset(each.name for each in path.iterdir())
    except OSError as error:
        raise PartMoveError(
            f"The folder {path} cannot be read: {error.strerror}",
            remedy="Run the module on the host of the server as a user that may read its data, or without"
            " read_disk",
        ) from error


def status_of(row: list[Any], log: LogPosition | None, ensemble: str = DEFAULT_ENSEMBLE) -> ReplicaStatus:
    """Build the status from a row of `HttpHealthProbe.replicas`, where numbers may be text."""
    database, table, engine, shard_path, replica, leader, read_only, expired, *numbers = row
    delay, queue, queue_age = map(int, numbers)
    return ReplicaStatus(
        key=TableKey(database, table),
        engine=engine,
        shard_path=shard_path,
        replica=replica,
        leader=bool(int(leader)),
        read_only=bool(int(read_only)),
        session_expired=bool(int(expired)),
        delay=delay,
        queue=queue,
        queue_age=max(0, queue_age),
        log=log,
        ensemble=ensemble,
    )
