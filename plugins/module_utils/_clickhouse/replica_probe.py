# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the server of a replica has on disk, asked by SQL: for gates, and for audits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from .._partmove.formats.sql import literal
from .._partmove.gates.probe import ActivePart
from .._partmove.patched.audit.evidence import DiskParts
from .client import ClickHouseClient
from .options import ClickHouseOptions
from .replica_table import ReplicaClients, Rows, ask_replica


class _Abilities(NamedTuple):
    """What the version of a server can tell."""

    part_hashes: bool
    detached_parts: bool


_PARTS, _DETACHED = "parts", "detached"
"""What the rows of an answer are about, besides the table itself."""

_FEW = 1_000
"""Of partitions that are named in a query, which servers limit in its length."""


class HttpReplicaProbe:
    """Implements ReplicaProbe and Disks over the HTTP interface."""

    def __init__(self, options: ClickHouseOptions) -> None:
        self._clients = ReplicaClients(options)
        self._abilities: dict[str, _Abilities] = {}

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """The active parts of each partition id asked for; an empty tuple where it has none.

        ``host`` is the data of the replica's ``host`` znode. Raises PartMoveError: the server cannot be
        asked, has not exactly one such replica, or its session with ZooKeeper is gone.
        """
        client = self._client(shard_path, replica, host)
        selected = self._parts_of(client) + _only(partitions)
        rows = ask_replica(client, shard_path, replica, {_PARTS: selected}).rows
        found: dict[str, list[ActivePart]] = {each: [] for each in partitions}
        for partition_id, name, count, digest in rows[_PARTS]:
            if partition_id in found:
                found[partition_id].append(ActivePart(name, int(count), digest.lower() or None))
        return {each: tuple(parts) for each, parts in found.items()}

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """All that the replica has on disk now, also while its table has no session with ZooKeeper.

        ``host`` as in `active_parts`. Raises PartMoveError: the server cannot be asked, or has not exactly
        one such replica.
        """
        client = self._client(shard_path, replica, host)
        selects = {_PARTS: self._parts_of(client), **self._detached_of(client)}
        rows = ask_replica(client, shard_path, replica, selects, with_session=False).rows
        active = {name: digest.lower() or None for _partition, name, _rows, digest in rows[_PARTS]}
        return DiskParts(active, _names(rows))

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        """Names in the replica's ``detached`` folder; None from a server without system.detached_parts.

        Raises as `active_parts` does.
        """
        client = self._client(shard_path, replica, host)
        return _names(ask_replica(client, shard_path, replica, self._detached_of(client)).rows)

    def _parts_of(self, client: ClickHouseClient) -> str:
        """What selects active parts, up to the condition that names the table."""
        digest = "hash_of_all_files" if self._abilities_of(client).part_hashes else "''"
        return f"partition_id, name, toString(rows), {digest} FROM system.parts WHERE active"

    def _detached_of(self, client: ClickHouseClient) -> dict[str, str]:
        """What selects detached parts, as `_parts_of`; nothing where the server does not tell them."""
        if not self._abilities_of(client).detached_parts:
            return {}
        return {_DETACHED: "name, '', '', '' FROM system.detached_parts WHERE 1"}

    def _client(self, shard_path: str, replica: str, host: str) -> ClickHouseClient:
        return self._clients.of(shard_path, replica, host)

    def _abilities_of(self, client: ClickHouseClient) -> _Abilities:
        known = self._abilities.get(client.label)
        if known is None:
            rows = client.rows(
                "SELECT table, name FROM system.columns WHERE database = 'system' AND name IN"
                " ('hash_of_all_files', 'name') AND table IN ('parts', 'detached_parts')"
            )
            known = _Abilities(
                part_hashes=["parts", "hash_of_all_files"] in rows,
                detached_parts=["detached_parts", "name"] in rows,
            )
            self._abilities[client.label] = known
        return known


def _only(partitions: Collection[str]) -> str:
    """The condition that keeps rows of other partitions away, most of them where these are many."""
    if not partitions:
        return ""
    if len(partitions) > _FEW:
        return f" AND partition_id BETWEEN {literal(min(partitions))} AND {literal(max(partitions))}"
    return f" AND partition_id IN ({', '.join(literal(each) for each in sorted(partitions))})"


def _names(rows: Rows) -> frozenset[str] | None:
    return frozenset(row[0] for row in rows[_DETACHED]) if _DETACHED in rows else None
