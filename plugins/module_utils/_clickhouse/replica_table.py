# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries about the table of a replica. The same query identifies the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import literal
from .._partmove.formats.znode_text import ZnodeText
from .client import ClickHouseClient
from .drop_limits import DropLimits
from .options import ClickHouseOptions
from .sent_settings import EVERY_REPLICA, KnownSettings
from .versions import require_auxiliary_tables

Rows = Mapping[str, list[list[str]]]
"""Key of a SELECT → its rows of four texts, sorted."""


class ReplicaTable(NamedTuple):
    """The table of a replica on its server, and the rows of the queries about the table."""

    database: str
    name: str
    rows: Rows


class ReplicaClients:
    """The clients for the servers of replicas. All threads share a client for each server."""

    def __init__(self, options: ClickHouseOptions) -> None:
        self._options = options
        self._known: dict[tuple[str, int], ClickHouseClient] = {}

    def of(self, shard_path: str, replica: str, host: str) -> ClickHouseClient:
        """Return the client for a replica. ``host``: data of its ``host`` znode. Raises FormatError."""
        address = self._options.endpoint_of(replica)
        if address is None:
            text = ZnodeText(host.encode(), f"{shard_path}/replicas/{replica}/host")
            address = text.field("host: "), self._options.port
        # Threads that come first at the same time may create a client in vain.
        return self._known.setdefault(address, ClickHouseClient(*address, self._options))


class TwinClients:
    """The clients for servers whose tables can be in an auxiliary ensemble.

    unverified: the same clients, also those of servers of other versions.
    settings: the names of settings on these servers.
    drop_limits: the sizes up to which these servers drop parts and tables.
    """

    def __init__(self, options: ClickHouseOptions) -> None:
        self.unverified = ReplicaClients(options)
        self.settings = KnownSettings()
        self.drop_limits = DropLimits(self.settings)
        self._versions: dict[str, str] = {}

    @property
    def versions(self) -> Mapping[str, str]:
        """Return the version of each server so far, by the name of the server."""
        return dict(sorted(self._versions.items()))

    def of(self, shard_path: str, replica: str, host: str) -> ClickHouseClient:
        """Return the client for a replica, as `ReplicaClients.of` does. Queries version and settings once.

        Raises VersionRefused if tables of the server cannot be in an auxiliary ensemble, and PartMoveError if
        its statements cannot wait for every replica.
        """
        client = self.unverified.of(shard_path, replica, host)
        require_auxiliary_tables(client)
        self._versions[client.label] = client.version()
        self.settings.name_of(client, EVERY_REPLICA)
        return client


def query_replica(
    client: ClickHouseClient,
    shard_path: str,
    replica: str,
    selects: Mapping[str, str],
    *,
    own: Mapping[str, str] | None = None,
    with_session: bool = True,
) -> ReplicaTable:
    """Query the server of a replica.

    selects: key of the rows → ``four text columns FROM table WHERE condition``. The table must have the
        columns ``database`` and ``table``, and conditions are appended.
    own: key of the row → four text columns of system.replicas, about the replica itself.

    Raises PartMoveError if the server cannot be queried, does not have exactly one such replica, or, with
    ``with_session``, if the table has no session with ZooKeeper.
    """
    where = f"zookeeper_path = {literal(shard_path)} AND replica_name = {literal(replica)}"
    of_table = f"(database, table) IN (SELECT database, table FROM system.replicas WHERE {where})"
    fields = "database, table, toString(is_readonly), toString(is_session_expired)"
    # Not with `of_table`: 24.5 refuses IN (SELECT …) with code 49 on system.replicas, and on the tables of
    # mutations and of the queue.
    own = {"": fields, **(own or {})}
    union = [f"SELECT '{key}', {columns} FROM system.replicas WHERE {where}" for key, columns in own.items()]
    union += [f"SELECT '{key}', {select} AND {of_table}" for key, select in selects.items()]
    rows: dict[str, list[list[str]]] = {key: [] for key in (*own, *selects)}
    for key, *row in client.rows(" UNION ALL ".join(union)):
        rows[key].append(row)
    tables = rows.pop("")
    if len(tables) != 1:
        raise PartMoveError(
            f"{client.label} has {len(tables)} tables that are replica {replica} of {shard_path}",
            remedy="Check that it is the server of the replica, else set endpoints; and check that the chroot"
            " of hot is the <root> that the server has for ZooKeeper",
        )
    ((database, name, is_readonly, is_session_expired),) = tables
    if with_session and (int(is_readonly) or int(is_session_expired)):
        raise PartMoveError(
            f"{client.label} has the table {database}.{name} without a session with ZooKeeper",
            remedy="Wait until is_readonly in system.replicas is 0, and run again",
        )
    return ReplicaTable(database, name, {key: sorted(found) for key, found in rows.items()})
