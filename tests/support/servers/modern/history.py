# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables with a history: what a modern server writes into ZooKeeper of every kind there is."""

from __future__ import annotations

from typing import NamedTuple

from support.servers.modern.server import ModernServer, ModernShard

UPDATE = "enable_lightweight_update"
"""The setting of updates that write patch parts."""
STATISTICS = "allow_experimental_statistics"
"""The setting without which some versions refuse statistics of columns."""

_KEEP = "SETTINGS min_replicated_logs_to_keep = 100000, finished_mutations_to_keep = 1000"
_PATCHES = ("enable_block_number_column", "enable_block_offset_column")
"""Settings of tables that patches need; the oldest versions have neither."""
_COLUMNS = "day Date, id UInt32, v UInt32"
_BY_DAY = "PARTITION BY toYYYYMMDD(day) ORDER BY id"


class Tables(NamedTuple):
    """Names of the tables; each is at the path ``<base>/<name>``.

    changed: rows and partitions came, changed and went in every way.
    altered: had every kind of ALTER of its definition.
    other: got partitions of `changed`, with patches of some rows where the version has patches.
    cold: got one too, and is in the auxiliary ensemble ``cold``.
    """

    changed: str = "changed"
    altered: str = "altered"
    other: str = "other"
    cold: str = "cold"


def tables_with_a_history(shard: ModernShard, base: str) -> Tables:
    """Make the tables on both servers below a path of their own; they are in the database `default`.

    Entries of logs and mutations stay. At the end r2 has entries in its queues that it does not carry out.
    """
    tables = Tables()
    first, second = shard.servers
    keep = ", ".join([_KEEP, *(f"{each} = 1" for each in _PATCHES if first.knows(each))])
    for name in (tables.changed, tables.other):
        _create(shard, f"{base}/{name}", f"{_COLUMNS}, s String", _BY_DAY, keep)
    _create(shard, f"cold:{base}/{tables.cold}", f"{_COLUMNS}, s String", _BY_DAY, keep)
    # To older versions a TTL that ends after 2105 has ended long ago.
    _create(
        shard,
        f"{base}/{tables.altered}",
        f"{_COLUMNS}, s String, t String TTL day + INTERVAL 70 YEAR, INDEX i v TYPE minmax GRANULARITY 1,"
        " PROJECTION p (SELECT id, v ORDER BY v), CONSTRAINT c CHECK id < 1000000",
        "PARTITION BY (toYear(day), s) ORDER BY (id, v) PRIMARY KEY id SAMPLE BY id"
        " TTL day + INTERVAL 60 YEAR",
        f"{_KEEP}, assign_part_uuids = 1",
    )
    _insert(first, second, tables)
    shard.execute(f"SYSTEM SYNC REPLICA {tables.changed}")
    shard.execute(f"SYSTEM SYNC REPLICA {tables.altered}")
    _change_rows(first, tables.changed)
    _alter(first, tables.altered)
    _exchange(first, tables)
    # A patch of each partition stays: nothing is merged or mutated there any more.
    _update_in_place(first, tables.other)
    second.execute(f"SYSTEM STOP REPLICATION QUEUES {tables.changed}")
    first.execute(f"INSERT INTO {tables.changed} VALUES ('2024-01-09', 1, 1, 'x')")
    first.execute(f"ALTER TABLE {tables.changed} UPDATE v = 1 WHERE 1", mutations_sync=1)
    return tables


def _create(shard: ModernShard, path: str, columns: str, clauses: str, settings: str) -> None:
    name = path.rpartition("/")[2]
    shard.execute(
        f"CREATE TABLE {name} ({columns}) ENGINE = ReplicatedMergeTree('{path}', '{{replica}}')"
        f" {clauses} {settings}"
    )


def _insert(first: ModernServer, second: ModernServer, tables: Tables) -> None:
    changed = f"INSERT INTO {tables.changed}"
    for day in ("2024-01-01", "2024-01-02", "2024-01-03"):
        for number, server in enumerate((first, second, first)):
            server.execute(f"{changed} VALUES ('{day}', {number}, {number}, 'x')")
    first.execute(f"{changed} VALUES ('2024-01-05', 1, 1, 'x')", insert_quorum=2)
    first.execute(f"{changed} VALUES ('2024-01-05', 2, 1, 'x')", insert_quorum=2, insert_quorum_parallel=0)
    first.execute(f"{changed} VALUES ('2024-01-06', 2, 1, 'x')", async_insert=1, wait_for_async_insert=1)
    first.execute(f"{changed} SELECT '2024-01-06', 5, 1, 'y'", insert_deduplication_token="token")
    first.execute(
        f"INSERT INTO {tables.altered} VALUES ('2024-01-01', 1, 1, 'x', ''), ('2025-01-01', 2, 2, 'y', '')"
    )


