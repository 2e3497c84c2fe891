# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries many servers for their replicated tables, and for what the user does not see of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .._partmove.census.servers import ANY_PARTITION, PartitionUse, ServerAnswer
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import DEFAULT_ENSEMBLE
from .auxiliary import reports_ensembles
from .client import ClickHouseClient, QueryRefused
from .system_tables import columns_of
from .versions import release_of

# Most servers answer at once; the threads wait for the others concurrently.
_AT_ONCE = 16
# Other columns of system.replicas would each cost a read of ZooKeeper. The query covers tables of all
# ensembles, because the census may be about an auxiliary ensemble.
_REPLICAS = "SELECT zookeeper_path, replica_name, is_readonly FROM system.replicas"
# Counts of the server, whatever the user may see. AttachedReplicatedTable is of later versions.
_COUNTS = (
    "SELECT metric, value FROM system.metrics WHERE metric IN ('ReadonlyReplica', 'AttachedReplicatedTable')"
)
_TABLES = "SELECT count() FROM system.tables WHERE engine LIKE 'Replicated%MergeTree'"
# A user who may not see all tables may not ask about this table, although nobody has it.
_EXISTS = "EXISTS TABLE partmove_no_such_database.no_such_table"
# Before 20.4, allow_databases; later, grants.
_DENIED = frozenset({291, 497})
# Before 20.4 there are no grants.
_SYNTAX_ERROR = 62
_SHOW_ALL = (
    "GRANT SHOW TABLES ON *.* and SELECT ON system.* to the user, and remove row policies and allow_databases"
    " of the user"
)
_LATER_TABLES = ("detached_tables", "detached_parts")
_DETACHED_TABLES = "SELECT DISTINCT database, table FROM system.detached_tables"
_KEYS = (
    "SELECT r.database, r.table, r.zookeeper_name, r.zookeeper_path, t.partition_key, t.sorting_key"
    " FROM system.replicas AS r INNER JOIN system.tables AS t ON r.database = t.database AND r.table = t.name"
)
_ACTIVE = (
    "SELECT DISTINCT database, table, partition_id FROM system.parts WHERE active AND (database, table) IN"
    f" (SELECT database, table FROM system.replicas WHERE zookeeper_name != '{DEFAULT_ENSEMBLE}')"
)
_DETACHED_PARTS = "SELECT DISTINCT database, table, ifNull(partition_id, '') FROM system.detached_parts"
# A table that is created or dropped between the two queries makes them differ once.
_COMPARISONS = 3


def query_servers(clients: Sequence[ClickHouseClient]) -> list[ServerAnswer]:
    """Query the servers concurrently; return an answer or a problem for each, in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(_query, clients))


def hidden_tables(client: ClickHouseClient) -> str:
    """Return why the server may have replicated tables that the user does not see; empty if it has none."""
    return _replicas(client)[1]


def _query(client: ClickHouseClient) -> ServerAnswer:
    try:
        return _answer(client)
    except PartMoveError as error:
        return ServerAnswer(client.label, problem=error.message)


def _answer(client: ClickHouseClient) -> ServerAnswer:
    release = release_of(client.version(), client.label)
    rows, hidden = _replicas(client)
    later = {each for each in _LATER_TABLES if columns_of(client, each)}
    detached = None
    if "detached_tables" in later:
        detached = tuple(f"{database}.{table}" for database, table in client.rows(_DETACHED_TABLES))
    uses = None
    if "detached_parts" in later and reports_ensembles(client):
        uses = tuple(_uses(client))
    return ServerAnswer(
        client.label,
        tuple((str(path), str(replica)) for path, replica, _is_readonly in rows),
        hidden=hidden,
        detached=detached,
        version=release,
        uses=uses,
    )


def _replicas(client: ClickHouseClient) -> tuple[list[list[object]], str]:
    """Return the rows of system.replicas, and why the server may have more."""
    for _comparison in range(_COMPARISONS):
        counts = {str(metric): int(value) for metric, value in client.rows(_COUNTS)}
        counts["system.tables"] = int(client.rows(_TABLES)[0][0])
        rows = client.rows(_REPLICAS)
        hidden = _more_than_visible(rows, counts)
        if not hidden:
            break
    hidden = hidden or _restriction(client, counts)
    return rows, hidden and f"{client.label} {hidden}. {_SHOW_ALL}"


def _more_than_visible(rows: Sequence[Sequence[object]], counts: Mapping[str, int]) -> str:
    """Compare the rows with counts that do not depend on them; return a difference, or an empty text.

    A hidden table with a session is also found by its znodes. A hidden table without a session is read-only.
    """
    if "ReadonlyReplica" not in counts:
        return "does not show system.metrics, so that tables hidden from the user remain unknown"
    read_only = sum(1 for row in rows if int(str(row[2])))
    for name, visible in (
        ("AttachedReplicatedTable", len(rows)),
        ("system.tables", len(rows)),
        ("ReadonlyReplica", read_only),
    ):
        if counts.get(name, 0) > visible:
            what = "read-only replicated tables" if name == "ReadonlyReplica" else "replicated tables"
            return (
                f"has {counts[name]:,} {what} by {name}, and the user sees {visible:,} of them in"
                " system.replicas"
            )
    return ""


def _restriction(client: ClickHouseClient, counts: Mapping[str, int]) -> str:
    """Return why the server does not show the user every table, found without any table."""
    try:
        client.rows(_EXISTS)
    except QueryRefused as error:
        if error.code not in _DENIED:
            raise
        return f"shows the user only tables of certain databases: {error.text}"
    if "AttachedReplicatedTable" in counts:
        return ""
    try:
        grants = client.rows("SHOW GRANTS")
    except QueryRefused as error:
        if error.code != _SYNTAX_ERROR:
            raise
        return ""
    revoked = [str(row[0]) for row in grants if str(row[0]).startswith("REVOKE")]
    return f"withholds rights of the user: {revoked[0]}" if revoked else ""


class _Table(NamedTuple):
    name: str
    ensemble: str
    shard_path: str
    keys: tuple[str, str]


def _uses(client: ClickHouseClient) -> Iterator[PartitionUse]:
    """Yield the partitions of detached parts, and those of tables in another ensemble with the same keys.

    Such a table may be the cold twin of a table, which has the partition's rows.
    """
    tables = [
        _Table(f"{database}.{table}", str(ensemble), str(path), (str(partition_key), str(sorting_key)))
        for database, table, ensemble, path, partition_key, sorting_key in client.rows(_KEYS)
    ]
    detached = _by_table(client, _DETACHED_PARTS)
    active = _by_table(client, _ACTIVE)
    for table in tables:
        for partition in detached.get(table.name, ()):
            what = "parts of an unknown partition" if partition == ANY_PARTITION else "parts of the partition"
            reason = f"{table.name} on {client.label} has detached {what}, which may be attached again"
            yield PartitionUse(table.shard_path, partition, reason)
        for other in tables:
            if other.ensemble != table.ensemble and other.keys == table.keys:
                reason = (
                    f"{other.name} on {client.label}, which is in the ensemble {other.ensemble} and has the"
                    " same keys, has the partition"
                )
                for partition in {*active.get(other.name, ()), *detached.get(other.name, ())}:
                    yield PartitionUse(table.shard_path, partition, reason)


def _by_table(client: ClickHouseClient, sql: str) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for database, table, partition in client.rows(sql):
        found[f"{database}.{table}"].append(str(partition))
    return dict(found)
