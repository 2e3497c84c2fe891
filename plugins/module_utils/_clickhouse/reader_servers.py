# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Row policies of reading tables, and what reads now, over the HTTP interface."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._partmove.errors import NotPermitted
from .._partmove.formats.sql import is_one_of
from .._partmove.twin.move.tables import TwinTables
from .._partmove.twin.readers.servers import Reading
from .._partmove.twin.readers.statements import (
    LeftPolicy,
    PolicyStatement,
    ReadingTable,
    older_policy_name,
    policy_name,
)
from .client import ClickHouseClient
from .permission import permitted
from .reader_gates import policy_problem, probe_policy, storage_of_policies
from .reading_tables import reading_problem, reading_tables, reads_any
from .replica_table import TwinClients
from .system_tables import columns_of
from .visible_tables import hidden_from_user

_LOADING = ("LOADING", "FAILED_AND_RELOADING", "LOADED_AND_RELOADING")
_NO_READERS = ("System", "KillQuery", "Optimize", "Backup")
"""Kinds of queries that read no rows of a reading table."""


class HttpReaderServers:
    """Implements ReaderServers over the HTTP interface."""

    def __init__(self, clients: TwinClients) -> None:
        self._clients = clients

    def reading(self, tables: TwinTables) -> Reading:
        """Implement `ReaderServers.reading`."""
        client = self._client_of(tables)
        found = reading_tables(client, tables)
        if not found:
            problem = hidden_from_user(client)
            if problem:
                raise NotPermitted(problem, remedy="GRANT SHOW ON *.* to the user")
            # The reading table of a killed run may have gone. Who may not see policies has created none.
            with suppress(NotPermitted), permitted():
                return Reading((), policies_of(client, tables))
            return Reading(())
        with permitted():
            return Reading(found, policies_of(client, tables))

    def storage(self, tables: TwinTables) -> str:
        """Implement `ReaderServers.storage`."""
        return storage_of_policies(self._client_of(tables))

    def problem(self, tables: TwinTables, reading: Reading) -> str:
        """Implement `ReaderServers.problem`."""
        client = self._client_of(tables)
        readers_of(client)  # Raises QueryRefused if the user may not see them.
        return reading_problem(client, tables) or policy_problem(client, reading.tables)

    def probe(self, tables: TwinTables, reading: Reading) -> str:
        """Implement `ReaderServers.probe`."""
        client = self._client_of(tables)
        for each in reading.tables:
            problem = probe_policy(client, tables, each, reading.storage)
            if problem:
                return problem
        return ""

    def execute(self, statement: PolicyStatement) -> None:
        """Implement `ReaderServers.execute`."""
        self._client_of(statement.tables).execute(statement.sql)

    def readers(self, tables: TwinTables) -> frozenset[str]:
        """Implement `ReaderServers.readers`."""
        return readers_of(self._client_of(tables))

    def _client_of(self, tables: TwinTables) -> ClickHouseClient:
        replica = tables.replica
        return self._clients.of(tables.shard_path, replica.name, replica.host)


def policies_of(client: ClickHouseClient, tables: TwinTables) -> tuple[LeftPolicy, ...]:
    """Return the row policies of moves of the pair, sorted.

    Earlier versions gave the policies of tables with the same name the same name. Such a policy belongs to
    the pair if the pair is read by the table that the policy is on.
    """
    return _read_policies(client, tables)[0]


def known_policies(client: ClickHouseClient, tables: TwinTables) -> tuple[LeftPolicy, ...]:
    """Return the same. Raises NotPermitted if the user may not see whether a policy hides rows of the pair.

    Without the right to see policies, it is enough to see that nothing reads the tables which a policy could
    be on.
    """
    try:
        with permitted():
            found, others = _read_policies(client, tables)
    except NotPermitted:
        if hidden_from_user(client) or reads_any(client, tables):
            raise
        return ()
    problem = hidden_from_user(client) if others and not found else ""
    if problem:
        raise NotPermitted(problem, remedy="GRANT SHOW ON *.* to the user")
    return found


def _read_policies(
    client: ClickHouseClient, tables: TwinTables
) -> tuple[tuple[LeftPolicy, ...], Sequence[LeftPolicy]]:
    """Return the policies of the pair, and those of other pairs as far as the user sees reading tables."""
    name, older = policy_name(tables), older_policy_name(tables)
    rows = client.rows(
        "SELECT short_name, database, table FROM system.row_policies"
        f" WHERE {is_one_of('short_name', [name, older])}"
    )
    named = {LeftPolicy(short_name, ReadingTable(database, table)) for short_name, database, table in rows}
    reading = reading_tables(client, tables) if any(each.name == older for each in named) else ()
    found = {each for each in named if each.name == name or each.reading in reading}
    return tuple(sorted(found)), sorted(named - found)


def readers_of(client: ClickHouseClient) -> frozenset[str]:
    """Return queries, loading dictionaries and running mutations, which may all be reading now."""
    has_kinds = "query_kind" in columns_of(client, "processes")
    kinds = f" AND NOT ({is_one_of('query_kind', _NO_READERS)})" if has_kinds else ""
    rows = client.rows(
        f"SELECT concat('query ', query_id) FROM system.processes WHERE query_id != queryID(){kinds}"
        " UNION ALL SELECT concat('dictionary ', database, '.', name, ' ', toString(loading_start_time))"
        f" FROM system.dictionaries WHERE {is_one_of('status', _LOADING)}"
        " UNION ALL SELECT concat('mutation ', database, '.', table, ' ', result_part_name)"
        " FROM system.merges WHERE is_mutation"
    )
    return frozenset(text for (text,) in rows)
