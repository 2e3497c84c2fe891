# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the marks of both tables of a replica: values that change with their structure and their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

from .._partmove.errors import PartMoveError
from .._partmove.formats.names import PATCH_PREFIX
from .._partmove.formats.sql import is_one_of
from .._partmove.twin.move.gates import shared_definition
from .._partmove.twin.move.tables import PairMarks, Side, TableMarks, TwinTables
from .client import ClickHouseClient
from .table_definition import definition_of
from .twin_activity import partition_of
from .twin_sql import pair_condition

_HARMLESS = ("GET_PART", "ATTACH_PART", "MERGE_PARTS", "REPLACE_RANGE")
"""Queue entries that the names of parts show in time: fetches, merges, and clones of an ATTACH."""


def read_marks(client: ClickHouseClient, tables: TwinTables, partition_ids: Sequence[str]) -> PairMarks:
    """Implement `TwinServers.marks` for the server of one replica."""
    structure = _structures(client, tables)
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    queued: dict[str, list[str]] = defaultdict(list)
    for kind, table, text, part in client.rows(_query(tables)):
        if kind != "queue":
            found[kind, table].append(text)
            continue
        partition_id = partition_of(part)
        if not partition_id or partition_id in partition_ids:
            queued[partition_id].append(f"the queue of {table} has {text} {part}".rstrip())
    hot, cold = (
        TableMarks(
            structure[name],
            max(found["mutation", name], default=""),
            tuple(sorted(found["patch", name])),
            max(map(int, found["log", name]), default=-1),
        )
        for name in (tables.on(side).name for side in Side)
    )
    return PairMarks(hot, cold, {each: sorted(reasons) for each, reasons in queued.items()})


def _query(tables: TwinTables) -> str:
    """Return one query for all marks but the structure: kind, table, text and name of a part."""
    names = pair_condition(tables)
    return (
        "SELECT 'mutation', table, max(mutation_id), '' FROM system.mutations"
        f" WHERE {names} GROUP BY table"
        " UNION ALL SELECT 'patch', table, name, '' FROM system.parts"
        f" WHERE active AND {names} AND partition_id LIKE '{PATCH_PREFIX}%'"
        " UNION ALL SELECT 'queue', table, type, new_part_name FROM system.replication_queue"
        f" WHERE {names} AND NOT ({is_one_of('type', _HARMLESS)})"
        f" UNION ALL SELECT 'log', table, toString(log_max_index), '' FROM system.replicas WHERE {names}"
    )


def _structures(client: ClickHouseClient, tables: TwinTables) -> dict[str, str]:
    rows = client.rows(
        f"SELECT name, engine_full, create_table_query FROM system.tables WHERE {_names(tables)}"
    )
    database = tables.hot.database
    found = {name: definition_of(engine, create, f"{database}.{name}") for name, engine, create in rows}
    for side in Side:
        if tables.on(side).name not in found:
            raise PartMoveError(
                f"{client.label} no longer has the table {tables.on(side)}",
                remedy="Find out who dropped, detached or renamed it, and run again",
            )
    # Replicas may have storage policies of their own, and these marks are compared with those of others.
    return {name: sha256(shared_definition(text).encode()).hexdigest()[:32] for name, text in found.items()}


def _names(tables: TwinTables) -> str:
    return pair_condition(tables).replace(" table IN ", " name IN ")
