# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the activity in the two tables of a replica that a move must not meet."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from .._partmove.errors import FormatError
from .._partmove.formats.names import FORMAT_VERSIONS, PATCH_PREFIX, partition_id_of
from .._partmove.formats.sql import is_one_of
from .._partmove.text import shortened
from .._partmove.twin.move.tables import ActivityInProgress, TwinTables
from .client import ClickHouseClient
from .system_tables import columns_of
from .twin_sql import begins_with, pair_condition

_NOT_WRITABLE = {
    "is_read_only": "read only",
    "is_write_once": "one that is written to once",
    "is_broken": "broken",
}
"""Column of system.disks → what the disk is if the column is true."""
_COPY = "always_use_copy_instead_of_hardlinks"
_ZERO_COPY = ("allow_remote_fs_zero_copy_replication", "allow_s3_zero_copy_replication")
"""The setting for zero-copy replication, by all its names."""


def read_activity(
    client: ClickHouseClient, tables: TwinTables, partition_ids: Sequence[str], *, with_detached: bool = True
) -> ActivityInProgress:
    """Implement `TwinServers.activity` for the server of one replica.

    with_detached: whether detached parts count as activity.
    """
    names = pair_condition(tables)
    of_table = [*_unfinished_changes(client, names), *statements_in_progress(client, tables)]
    of_partition: dict[str, list[str]] = defaultdict(list)
    for table, partition_id, name in _detached(client, names, partition_ids) if with_detached else ():
        of_partition[partition_id].append(f"{table} has {name} in its detached folder")
    for table, partition_id in client.rows(
        f"SELECT table, partition_id FROM system.merges WHERE {names}"
        f" AND {is_one_of('partition_id', partition_ids)}"
    ):
        of_partition[partition_id].append(f"parts of {table} are being merged")
    for table, kind, part in client.rows(
        f"SELECT table, type, new_part_name FROM system.replication_queue WHERE {names}"
    ):
        _add_queued(f"the queue of {table} has {kind} {part}", part, partition_ids, of_table, of_partition)
    for table, part, disk in _moves(client, names) if columns_of(client, "moves") else ():
        _add_queued(
            f"{part} of {table} moves to the disk {disk}", part, partition_ids, of_table, of_partition
        )
    disks = client.rows("SELECT name, toString(free_space) FROM system.disks")
    ((now,),) = client.rows("SELECT toString(toUnixTimestamp(now()))")
    free = {disk: int(size) for disk, size in disks}
    return ActivityInProgress(
        sorted(of_table),
        {each: sorted(of_partition[each]) for each in partition_ids},
        free,
        float(now),
        {**_not_writable(client, columns_of(client, "disks")), **_copy_reason(client, tables)},
        _shared(client, tables),
    )


def _detached(client: ClickHouseClient, names: str, partition_ids: Sequence[str]) -> list[list[str]]:
    """Return parts that a person detached: table, partition id, and name.

    Parts with a reason were detached by the server, for example after a SIGKILL, under names that cannot be
    attached.
    """
    return client.rows(
        "SELECT table, partition_id, name FROM system.detached_parts"
        f" WHERE {names} AND {is_one_of('partition_id', partition_ids)} AND reason = ''"
    )


def _moves(client: ClickHouseClient, names: str) -> list[list[str]]:
    """Return parts on the move between disks: table, name of the part, and disk."""
    return client.rows(f"SELECT table, part_name, target_disk_name FROM system.moves WHERE {names}")


def _not_writable(client: ClickHouseClient, columns: Collection[str]) -> dict[str, str]:
    """Map each disk to the reason why no hard link can be made on it."""
    signs = [each for each in _NOT_WRITABLE if each in columns]
    shown = ", ".join(["name", *(f"toString({each})" for each in signs)])
    found = {}
    for disk, *values in client.rows(f"SELECT {shown} FROM system.disks"):
        for sign, value in zip(signs, values):
            if value not in ("0", "false"):
                found[disk] = f"the disk {disk!r} is {_NOT_WRITABLE[sign]}"
    return found


