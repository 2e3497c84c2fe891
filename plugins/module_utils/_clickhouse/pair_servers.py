# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds whole tables by their places and exchanges their names, by SQL."""

from __future__ import annotations

from collections.abc import Sequence

from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.move.tables import Side, TwinReplica, TwinTable, TwinTables
from .._partmove.twin.readers.statements import LeftPolicy
from .._partmove.twin.table.exchange_record import ServerMoment
from .._partmove.twin.table.older_inserts import InsertsInProgress
from .._partmove.twin.table.pair import (
    LocatedTables,
    TableContents,
    TablePair,
    as_twin_tables,
    locate_name,
    related_names,
)
from .auxiliary import auxiliary_tables
from .client import ClickHouseClient
from .inserts_in_progress import read_inserts, read_moment, read_queued
from .ledger_servers import HttpLedgerServers
from .move_rights import require_rights
from .options import ClickHouseOptions
from .reader_servers import known_policies
from .twin_activity import statements_in_progress
from .twin_creation import TwinPlace
from .twin_servers import DEFAULT_TWIN, NO_PART
from .twin_sql import pair_condition, table_condition

_NAME_INDEPENDENT = ("GET_PART", "ATTACH_PART", "MERGE_PARTS")
"""Types of queue entries that inserts and merges create; they do not depend on the name of a table."""


class HttpPairServers(HttpLedgerServers):
    """Implements PairServers. As TwinServers, the table with the name is the hot table."""

    def __init__(
        self,
        options: ClickHouseOptions,
        place: TwinPlace,
        twin: str = DEFAULT_TWIN,
        *,
        stop_merges: bool = False,
    ) -> None:
        """``twin``: the name of twins. ``place``: the place of twins. Otherwise as HttpTwinServers.

        stop_merges: whether moves stop merges, which needs a right.
        """
        super().__init__(options, twin)
        self._place = place
        self._stop_merges = stop_merges

    def find(self, shard_path: str, replica: TwinReplica) -> LocatedTables:
        """Implement `PairServers.find`. Raises PartMoveError unless the server has one such replica."""
        client = self.clients.of(shard_path, replica.name, replica.host)
        found = self._find_hot(client, shard_path, replica)
        # The table at the place of the twin, whatever its name. Several tables there are none.
        others = self._find_at(client, self._place.ensemble, self._place.of(shard_path), replica)
        home, *away = self._describe(client, [found, *(others if len(others) == 1 else ())])
        ((engine,),) = client.rows(
            f"SELECT engine FROM system.databases WHERE name = {literal(home.database)}"
        )
        elsewhere = "" if away else self._elsewhere(client, home)
        return LocatedTables(replica, client.label, home, away[0] if away else None, engine, elsewhere)

    def _elsewhere(self, client: ClickHouseClient, home: TwinTable) -> str:
        known = auxiliary_tables(client)
        found = [(home.database, each) for each in related_names(home.name, self._twin)]
        return next(
            (f"{each[0]}.{each[1]} in the ensemble {known[each]}" for each in found if each in known), ""
        )

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Implement `TwinServers.tables`; the table with the name is the hot table."""
        found = self.find(shard_path, replica)
        if found.pair is None:
            return super().tables(shard_path, replica)
        return self._remembered(as_twin_tables(found.pair, locate_name(found.pair, self._twin).at))

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
            *read_queued(client, tables).values(),
        ]

    def contents(self, pair: TablePair) -> tuple[TableContents, TableContents]:
        """Implement `PairServers.contents`."""
        return self._contents_of(pair, pair.home), self._contents_of(pair, pair.away)

    def queued_inserts(self, pair: TablePair) -> Sequence[str]:
        """Implement `PairServers.queued_inserts`."""
        return list(read_queued(self._of(pair), as_twin_tables(pair, Side.HOT)).values())

    def require_rights(self, found: LocatedTables) -> None:
        """Implement `PairServers.require_rights`."""
        client = self.clients.of(found.home.path, found.replica.name, found.replica.host)
        away = self._twin_of(found.home.name) if found.away is None else found.away.name
        names = (found.home.name, away)
        require_rights(client, found.home.database, names, NO_PART, stop_merges=self._stop_merges)

    def moment(self, pair: TablePair) -> ServerMoment:
        """Implement `PairServers.moment`."""
        return read_moment(self._of(pair))

    def inserts_in_progress(self, pair: TablePair, since: ServerMoment) -> InsertsInProgress:
        """Implement `PairServers.inserts_in_progress`."""
        return read_inserts(self._of(pair), as_twin_tables(pair, Side.HOT), since)

    def left_policies(self, tables: TwinTables) -> Sequence[LeftPolicy]:
        """Implement `PolicyServers.left_policies`."""
        return known_policies(self._client_of(tables), tables)

    def _contents_of(self, pair: TablePair, table: TwinTable) -> TableContents:
        ((rows, parts, digest),) = self._of(pair).rows(
            "SELECT toString(sum(rows)), toString(count()),"
            " lower(hex(groupBitXor(cityHash64(name, rows, hash_of_all_files))))"
            f" FROM system.parts WHERE active AND {table_condition(table)}"
        )
        return TableContents(int(rows), int(parts), digest)

    def _describe(self, client: ClickHouseClient, places: Sequence[tuple[str, str]]) -> list[TwinTable]:
        """Return the descriptions of tables that are given by database and name."""
        databases = dict.fromkeys(database for database, _name in places)
        found = {
            each: self._read_tables(client, each, [name for database, name in places if database == each])
            for each in databases
        }
        return [found[database].table(name) for database, name in places]

    def _of(self, pair: TablePair) -> ClickHouseClient:
        return self.clients.of(pair.home.path, pair.replica.name, pair.replica.host)