def _change_rows(server: ModernServer, table: str) -> None:
    block_number = ", _block_number" if server.knows(_PATCHES[0]) else ""
    for clauses in (
        "PARTITION ID '20240101' FINAL",
        "PARTITION ID '20240102' FINAL DEDUPLICATE",
        f"PARTITION ID '20240105' FINAL DEDUPLICATE BY id, day{block_number}",
    ):
        server.execute(f"OPTIMIZE TABLE {table} {clauses}", alter_sync=2)
    for command in (
        "UPDATE v = v + 1 WHERE 1",
        "UPDATE v = v + 1 IN PARTITION ID '20240101' WHERE id = 2",
        "DELETE WHERE id = 0",
    ):
        server.execute(f"ALTER TABLE {table} {command}", mutations_sync=2)
    server.execute(f"DELETE FROM {table} WHERE id = 1", **_deleting(server))
    _update_in_place(server, table)
    server.execute(f"OPTIMIZE TABLE {table} PARTITION ID '20240106' FINAL", alter_sync=2)
    if server.is_at_least(24, 5):
        server.execute(f"ALTER TABLE {table} APPLY DELETED MASK", mutations_sync=2)


def _deleting(server: ModernServer) -> dict[str, int]:
    """Settings with which a lightweight DELETE is allowed and waited for."""
    experimental = "allow_experimental_lightweight_delete"
    waits = "lightweight_deletes_sync" if server.knows("lightweight_deletes_sync") else "mutations_sync"
    return {waits: 2, **({} if server.is_at_least(23, 6) else {experimental: 1})}


def _update_in_place(server: ModernServer, table: str) -> None:
    """Make a patch part of each partition, where the version has such updates."""
    if server.knows(UPDATE):
        server.execute(f"UPDATE {table} SET v = 100 WHERE id = 2", **{UPDATE: 1})


def _alter(server: ModernServer, table: str) -> None:
    for command in (
        "ADD COLUMN n UInt64 DEFAULT 7",
        "MATERIALIZE COLUMN n",
        "MODIFY COLUMN n String",
        "RENAME COLUMN n TO m",
        "CLEAR INDEX i",
        "MATERIALIZE INDEX i",
        "DROP PROJECTION p",
        "ADD PROJECTION q (SELECT count() GROUP BY v)",
        "MATERIALIZE PROJECTION q",
        "DROP COLUMN m",
        "MODIFY COMMENT 'text'",
        "MODIFY COLUMN v UInt32 CODEC(ZSTD(3))",
        "MODIFY COLUMN v UInt32 COMMENT 'TTL'",
        "MATERIALIZE TTL",
    ):
        server.execute(f"ALTER TABLE {table} {command}", alter_sync=2, mutations_sync=2)
    experimental = {STATISTICS: 1} if server.knows(STATISTICS) else {}
    # Versions before 24.8 write them in another way.
    statistics = ("ADD STATISTICS v TYPE tdigest", "MATERIALIZE STATISTICS v")
    for command in statistics if server.is_at_least(24, 8) else ():
        server.execute(f"ALTER TABLE {table} {command}", alter_sync=2, mutations_sync=2, **experimental)
    server.execute(f"OPTIMIZE TABLE {table} FINAL", alter_sync=2)


def _exchange(server: ModernServer, tables: Tables) -> None:
    changed, other = tables.changed, tables.other
    for statement in (
        f"ALTER TABLE {other} ATTACH PARTITION ID '20240101' FROM {changed}",
        f"ALTER TABLE {other} REPLACE PARTITION ID '20240101' FROM {changed}",
        f"ALTER TABLE {tables.cold} ATTACH PARTITION ID '20240102' FROM {changed}",
        f"ALTER TABLE {changed} MOVE PARTITION ID '20240103' TO TABLE {other}",
        f"ALTER TABLE {changed} DETACH PARTITION ID '20240102'",
        f"ALTER TABLE {changed} ATTACH PARTITION ID '20240102'",
        f"ALTER TABLE {changed} DROP PARTITION ID '20240105'",
    ):
        server.execute(statement, alter_sync=2)
    for part in server.parts(changed):
        if part.startswith("20240102"):
            server.execute(f"ALTER TABLE {changed} DETACH PART '{part}'", alter_sync=2)
            server.execute(f"ALTER TABLE {changed} ATTACH PART '{part}'", alter_sync=2)
        if part.startswith("20240106"):
            server.execute(f"ALTER TABLE {changed} DROP PART '{part}'", alter_sync=2)
