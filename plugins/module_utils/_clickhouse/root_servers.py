# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries servers for all their replicated tables: a few queries a server, whatever the number of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._partmove.errors import NotPermitted, PartMoveError
from .._partmove.formats.sql import literal
from .._partmove.twin.move.tables import TwinReplica
from .._partmove.twin.readers.statements import POLICY_PREFIX
from .._partmove.twin.table.pair import TableContents
from .._partmove.twin.table.root_survey import Place, PlacedTable, ServerTables
from .client import ClickHouseClient
from .missing_replica import missing_replica
from .permission import permitted
from .replica_table import TwinClients
from .system_tables import columns_of
from .table_definition import ensemble_in
from .twin_creation import TwinPlace

_PARTS = (
    "SELECT database, table, toString(uniqExact(partition_id)), toString(sum(rows)), toString(count()),"
    " lower(hex(groupBitXor(cityHash64(name, rows, hash_of_all_files)))), toString(sum(bytes_on_disk))"
    " FROM system.parts WHERE active AND startsWith(engine, 'Replicated') GROUP BY database, table"
)
_EMPTY = ("0", "0", "0", "0" * 16, "0")
"""What _PARTS has of a table without parts, which it does not list."""
_READS = 5


class HttpRootServers:
    """Implements RootServers over the HTTP interface."""

    def __init__(self, clients: TwinClients, place: TwinPlace) -> None:
        self._clients = clients
        self._place = place
        self._known: dict[str, ServerTables | PartMoveError] = {}

    def placed_tables(self, shard_path: str, replica: TwinReplica) -> ServerTables:
        """Implement `RootServers.placed_tables`."""
        label = self._clients.unverified.of(shard_path, replica.name, replica.host).label
        if label not in self._known:
            try:
                self._known[label] = _read(self._clients.of(shard_path, replica.name, replica.host))
            except PartMoveError as error:
                self._known[label] = error
        answer = self._known[label]
        if isinstance(answer, PartMoveError):
            raise answer
        return answer

    def place_of_twin(self, shard_path: str) -> tuple[str, str]:
        """Implement `RootServers.place_of_twin`."""
        return self._place.ensemble, self._place.of(shard_path)

    def explain_missing(self, shard_path: str, replica: TwinReplica) -> PartMoveError:
        """Implement `RootServers.explain_missing`."""
        client = self._clients.of(shard_path, replica.name, replica.host)
        return missing_replica(client, shard_path, replica.name, 0)


def _read(client: ClickHouseClient) -> ServerTables:
    """Read places and parts between which no name changed. Raises PartMoveError if names keep changing."""
    places = _read_places(client)
    for _attempt in range(_READS):
        # system.parts has the names of tables only. An exchange of names in between would give a table the
        # parts of its twin.
        parts = {(database, name): values for database, name, *values in client.rows(_PARTS)}
        before, places = places, _read_places(client)
        if sorted(before) == sorted(places):
            return _placed(client, places, parts)
    raise PartMoveError(
        f"{client.label} creates, drops or renames replicated tables all the time",
        remedy="Run again when these statements have ended",
    )


def _placed(
    client: ClickHouseClient,
    places: Sequence[tuple[str, str, str, str, str]],
    parts: Mapping[tuple[str, str], Sequence[str]],
) -> ServerTables:
    tables: dict[Place, PlacedTable] = {}
    for database, name, ensemble, path, replica in places:
        partitions, rows, count, digest, size = parts.get((database, name), _EMPTY)
        contents = TableContents(int(rows), int(count), digest)
        tables[ensemble, path, replica] = PlacedTable(
            database, name, ensemble, path, replica, contents, int(partitions), int(size)
        )
    return ServerTables(client.label, tables, _read_policies(client))


def _read_policies(client: ClickHouseClient) -> frozenset[str] | None:
    """Return the names of the row policies of twin_move; None if the user may not see them."""
    try:
        with permitted():
            rows = client.rows(
                "SELECT short_name FROM system.row_policies"
                f" WHERE startsWith(short_name, {literal(POLICY_PREFIX)})"
            )
    except NotPermitted:
        return None
    return frozenset(str(name) for (name,) in rows)


def _read_places(client: ClickHouseClient) -> list[tuple[str, str, str, str, str]]:
    """Return database, name, ensemble, path and replica of each replicated table."""
    reports_ensembles = "zookeeper_name" in columns_of(client, "replicas")
    ensemble = "zookeeper_name" if reports_ensembles else "''"
    rows = client.rows(
        f"SELECT database, table, {ensemble}, zookeeper_path, replica_name FROM system.replicas"
    )
    if reports_ensembles:
        return [(str(a), str(b), str(c), str(d), str(e)) for a, b, c, d, e in rows]
    engines = {
        (database, name): engine
        for database, name, engine in client.rows(
            "SELECT database, name, engine_full FROM system.tables WHERE startsWith(engine, 'Replicated')"
        )
    }
    return [
        (database, name, ensemble_in(engines[database, name], f"{database}.{name}"), path, replica)
        for database, name, _ensemble, path, replica in rows
        if (database, name) in engines
    ]
