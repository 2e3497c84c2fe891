# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds whole tables by their places and exchanges their names, by SQL."""

from __future__ import annotations

from collections.abc import Sequence

from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.move.tables import Side, TwinReplica, TwinTable, TwinTables
from .._partmove.twin.table.pair import LocatedTables, TableContents, TablePair, as_twin_tables, locate_name
from .client import ClickHouseClient
from .options import ClickHouseOptions
from .twin_activity import statements_in_progress
from .twin_creation import TwinPlace
from .twin_servers import DEFAULT_TWIN, HttpTwinServers
from .twin_sql import INSERTS, begins_with, pair_condition, table_condition

_NAME_INDEPENDENT = ("GET_PART", "ATTACH_PART", "MERGE_PARTS")
"""Types of queue entries that inserts and merges create; they do not depend on the name of a table."""


class HttpPairServers(HttpTwinServers):
    """Implements PairServers. As TwinServers, the table with the name is the hot table."""

    def __init__(self, options: ClickHouseOptions, place: TwinPlace, twin: str = DEFAULT_TWIN) -> None:
        """``twin``: the name of twins. ``place``: the place of twins. Otherwise as HttpTwinServers."""
        super().__init__(options, twin)
        self._place = place

    def find(self, shard_path: str, replica: TwinReplica) -> LocatedTables:
        """Implement `PairServers.find`. Raises PartMoveError unless the server has one such replica."""
        client = self.clients.of(shard_path, replica.name, replica.host)
        home = self._hot(client, shard_path, replica)
        ((engine,),) = client.rows(
            f"SELECT engine FROM system.databases WHERE name = {literal(home.database)}"
        )
        return LocatedTables(replica, client.label, home, self._away(client, shard_path, replica), engine)

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Implement `TwinServers.tables`; the table with the name is the hot table."""
        found = self.find(shard_path, replica)
        if found.pair is None:
            return super().tables(shard_path, replica)
        return as_twin_tables(found.pair, locate_name(found.pair, self._twin).at)

    def exchange(self, pair: TablePair) -> None:
        """Implement `PairServers.exchange`. Any error leaves the outcome unknown."""
        self._of(pair).execute(self.exchange_statement(pair))

    def exchange_statement(self, pair: TablePair) -> str:
        """Implement `PairServers.exchange_statement`."""
        first, second = sorted((pair.home, pair.away), key=lambda table: table.name)
        return f"EXCHANGE TABLES {first.sql_name} AND {second.sql_name}"

    def hindrances(self, pair: TablePair) -> Sequence[str]:
        """Implement `PairServers.hindrances`."""
        client, tables = self._of(pair), as_twin_tables(pair, Side.HOT)
        both = pair_condition(tables)
        mutations = client.rows(
            f"SELECT table, mutation_id FROM system.mutations WHERE is_done = 0 AND {both}"
        )
        queued = client.rows(
            "SELECT table, type, new_part_name FROM system.replication_queue"
            f" WHERE {both} AND NOT {is_one_of('type', _NAME_INDEPENDENT)}"
        )
        return [
            *(f"mutation {mutation} of {table} is not done" for table, mutation in mutations),
            *(f"the queue of {table} has {kind} {part}".rstrip() for table, kind, part in queued),
            *statements_in_progress(client, tables),
        ]

    def contents(self, pair: TablePair) -> tuple[TableContents, TableContents]:
        """Implement `PairServers.contents`."""
        return self._contents_of(pair, pair.home), self._contents_of(pair, pair.away)

    def older_inserts(self, pair: TablePair, seconds: float) -> int:
        """Implement `PairServers.older_inserts`."""
        ((count,),) = self._of(pair).rows(
            f"SELECT count() FROM system.processes WHERE {begins_with(*INSERTS)} AND elapsed > {seconds:.3f}"
        )
        return int(count)

    def _contents_of(self, pair: TablePair, table: TwinTable) -> TableContents:
        ((rows, parts, digest),) = self._of(pair).rows(
            "SELECT toString(sum(rows)), toString(count()),"
            " lower(hex(groupBitXor(cityHash64(name, rows, hash_of_all_files))))"
            f" FROM system.parts WHERE active AND {table_condition(table)}"
        )
        return TableContents(int(rows), int(parts), digest)

    def _away(self, client: ClickHouseClient, shard_path: str, replica: TwinReplica) -> TwinTable | None:
        """Return the table at the place of the twin, whatever its name; None without exactly one."""
        ensemble, path = self._place.ensemble, self._place.of(shard_path)
        of_ensemble = f" AND zookeeper_name = {literal(ensemble)}" if self._reports_ensembles(client) else ""
        found = client.rows(
            f"SELECT database, table FROM system.replicas WHERE zookeeper_path = {literal(path)}"
            f" AND replica_name = {literal(replica.name)}{of_ensemble}"
        )
        return self._table(client, *found[0]) if len(found) == 1 else None

    def _of(self, pair: TablePair) -> ClickHouseClient:
        return self.clients.of(pair.home.path, pair.replica.name, pair.replica.host)
