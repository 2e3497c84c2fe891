# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merges partitions on the servers of replicas, by SQL."""

from __future__ import annotations

from typing import NamedTuple

from .._partmove.formats.sql import identifier, literal
from .client import QueryRefused
from .options import ClickHouseOptions
from .replica_probe import HttpReplicaProbe
from .replica_table import query_replica
from .sent_settings import EVERY_REPLICA, THROW_IF_NOOP, KnownSettings

_NOT_ASSIGNED = 388
"""Error code of an OPTIMIZE that found nothing to do at this moment."""


class PartitionOnReplica(NamedTuple):
    """The state of a partition on a replica, and the load of the replica."""

    server: str
    """Name of the server, for people."""
    parts: tuple[str, ...]
    """Names of the active parts of the partition, sorted."""
    is_leader: bool
    queue: int
    """Number of entries in the replication queue of the table."""
    merges: int
    """Number of merges in progress on the server, of all tables."""


class HttpMergeServers(HttpReplicaProbe):
    """Queries and merges over the HTTP interface. Raises PartMoveError as its base class does."""

    def __init__(self, options: ClickHouseOptions) -> None:
        super().__init__(options)
        self._settings = KnownSettings()

    def server(self, shard_path: str, replica: str, host: str) -> str:
        """Return the name of the replica's server, one for all its tables; ``host`` as in `read_state`."""
        return self._client(shard_path, replica, host).label

    def read_state(self, shard_path: str, replica: str, host: str, partition: str) -> PartitionOnReplica:
        """Return the current state. ``host``: data of the replica's ``host`` znode."""
        client = self._client(shard_path, replica, host)
        of_partition = f"active AND partition_id = {literal(partition)}"
        parts = {"parts": f"name, '', '', '' FROM system.parts WHERE {of_partition}"}
        load = {"queue": "toString(is_leader), toString(queue_size), '', ''"}
        rows = query_replica(client, shard_path, replica, parts, own=load).rows
        ((is_leader, queue, *_empty),) = rows["queue"]
        ((merges,),) = client.rows("SELECT count() FROM system.merges")
        names = tuple(name for name, *_empty in rows["parts"])
        return PartitionOnReplica(client.label, names, bool(int(is_leader)), int(queue), int(merges))

    def optimize(self, shard_path: str, replica: str, host: str, partition: str) -> str:
        """Start merging all parts of the partition into one, without waiting for the merge.

        Returns "", or why the server does not start it now, for example because a merge is in progress.
        """
        client = self._client(shard_path, replica, host)
        table = query_replica(client, shard_path, replica, {})
        name = f"{identifier(table.database)}.{identifier(table.name)}"
        name_of = self._settings.name_of
        settings = {name_of(client, EVERY_REPLICA): 0, name_of(client, THROW_IF_NOOP): 1}
        try:
            client.execute(f"OPTIMIZE TABLE {name} PARTITION ID {literal(partition)} FINAL", **settings)
        except QueryRefused as error:
            if error.code != _NOT_ASSIGNED:
                raise
            return error.text
        return ""
