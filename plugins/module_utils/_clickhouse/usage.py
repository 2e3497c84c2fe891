# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads facts about the partitions of a server's replicated tables: sizes, mutations, merges and reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .._partmove.formats.sql import identifier
from .auxiliary import auxiliary_tables
from .client import ClickHouseClient
from .renames import renamed_tables
from .system_tables import columns_of

READ_DAYS = 7
"""The number of past days in which reads are counted."""

_REPLICATED = "(database, table) IN (SELECT database, table FROM system.replicas)"
_PARTS = f"""
    SELECT database, table, partition_id, count() AS active_parts, sum(rows) AS rows,
        sum(bytes_on_disk) AS bytes_on_disk, min(data_version) AS data_version
    FROM system.parts WHERE active AND {_REPLICATED} GROUP BY database, table, partition_id"""
_QUEUED = """
    SELECT DISTINCT database, table, partition_id, 1 AS is_queued FROM system.parts
    WHERE (database, table, name) IN
        (SELECT database, table, arrayJoin(parts_to_merge) FROM system.replication_queue)"""
# Without _REPLICATED, which 24.5 refuses here with code 49. Rows of other tables are left out later.
_MUTATIONS = """
    SELECT database, table, partition_id, max(number) AS mutation FROM system.mutations
    ARRAY JOIN block_numbers.partition_id AS partition_id, block_numbers.number AS number
    WHERE is_done = 0 GROUP BY database, table, partition_id"""
_FINISHED = f"type = 'QueryFinish' AND event_date >= today() - {READ_DAYS}"
_READS = """
    SELECT name, count() AS reads FROM system.query_log ARRAY JOIN partitions AS name
    WHERE {condition} GROUP BY name"""
_DAY_SECONDS = 86_400


class PartitionUsage(NamedTuple):
    """Some facts from a server about a partition. A field is None if the row does not cover it."""

    shard_path: str
    partition_id: str
    sql_table: str
    """Database and table, quoted for SQL."""
    replica: str | None = None
    """The replica that the server is."""
    active_parts: int | None = None
    rows: int | None = None
    bytes_on_disk: int | None = None
    data_version: int | None = None
    """The lowest data version of the active parts. Mutations with greater numbers have not reached all."""
    is_queued: int | None = None
    """1 if a merge or mutation in the replication queue of the replica has one of its parts."""
    mutation: int | None = None
    """The greatest number of an unfinished mutation."""
    has_log: bool | None = None
    """Whether the server has a query log with partitions, with the name that the table has now."""
    reads: int | None = None
    """Queries that have read the partition, today and in the READ_DAYS days before."""
    reads_within: Mapping[int, int] | None = None
    """Window in milliseconds → queries that have read the partition.

    The row of the active parts has 0 for each window that the log covers, without those in which the table
    was renamed; other rows have counts to add."""


class _Table(NamedTuple):
    shard_path: str
    sql: str
    replica: str


_Tables = Mapping[tuple[str, str], "_Table"]
"""The replicated tables of a server by database and name, without tables in auxiliary ensembles."""


def read_usage(
    client: ClickHouseClient, windows: Mapping[int, int] | None = None
) -> Iterator[PartitionUsage]:
    """Yield all facts of the server, in any order, with several rows for a partition.

    windows: length in milliseconds → beginning in seconds since 1970. Reads are counted in these windows in
    addition to READ_DAYS.

    Only the names of tables are kept in memory. Raises PartMoveError as the client does.
    """
    tables = _tables(client)
    has_log = _has_log(client)
    logged = {
        window: since
        for window, since in (windows or {}).items()
        if has_log and _is_logged_since(client, since)
    }
    renamed = {
        window: renamed_tables(client, tables, _finished_since(since)) for window, since in logged.items()
    }
    recently = renamed_tables(client, tables, _FINISHED) if has_log else frozenset[str]()
    for row in _rows(client, tables, _PARTS):
        # Reads are logged by name: those before the new name are of another table, or counted for another.
        counted = [window for window in logged if row.sql_table not in renamed[window]]
        has_reads = has_log and row.sql_table not in recently
        yield row._replace(has_log=has_reads, reads_within=dict.fromkeys(counted, 0))
    yield from _rows(client, tables, _QUEUED)
    yield from _rows(client, tables, _MUTATIONS)
    if has_log:
        yield from _reads(client, tables, _FINISHED)
    for window, since in logged.items():
        for row in _reads(client, tables, _finished_since(since)):
            yield row._replace(reads=None, reads_within={window: row.reads or 0})


def _tables(client: ClickHouseClient) -> _Tables:
    """Return the replicated tables whose path is in hot."""
    found = client.rows("SELECT database, table, zookeeper_path, replica_name FROM system.replicas")
    auxiliary = auxiliary_tables(client)
    return {
        (database, table): _Table(shard_path, f"{identifier(database)}.{identifier(table)}", replica)
        for database, table, shard_path, replica in found
        if (database, table) not in auxiliary
    }


def _rows(client: ClickHouseClient, tables: _Tables, sql: str) -> Iterator[PartitionUsage]:
    for row in client.stream(sql):
        table = tables.get((row.pop("database"), row.pop("table")))
        if table is not None:  # else it is not replicated, or was created just now
            partition_id = row.pop("partition_id")
            numbers: dict[str, Any] = {name: int(value) for name, value in row.items()}
            known = PartitionUsage(table.shard_path, partition_id, table.sql, table.replica)
            yield known._replace(**numbers)


def _has_log(client: ClickHouseClient) -> bool:
    """Whether the version logs partitions, and the log is on: this server has finished queries in it."""
    if "partitions" not in columns_of(client, "query_log"):
        return False
    return bool(client.rows(f"SELECT 1 FROM system.query_log WHERE {_FINISHED} LIMIT 1"))


def _is_logged_since(client: ClickHouseClient, since: int) -> bool:
    """Whether the log covers the time since the moment: it has a query from before and another from after."""
    older = f"event_date <= toDate(toDateTime({since + _DAY_SECONDS})) AND event_time <= toDateTime({since})"
    return all(
        client.rows(f"SELECT 1 FROM system.query_log WHERE {condition} LIMIT 1")
        for condition in (older, _finished_since(since))
    )


def _finished_since(since: int) -> str:
    """Return the condition for queries that finished since the moment."""
    # The log is sorted by date, in the time zone of the server.
    date = f"event_date >= toDate(toDateTime({max(since - _DAY_SECONDS, 0)}))"
    return f"type = 'QueryFinish' AND {date} AND event_time >= toDateTime({since})"


def _reads(client: ClickHouseClient, tables: _Tables, condition: str) -> Iterator[PartitionUsage]:
    by_name = {f"{database}.{name}": table for (database, name), table in tables.items()}
    for row in client.stream(_READS.format(condition=condition)):
        name, _dot, partition_id = row["name"].rpartition(".")
        table = by_name.get(name)
        if table is not None:
            reads = int(row["reads"])
            yield PartitionUsage(table.shard_path, partition_id, table.sql, table.replica, reads=reads)
