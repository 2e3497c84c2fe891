# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the server of a replica has on disk, asked by SQL: for gates, and for audits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from .._partmove.audit.evidence import DiskParts
from .._partmove.errors import PartMoveError
from .._partmove.formats.znode_text import ZnodeText
from .._partmove.tree.ports import ActivePart
from .client import ClickHouseClient, literal
from .options import ClickHouseOptions


class _Abilities(NamedTuple):
    """What the version of a server can tell."""

    part_hashes: bool
    detached_parts: bool


class _Table(NamedTuple):
    """A table on one server."""

    client: ClickHouseClient
    database: str
    name: str

    @property
    def condition(self) -> str:
        """The table in a WHERE clause on ``system.parts`` and its like."""
        return f"database = {literal(self.database)} AND table = {literal(self.name)}"


_FEW = 1_000
"""Of partitions that are named in a query, which servers limit in its length."""


class HttpReplicaProbe:
    """Implements ReplicaProbe and Disks over the HTTP interface."""

    def __init__(self, options: ClickHouseOptions) -> None:
        self._options = options
        self._abilities: dict[str, _Abilities] = {}

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """The active parts of each partition id asked for; an empty tuple where it has none.

        ``host`` is the data of the replica's ``host`` znode. Raises PartMoveError: the server cannot be
        asked, has not exactly one such replica, or its session with ZooKeeper is gone.
        """
        table = self._table(shard_path, replica, host)
        found: dict[str, list[ActivePart]] = {each: [] for each in partitions}
        for partition_id, part in self._active(table, partitions):
            if partition_id in found:
                found[partition_id].append(part)
        return {each: tuple(parts) for each, parts in found.items()}

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """All that the replica has on disk now, also while its table has no session with ZooKeeper.

        ``host`` as in `active_parts`. Raises PartMoveError: the server cannot be asked, or has not exactly
        one such replica.
        """
        table = self._table(shard_path, replica, host, with_session=False)
        active = {part.name: part.hash_of_all_files for _partition, part in self._active(table)}
        return DiskParts(active, self._detached(table))

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        """Names in the replica's ``detached`` folder; None from a server without system.detached_parts.

        Raises as `active_parts` does.
        """
        return self._detached(self._table(shard_path, replica, host))

    def _active(
        self, table: _Table, partitions: Collection[str] | None = None
    ) -> Iterator[tuple[str, ActivePart]]:
        """Partition id and part, sorted by name, of all partitions or at least of these."""
        only = ""
        if partitions and len(partitions) <= _FEW:
            only = f" AND partition_id IN ({', '.join(literal(each) for each in sorted(partitions))})"
        hashes = self._abilities_of(table.client).part_hashes
        rows = table.client.rows(
            f"SELECT partition_id, name, rows, {'hash_of_all_files' if hashes else 'NULL'}"
            f" FROM system.parts WHERE active AND {table.condition}{only} ORDER BY name"
        )
        for partition_id, name, count, digest in rows:
            yield partition_id, ActivePart(name, int(count), digest.lower() if digest else None)

    def _detached(self, table: _Table) -> frozenset[str] | None:
        if not self._abilities_of(table.client).detached_parts:
            return None
        rows = table.client.rows(f"SELECT name FROM system.detached_parts WHERE {table.condition}")
        return frozenset(name for (name,) in rows)

    def _table(self, shard_path: str, replica: str, host: str, *, with_session: bool = True) -> _Table:
        """The replica's table, by the only name its server knows it by."""
        client = self._client(shard_path, replica, host)
        where = f"zookeeper_path = {literal(shard_path)} AND replica_name = {literal(replica)}"
        rows = client.rows(
            f"SELECT database, table, is_readonly, is_session_expired FROM system.replicas WHERE {where}"
        )
        if len(rows) != 1:
            raise PartMoveError(
                f"{client.label} has {len(rows)} tables that are replica {replica} of {shard_path}",
                remedy="See that it is the server of the replica, if not name that one in endpoints, and that"
                " the chroot of hot is the <root> that the server has for ZooKeeper",
            )
        database, name, is_readonly, is_session_expired = rows[0]
        if with_session and (int(is_readonly) or int(is_session_expired)):
            raise PartMoveError(
                f"{client.label} has the table {database}.{name} without a session with ZooKeeper",
                remedy="Wait until system.replicas no longer says is_readonly for it, and run again",
            )
        return _Table(client, database, name)

    def _client(self, shard_path: str, replica: str, host: str) -> ClickHouseClient:
        given = self._options.endpoint_of(replica)
        if given is None:
            text = ZnodeText(host.encode(), f"{shard_path}/replicas/{replica}/host")
            given = text.field("host: "), self._options.port
        return ClickHouseClient(*given, self._options)

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
