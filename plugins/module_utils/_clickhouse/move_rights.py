# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verifies, before a whole table is moved, that the user may execute each statement of the move.

Each right is verified by a statement that can never have an effect, whatever the server has.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._partmove.errors import NotPermitted
from .._partmove.formats.sql import identifier
from .client import ClickHouseClient, QueryRefused
from .permission import permitted

_READ = (
    "asynchronous_inserts",
    "detached_parts",
    "disks",
    "merges",
    "merge_tree_settings",
    "metrics",
    "moves",
    "mutations",
    "parts",
    "processes",
    "replication_queue",
)
"""Tables of the database ``system`` that a move reads; a version may lack some of them."""


def require_rights(
    client: ClickHouseClient, database: str, names: Sequence[str], no_part: str, *, stop_merges: bool
) -> None:
    """Raise NotPermitted unless the user may move partitions between the tables and exchange their names.

    names: the table and its twin, which may not exist yet. no_part: a text that names no part.

    - A table cannot be renamed to its own name. The statement needs SELECT, INSERT, CREATE TABLE and DROP
      TABLE, as an exchange of names does, and SELECT and INSERT as an ATTACH PARTITION FROM.
    - DROP PART of no part needs ALTER DELETE.
    - EXPLAIN of a query needs the rights of the query, and reads nothing.
    """
    for name in _READ:
        with suppress(QueryRefused), permitted():
            client.execute(f"EXPLAIN SELECT * FROM system.{name}")
    for name in names:
        table = f"{identifier(database)}.{identifier(name)}"
        for sql in (f"RENAME TABLE {table} TO {table}", f"ALTER TABLE {table} DROP PART '{no_part}'"):
            with suppress(QueryRefused), permitted():
                client.execute(sql)
        if stop_merges:
            _require_merges(client, table)


def _require_merges(client: ClickHouseClient, table: str) -> None:
    """Raise NotPermitted unless the user may stop merges; versions before CHECK GRANT say so only later."""
    with suppress(QueryRefused):
        if client.rows(f"CHECK GRANT SYSTEM MERGES ON {table}") == [[0]]:
            raise NotPermitted(
                f"{client.label}: the user may not stop merges of {table}, as stop_merges demands",
                remedy=f"GRANT SYSTEM MERGES ON {table} to the user, or set stop_merges to false",
            )
