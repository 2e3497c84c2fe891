# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whole tables between two ensembles, by SQL: tables are found by their places, and names are exchanged."""

from __future__ import annotations

from collections.abc import Sequence

from .._partmove.formats.sql import literal
from .._partmove.twin.move.tables import Side, TwinReplica, TwinTable, TwinTables
from .._partmove.twin.table.pair import LocatedTables, TableContents, TablePair, locate_name, as_twin_tables
from .client import ClickHouseClient
from .options import ClickHouseOptions
from .twin_activity import statements_under_way
from .twin_creation import TwinPlace
from .twin_servers import DEFAULT_TWIN, HttpTwinServers
from .twin_sql import both_tables, one_table

_OF_INSERTS = ("GET_PART", "ATTACH_PART", "MERGE_PARTS")
"""Entries of a queue that inserts and merges make, and which say nothing of the name of a table."""


class HttpPairServers(HttpTwinServers):
    """Implements PairServers, and TwinServers for whichever of the two tables has the name."""

    def __init__(self, options: ClickHouseOptions, place: TwinPlace, twin: str = DEFAULT_TWIN) -> None:
        """``twin`` is the name of a twin, and ``place`` where it is; otherwise as HttpTwinServers."""
        super().__init__(options, twin)
        self._place = place

    def find(self, shard_path: str, replica: TwinReplica) -> LocatedTables:
        """As PairServers says; raises PartMoveError where the server has not exactly one such replica."""
        client = self._clients.of(shard_path, replica.name, replica.host)
        home = self._hot(client, shard_path, replica)
        ((engine,),) = client.rows(
            f"SELECT engine FROM system.databases WHERE name = {literal(home.database)}"
        )
        return LocatedTables(replica, client.label, home, self._away(client, shard_path, replica), engine)

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """As TwinServers says, with the table that has the name as the hot one."""
        found = self.find(shard_path, replica)
        if found.pair is None:
            return super().tables(shard_path, replica)
        return as_twin_tables(found.pair, locate_name(found.pair, self._twin).at)

    def exchange(self, pair: TablePair) -> None:
        """As PairServers says; any error tells nothing of what was done."""
        self._of(pair).execute(self.exchange_statement(pair))

    def exchange_statement(self, pair: TablePair) -> str:
        """As PairServers says."""
        first, second = sorted((pair.home, pair.away), key=lambda table: table.name)
        return f"EXCHANGE TABLES {first.sql_name} AND {second.sql_name}"

    def hindrances(self, pair: TablePair) -> Sequence[str]:
        """As PairServers says."""
        client, tables = self._of(pair), as_twin_tables(pair, Side.HOT)
        both = both_tables(tables)
        mutations = client.rows(
            f"SELECT table, mutation_id FROM system.mutations WHERE is_done = 0 AND {both}"
        )
        kinds = ", ".join(literal(each) for each in _OF_INSERTS)
        queued = client.rows(
            "SELECT table, type, new_part_name FROM system.replication_queue"
            f" WHERE {both} AND type NOT IN ({kinds})"
        )
        return [
            *(f"mutation {mutation} of {table} is not done" for table, mutation in mutations),
            *(f"the queue of {table} has {kind} {part}".rstrip() for table, kind, part in queued),
            *statements_under_way(client, tables),
        ]

    def contents(self, pair: TablePair) -> tuple[TableContents, TableContents]:
        """As PairServers says."""
        return self._holding(pair, pair.home), self._holding(pair, pair.away)

    def older_inserts(self, pair: TablePair, seconds: float) -> int:
        """As PairServers says."""
        ((count,),) = self._of(pair).rows(
            f"SELECT count() FROM system.processes WHERE query ILIKE 'INSERT %' AND elapsed > {seconds:.3f}"
        )
        return int(count)

    def _holding(self, pair: TablePair, table: TwinTable) -> TableContents:
        ((rows, parts, digest),) = self._of(pair).rows(
            "SELECT toString(sum(rows)), toString(count()),"
            " lower(hex(groupBitXor(cityHash64(name, rows, hash_of_all_files))))"
            f" FROM system.parts WHERE active AND {one_table(table)}"
        )
        return TableContents(int(rows), int(parts), digest)

    def _away(self, client: ClickHouseClient, shard_path: str, replica: TwinReplica) -> TwinTable | None:
        """The replica of the table at the place of the twin, whatever its name."""
        ensemble, path = self._place.ensemble, self._place.of(shard_path)
        there = f" AND zookeeper_name = {literal(ensemble)}" if self._tells_ensembles(client) else ""
        found = client.rows(
            f"SELECT database, table FROM system.replicas WHERE zookeeper_path = {literal(path)}"
            f" AND replica_name = {literal(replica.name)}{there}"
        )
        return self._table(client, *found[0]) if len(found) == 1 else None

    def _of(self, pair: TablePair) -> ClickHouseClient:
        return self._clients.of(pair.home.path, pair.replica.name, pair.replica.host)
