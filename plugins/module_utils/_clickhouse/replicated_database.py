# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Databases of the engine Replicated, where one CREATE creates a table on every replica of every shard.

The path and the replica in the engine are the same text everywhere. So they need macros, and the twin has
the macros of its table. A server reads ``{uuid}``, ``{database}`` and ``{table}`` as those of the twin; their
values for the table are written instead.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import literal
from .._partmove.twin.move.tables import TwinTable
from .._partmove.twin.table.pair import REPLICATED
from .client import ClickHouseClient
from .table_definition import path_and_replica

ALLOW_PATH = "database_replicated_allow_replicated_engine_arguments"
"""The setting with which a CREATE in such a database may name a path. Off by default in newer versions."""
IF_MISSING = "CREATE TABLE IF NOT EXISTS"
"""How a CREATE begins that another replica may have carried out."""

_MACRO = re.compile(r"\{(\w+)\}")


class SharedPath(NamedTuple):
    """The path and the replica of a table as all replicas have them, with macros."""

    path: str
    replica: str


def shared_path(client: ClickHouseClient, table: TwinTable, engine_full: str) -> SharedPath | None:
    """Return the path of a table in a database of the engine Replicated; None in other databases.

    Raises PartMoveError if the macros do not give the path and the replica of this server.
    """
    ((engine,),) = client.rows(f"SELECT engine FROM system.databases WHERE name = {literal(table.database)}")
    if engine != REPLICATED:
        return None
    ((uuid,),) = client.rows(
        "SELECT toString(uuid) FROM system.tables"
        f" WHERE database = {literal(table.database)} AND name = {literal(table.name)}"
    )
    path, replica = path_and_replica(engine_full, str(table))
    known = {"uuid": str(uuid), "database": table.database, "table": table.name}
    found = SharedPath(*(_MACRO.sub(lambda m: known.get(m[1], m[0]), each) for each in (path, replica)))
    if not _gives(found, table):
        raise PartMoveError(
            f"{client.label}: the engine of {table} has the path {path} and the replica {replica}, which do"
            f" not give {table.path} and {table.replica}",
            remedy=f"Create the twin by hand, with {ALLOW_PATH} = 1, and run again",
        )
    return found


def creation_settings(client: ClickHouseClient) -> dict[str, int]:
    """Return the settings of a CREATE with a path; {} for a version that always allows a path."""
    known = client.rows(f"SELECT name FROM system.settings WHERE name = {literal(ALLOW_PATH)}")
    return {ALLOW_PATH: 1} if known else {}


def _gives(shared: SharedPath, table: TwinTable) -> bool:
    """Whether some values of the macros give the path and the replica of the table, each macro one value."""
    pattern, names = "", set()
    for index, text in enumerate(_MACRO.split("\0".join(shared))):
        if index % 2 == 0:
            pattern += re.escape(text)
        else:
            pattern += f"(?P={text})" if text in names else f"(?P<{text}>.+)"
            names.add(text)
    return re.fullmatch(pattern, f"{table.path}\0{table.replica}", re.DOTALL) is not None
