# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Explains why a server shows no table that is a replica which its ensemble registers."""

from __future__ import annotations

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import identifier, literal
from .._partmove.text import first_few
from .client import ClickHouseClient, QueryRefused
from .system_tables import columns_of


def missing_replica(client: ClickHouseClient, shard_path: str, replica: str, found: int) -> PartMoveError:
    """Return the error for a server with ``found`` tables that are the replica, instead of one."""
    message = f"{client.label} has {found} tables that are replica {replica} of {shard_path}"
    if found or not _is_registered(client, shard_path, replica):
        return PartMoveError(
            message,
            remedy="Check that it is the server of the replica, else set endpoints; and check that the chroot"
            " of hot is the <root> that the server has for ZooKeeper",
        )
    detached = _detached(client)
    shown = f"; {first_few(detached)} are DETACHed there" if detached else ""
    table = detached[0] if len(detached) == 1 else "…"
    return PartMoveError(
        f"{message}, although it reads the replica in its ensemble: the table is DETACHed, was dropped"
        f" without its znodes, or is hidden from the user{shown}",
        remedy=f"ATTACH TABLE {table} on that server, or let the user see the table (SHOW TABLES). If the"
        f" server no longer has the table, SYSTEM DROP REPLICA {literal(replica)} FROM ZKPATH"
        f" {literal(shard_path)} on another replica",
    )


def _is_registered(client: ClickHouseClient, shard_path: str, replica: str) -> bool:
    """Whether the ensemble of the server has the replica; False if the user may not read that."""
    try:
        found = client.rows(
            f"SELECT name FROM system.zookeeper WHERE path = {literal(f'{shard_path}/replicas')}"
            f" AND name = {literal(replica)}"
        )
    except QueryRefused:
        return False
    return bool(found)


def _detached(client: ClickHouseClient) -> list[str]:
    """Return the detached tables of the server; none if the version or a right hides them."""
    try:
        if "is_permanently" not in columns_of(client, "detached_tables"):
            return []
        rows = client.rows("SELECT database, table FROM system.detached_tables ORDER BY database, table")
    except QueryRefused:
        return []
    return [f"{identifier(database)}.{identifier(table)}" for database, table in rows]