def _copy_reason(client: ClickHouseClient, tables: TwinTables) -> dict[str, str]:
    """Return why an ATTACH would copy the data on every disk, as {"": reason}; {} if it would not."""
    is_on = _settings_on(client, tables, (_COPY,))
    return {"": f"the setting {_COPY} is on for {tables.hot}"} if is_on else {}


def _shared(client: ClickHouseClient, tables: TwinTables) -> dict[str, str]:
    """Map each disk on which replicas share parts to the reason.

    A server decides by the disk whether it shares a part. Every disk counts that is not of the type local.
    """
    on = _settings_on(client, tables, _ZERO_COPY)
    disks = client.rows("SELECT name, type FROM system.disks WHERE lower(type) != 'local'") if on else ()
    return {
        name: f"the setting {on[0]} is on for {tables.hot}, and the disk {name!r} is of the type {kind}"
        for name, kind in disks
    }


def _settings_on(client: ClickHouseClient, tables: TwinTables, names: Sequence[str]) -> list[str]:
    """Return which of the settings are on for the table: by its definition, or else by the server."""
    rows = client.rows(f"SELECT name, value FROM system.merge_tree_settings WHERE {is_one_of('name', names)}")
    values: dict[str, str] = {
        **dict(rows),
        **{
            name: match[1]
            for name in names
            for match in re.finditer(rf"\b{name} = (\w+)", tables.hot.definition)
        },
    }
    return [name for name in names if values.get(name, "0") not in ("0", "false")]


def _unfinished_changes(client: ClickHouseClient, names: str) -> list[str]:
    """Return unfinished mutations, and patch parts: updated rows that an ATTACH would not clone."""
    mutations = client.rows(f"SELECT table, mutation_id FROM system.mutations WHERE is_done = 0 AND {names}")
    patches = client.rows(
        f"SELECT table, name FROM system.parts WHERE active AND {names}"
        f" AND partition_id LIKE '{PATCH_PREFIX}%'"
    )
    return [
        *(f"mutation {mutation} of {table} is not done" for table, mutation in mutations),
        *(f"{table} has the patch part {name}; OPTIMIZE … FINAL applies it" for table, name in patches),
    ]


def statements_in_progress(client: ClickHouseClient, tables: TwinTables) -> list[str]:
    """Return statements in progress that alter or rename one of the tables, for example of a killed run."""
    rows = client.rows(
        f"SELECT query FROM system.processes WHERE {begins_with('ALTER', 'EXCHANGE', 'RENAME')}"
    )
    return [
        f"a statement is in progress: {shortened(query)}"
        for (query,) in rows
        if any(names_table(query, table.database, table.name) for table in (tables.hot, tables.cold))
    ]


def names_table(query: str, database: str, name: str) -> bool:
    """Whether a statement contains the name of the table, quoted or not, alone or with its database.

    >>> [names_table(f"ALTER TABLE {each} ADD", "db", "hits") for each in ("hits", "`db`.`hits`", "db.hits")]
    [True, True, True]
    >>> [names_table(f"ALTER TABLE {each} ADD", "db", "hits") for each in ("a.hits", "`a`.`hits`", "hits_b")]
    [False, False, False]
    """
    quote = r"[`\"]?"
    in_database = rf"(?<!\w){quote}{re.escape(database)}{quote}\."
    pattern = rf"(?:(?<![\w.`\"])|{in_database}){quote}{re.escape(name)}(?!\w)"
    return re.search(pattern, query) is not None


def _add_queued(
    reason: str,
    part: str,
    partition_ids: Sequence[str],
    of_table: list[str],
    of_partition: Mapping[str, list[str]],
) -> None:
    """Add a queue entry to the partition of its part, or to the whole table without a partition."""
    matching = [each for each in partition_ids if partition_of(part) == each]
    if not partition_of(part):
        of_table.append(reason)
    for each in matching:
        of_partition[each].append(reason)


def partition_of(part: str) -> str:
    """Return the partition id of the name of a part or of a range of parts; "" for other text."""
    for format_version in FORMAT_VERSIONS[::-1]:
        with suppress(FormatError):
            return partition_id_of(part, format_version, "system.replication_queue")
    return ""
