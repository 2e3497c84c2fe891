# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the parts that a replica has on disk from its server, by SQL, for gates and audits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from .._partmove.formats.sql import literal
from .._partmove.gates.probe import ActivePart
from .._partmove.patched.audit.evidence import DiskParts, ServerTable
from .client import ClickHouseClient
from .options import ClickHouseOptions
from .replica_table import ReplicaClients, Rows, query_replica
from .system_tables import columns_of


class _Abilities(NamedTuple):
    """The columns and tables that the version of a server has."""

    part_hashes: bool
    detached_parts: bool


_PARTS, _DETACHED = "parts", "detached"
"""Keys of the rows of an answer; the key "" stands for the table itself."""

_MOST_LISTED = 1_000
"""The largest number of partitions that a query lists: servers limit the length of a query."""


class HttpReplicaProbe:
    """Implements ReplicaProbe and Disks over the HTTP interface."""

    def __init__(self, options: ClickHouseOptions) -> None:
        self._clients = ReplicaClients(options)
        self._abilities: dict[str, _Abilities] = {}

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """Map each requested partition id to its active parts; an empty tuple without any.

        host: data of the replica's ``host`` znode.

        Raises PartMoveError if the server cannot be queried, does not have exactly one such replica, or has
        no session with ZooKeeper.
        """
        client = self._client(shard_path, replica, host)
        selected = self._parts_of(client) + _partition_condition(partitions)
        rows = query_replica(client, shard_path, replica, {_PARTS: selected}).rows
        found: dict[str, list[ActivePart]] = {each: [] for each in partitions}
        for partition_id, name, count, digest in rows[_PARTS]:
            if partition_id in found:
                found[partition_id].append(ActivePart(name, int(count), digest.lower() or None))
        return {each: tuple(parts) for each, parts in found.items()}

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """Return all parts that the replica has on disk, also while its table has no session with ZooKeeper.

        ``host`` as in `active_parts`. Raises PartMoveError if the server cannot be queried, or does not have
        exactly one such replica.
        """
        client = self._client(shard_path, replica, host)
        selects = {_PARTS: self._parts_of(client), **self._detached_of(client)}
        table = query_replica(client, shard_path, replica, selects, with_session=False)
        active = {name: digest.lower() or None for _partition, name, _rows, digest in table.rows[_PARTS]}
        place = ServerTable(client.label, table.database, table.name)
        return DiskParts(active, _names(table.rows), place)

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        """Return the names in the replica's ``detached`` folder; None without system.detached_parts.

        Raises as `active_parts` does.
        """
        client = self._client(shard_path, replica, host)
        return _names(query_replica(client, shard_path, replica, self._detached_of(client)).rows)

    def _parts_of(self, client: ClickHouseClient) -> str:
        """Return the SELECT of active parts, up to the condition on the table."""
        digest = "hash_of_all_files" if self._abilities_of(client).part_hashes else "''"
        return f"partition_id, name, toString(rows), {digest} FROM system.parts WHERE active"

    def _detached_of(self, client: ClickHouseClient) -> dict[str, str]:
        """Return the SELECT of detached parts, as in `_parts_of`; {} if the version has no such table."""
        if not self._abilities_of(client).detached_parts:
            return {}
        return {_DETACHED: "name, '', '', '' FROM system.detached_parts WHERE 1"}

    def _client(self, shard_path: str, replica: str, host: str) -> ClickHouseClient:
        return self._clients.of(shard_path, replica, host)

    def _abilities_of(self, client: ClickHouseClient) -> _Abilities:
        known = self._abilities.get(client.label)
        if known is None:
            known = _Abilities(
                part_hashes="hash_of_all_files" in columns_of(client, "parts"),
                detached_parts=bool(columns_of(client, "detached_parts")),
            )
            self._abilities[client.label] = known
        return known


def _partition_condition(partitions: Collection[str]) -> str:
    """Return a condition on the partitions; for many partitions a range, which excludes most other rows."""
    if not partitions:
        return ""
    if len(partitions) > _MOST_LISTED:
        return f" AND partition_id BETWEEN {literal(min(partitions))} AND {literal(max(partitions))}"
    return f" AND partition_id IN ({', '.join(literal(each) for each in sorted(partitions))})"


def _names(rows: Rows) -> frozenset[str] | None:
    return frozenset(row[0] for row in rows[_DETACHED]) if _DETACHED in rows else None
