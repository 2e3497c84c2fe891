# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merges partitions on the servers of replicas, by SQL."""

from __future__ import annotations

from typing import NamedTuple

from .._partmove.formats.sql import identifier, literal
from .client import QueryRefused
from .replica_probe import HttpReplicaProbe
from .replica_table import ask_replica

_NOT_ASSIGNED = 388
"""The code of an OPTIMIZE that found nothing to do at this moment."""


class ReplicaNow(NamedTuple):
    """What a replica has of a partition, and how busy it is."""

    server: str
    """The server, for people."""
    parts: tuple[str, ...]
    """Names of the active parts of the partition, sorted."""
    is_leader: bool
    queue: int
    """Entries in the replication queue of the table."""
    merges: int
    """Merges that the server runs, of all tables."""


class HttpMergeServers(HttpReplicaProbe):
    """Asks and merges over the HTTP interface; raises PartMoveError as its base does."""

    def server(self, shard_path: str, replica: str, host: str) -> str:
        """The server of the replica, the same for all tables that it has; ``host`` as in `look`."""
        return self._client(shard_path, replica, host).label

    def look(self, shard_path: str, replica: str, host: str, partition: str) -> ReplicaNow:
        """What there is now; ``host`` is the data of the replica's ``host`` znode."""
        client = self._client(shard_path, replica, host)
        of_partition = f"active AND partition_id = {literal(partition)}"
        selects = {
            "queue": "toString(is_leader), toString(queue_size), '', '' FROM system.replicas WHERE 1",
            "parts": f"name, '', '', '' FROM system.parts WHERE {of_partition}",
        }
        rows = ask_replica(client, shard_path, replica, selects).rows
        ((is_leader, queue, *_nothing),) = rows["queue"]
        ((merges,),) = client.rows("SELECT count() FROM system.merges")
        names = tuple(name for name, *_nothing in rows["parts"])
        return ReplicaNow(client.label, names, bool(int(is_leader)), int(queue), int(merges))

    def optimize(self, shard_path: str, replica: str, host: str, partition: str) -> str:
        """Have all parts of the partition merged into one, without waiting for it.

        Returns why the server would not do it now, such as parts that are being merged already; else "".
        """
        client = self._client(shard_path, replica, host)
        table = ask_replica(client, shard_path, replica, {})
        name = f"{identifier(table.database)}.{identifier(table.name)}"
        try:
            client.execute(
                f"OPTIMIZE TABLE {name} PARTITION ID {literal(partition)} FINAL",
                replication_alter_partitions_sync=0,
                optimize_throw_if_noop=1,
            )
        except QueryRefused as error:
            if error.code != _NOT_ASSIGNED:
                raise
            return error.text
        return ""
