# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads by SQL whether a server may be entered in the ledger."""

from __future__ import annotations

from collections.abc import Collection

from .._partmove.formats.sql import literal
from .._partmove.patched.ledger.enter import SeenActivation, ServedReplica
from .._partmove.patched.ledger.ledger import ReplicaKey
from .auxiliary import auxiliary_tables
from .census_servers import hidden_tables
from .client import ClickHouseClient, QueryRefused


class HttpServerProbe:
    """Implements ServerProbe over the HTTP interface of one server."""

    def __init__(self, client: ClickHouseClient) -> None:
        self._client = client
        self.label = client.label

    def replicas(self) -> Collection[ServedReplica]:
        """Return the replicas of tables outside auxiliary ensembles, broken replicas included."""
        rows = self._client.rows(
            "SELECT zookeeper_path, replica_name, database, table, is_readonly, is_session_expired"
            " FROM system.replicas"
        )
        auxiliary = auxiliary_tables(self._client)
        return [
            ServedReplica(
                ReplicaKey(shard_path, replica),
                f"{database}.{table}",
                bool(int(read_only)),
                bool(int(expired)),
            )
            for shard_path, replica, database, table, read_only, expired in rows
            if (database, table) not in auxiliary
        ]

    def hidden(self) -> str:
        """Return why the server may have replicated tables that the user does not see; empty otherwise."""
        return hidden_tables(self._client)

    def version(self) -> str:
        """Return the version of the server."""
        return self._client.version()

    def started(self) -> int:
        """Return when the process started, in seconds since 1970 by the server's clock, to about a second."""
        now, uptime = self._client.rows("SELECT toUnixTimestamp(now()), uptime()")[0]
        return int(now) - int(uptime)

    def shows(self, sign: str) -> bool:
        """Whether the query returns one row with 1; False if the server rejects the query."""
        try:
            rows = self._client.rows(sign)
        except QueryRefused:
            return False
        return rows in ([[1]], [["1"]])

    def activation(self, key: ReplicaKey) -> SeenActivation:
        """Return what the server itself reads in ZooKeeper at the path of the replica."""
        path = f"{key.shard_path}/replicas/{key.replica}"
        rows = self._client.rows(
            f"SELECT name, mzxid, czxid FROM system.zookeeper WHERE path = {literal(path)}"
            " AND name IN ('host', 'is_active')"
        )
        found = {name: (int(mzxid), int(czxid)) for name, mzxid, czxid in rows}
        host, is_active = found.get("host"), found.get("is_active")
        return SeenActivation(None if host is None else host[0], None if is_active is None else is_active[1])

    def parts(self, key: ReplicaKey) -> Collection[str]:
        """Return the names of the active parts of the table that belongs to the replica."""
        rows = self._client.rows(
            "SELECT name FROM system.parts WHERE active AND (database, table) IN (SELECT database, table"
            f" FROM system.replicas WHERE zookeeper_path = {literal(key.shard_path)}"
            f" AND replica_name = {literal(key.replica)})"
        )
        return [name for (name,) in rows]
