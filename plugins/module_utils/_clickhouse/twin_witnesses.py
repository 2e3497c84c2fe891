# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Implements the queries of an audit of twins, and writes the statements of its findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress

from .._partmove.errors import NotPermitted
from .._partmove.formats.sql import is_one_of, literal
from .._partmove.twin.audit.evidence import ReplicaTables
from .._partmove.twin.audit.verdict import ManualCheck
from .._partmove.twin.move.row_sql import free_name, in_parts, name_problem
from .._partmove.twin.move.statements import DropParts
from .._partmove.twin.move.tables import Side, TwinReplica, TwinTable, TwinTables
from .._partmove.twin.readers.statements import DropPolicy
from .._partmove.twin.table.pair import table_of_twin
from .auxiliary import auxiliary_tables, children_in
from .client import ClickHouseClient
from .clone_blocks import reads_all_ensembles
from .ledger_servers import HttpLedgerServers
from .permission import permitted
from .reader_servers import policies_of
from .sent_settings import ROWS_ALONE, KnownSettings
from .twin_activity import partition_of
from .twin_sql import OWN_ROWS, sum_of_rows

_BLOCKS = ("blocks", "async_blocks", "deduplication_hashes")
"""Znodes in which a table keeps its inserted blocks; the version decides which of them exist."""
_CLONE_BLOCKS = "%\\_replace\\_from\\_%"
"""Pattern for the names of the block znodes that an ATTACH … FROM creates."""


class HttpTwinWitnesses(HttpLedgerServers):
    """Implements TwinWitnesses over the HTTP interface."""

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """Implement `TwinWitnesses.pair`."""
        twin = self.read_twin(shard_path, replica)
        named = self._named_table(twin.client, twin.hot) if twin.found is None else None
        policies: tuple[str, ...] = ()
        tables = None
        if named is not None:
            tables = TwinTables(replica, twin.client.label, named, twin.hot, Side.COLD)
        elif twin.found is not None:
            tables = TwinTables(replica, twin.client.label, twin.hot, twin.found)
        if tables is not None:
            # Few users may see policies; who audits without the right learns nothing about them.
            with suppress(NotPermitted), permitted():
                policies = tuple(DropPolicy(tables, each).sql for each in policies_of(twin.client, tables))
        return ReplicaTables(replica, twin.client.label, twin.hot, twin.found, named is not None, policies)

    def _named_table(self, client: ClickHouseClient, table: TwinTable) -> TwinTable | None:
        """Return the table in an auxiliary ensemble to which the table gave its name.

        Only database and name of the answer are those of the table. None unless the table is named as its
        twin.
        """
        name = table_of_twin(table.name, self._twin)
        if name is None or (table.database, name) not in auxiliary_tables(client):
            return None
        return table._replace(name=name)

    def inserted(self, tables: TwinTables) -> Mapping[str, Collection[str]]:
        """Implement `TwinWitnesses.inserted`; {} if the version reads only the default ensemble."""
        client = self._client_of(tables)
        if not reads_all_ensembles(client):
            return {}
        ensemble, path = tables.cold.ensemble, tables.cold.path
        existing = client.rows(
            "SELECT name FROM system.zookeeper"
            f" WHERE {children_in(ensemble, path, is_one_of('name', _BLOCKS))}"
        )
        found: dict[str, set[str]] = defaultdict(set)
        for (name,) in existing:
            of_inserts = f"name NOT LIKE {literal(_CLONE_BLOCKS)}"
            for (part,) in client.rows(
                "SELECT value FROM system.zookeeper"
                f" WHERE {children_in(ensemble, f'{path}/{name}', of_inserts)}"
            ):
                found[partition_of(part)].add(part)
        return {each: parts for each, parts in found.items() if each}


def statements_of(tables: TwinTables, check: ManualCheck, settings: KnownSettings | None = None) -> list[str]:
    """Return the SELECT that compares rows, if needed, and the statements that drop duplicate parts.

    No statement is returned if rows have to be compared, and no query can tell the rows of the parts apart.

    settings: the names of settings on the servers; without it, the server is taken for a version with all.
    """
    both = tables.hot, tables.cold
    if check.compare and any(map(name_problem, both)):
        return []
    # An alias could be a column, so there is none if the server does not show the columns.
    is_known = all(each.columns for each in both)
    place, rows, hashed = (
        f" AS {free_name(each, *both)}" if is_known else "" for each in ("place", "rows", "hash")
    )
    sums = [
        f"SELECT {literal(str(tables.on(side)))}{place}, count(){rows},"
        f" {sum_of_rows(tables.on(side))}{hashed}"
        f" FROM {tables.on(side).sql_name} WHERE {in_parts(tables.on(side), parts)}"
        for side, parts in check.compare.items()
    ]
    drops = [DropParts(tables, side, (part,)).sql for side, part in check.drop]
    # The settings of the last SELECT are those of all.
    own_rows = "" if settings is not None and settings.lacks(tables.server, ROWS_ALONE) else OWN_ROWS
    return [*([" UNION ALL ".join(sums) + own_rows] if sums else []), *drops]
