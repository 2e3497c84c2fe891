# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Questions about the table of one replica, answered by one query that also tells whether it is the one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import literal
from .._partmove.formats.znode_text import ZnodeText
from .client import ClickHouseClient
from .options import ClickHouseOptions

Rows = Mapping[str, list[list[str]]]
"""What the rows are about → rows of four texts, sorted."""


class ReplicaTable(NamedTuple):
    """A table by the only name its server knows it by, and what was asked about it."""

    database: str
    name: str
    rows: Rows


class ReplicaClients:
    """What asks the servers of replicas; a server has one for all threads, which keeps its connections."""

    def __init__(self, options: ClickHouseOptions) -> None:
        self._options = options
        self._known: dict[tuple[str, int], ClickHouseClient] = {}

    def of(self, shard_path: str, replica: str, host: str) -> ClickHouseClient:
        """The one for a replica; ``host`` is the data of its ``host`` znode. Raises FormatError."""
        given = self._options.endpoint_of(replica)
        if given is None:
            text = ZnodeText(host.encode(), f"{shard_path}/replicas/{replica}/host")
            given = text.field("host: "), self._options.port
        # Of threads that come first at once, one may make another in vain.
        return self._known.setdefault(given, ClickHouseClient(*given, self._options))


def ask_replica(
    client: ClickHouseClient,
    shard_path: str,
    replica: str,
    selects: Mapping[str, str],
    *,
    with_session: bool = True,
) -> ReplicaTable:
    """Ask the server of a replica.

    selects: what the rows are about → four columns of text FROM a table that has ``database`` and ``table``,
    with a WHERE that conditions can be added to. Raises PartMoveError: the server cannot be asked, has not
    exactly one such replica, or, where that matters, its session with ZooKeeper is gone.
    """
    where = f"zookeeper_path = {literal(shard_path)} AND replica_name = {literal(replica)}"
    of_table = f"(database, table) IN (SELECT database, table FROM system.replicas WHERE {where})"
    fields = "database, table, toString(is_readonly), toString(is_session_expired)"
    union = [f"SELECT '', {fields} FROM system.replicas WHERE {where}"]
    union += [f"SELECT '{about}', {select} AND {of_table}" for about, select in selects.items()]
    rows: dict[str, list[list[str]]] = {about: [] for about in ("", *selects)}
    for about, *row in client.rows(" UNION ALL ".join(union)):
        rows[about].append(row)
    tables = rows.pop("")
    if len(tables) != 1:
        raise PartMoveError(
            f"{client.label} has {len(tables)} tables that are replica {replica} of {shard_path}",
            remedy="See that it is the server of the replica, if not name that one in endpoints, and that"
            " the chroot of hot is the <root> that the server has for ZooKeeper",
        )
    ((database, name, is_readonly, is_session_expired),) = tables
    if with_session and (int(is_readonly) or int(is_session_expired)):
        raise PartMoveError(
            f"{client.label} has the table {database}.{name} without a session with ZooKeeper",
            remedy="Wait until system.replicas no longer says is_readonly for it, and run again",
        )
    return ReplicaTable(database, name, {about: sorted(found) for about, found in rows.items()})
