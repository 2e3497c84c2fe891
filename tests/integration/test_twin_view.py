# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Readers have a table and its twin by one name on servers of a modern ClickHouse, and what that means."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from support.ansible.twin_runs import NEXT, ModernTables
from support.servers.modern.server import ENGINE, ModernShard
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

COLUMNS = (
    "(day Date, id UInt32, half UInt32 MATERIALIZED intDiv(id, 2), text String ALIAS toString(id),"
    " number UInt8 DEFAULT 3, INDEX by_id id TYPE minmax GRANULARITY 1,"
    " PROJECTION sums (SELECT day, sum(id) GROUP BY day))"
)


class Place(ModernTables):
    """A table with rows and its twin with others, on two replicas."""

    def __init__(
        self, shard: ModernShard, hot: Ensemble, base: str, twin: str = "hits_cold", engine: str = "Atomic"
    ) -> None:
        super().__init__(shard, hot, base)
        self.database = f"d_{uuid.uuid4().hex[:8]}"
        self.path = self.shard_path("hits")
        old = {"allow_deprecated_database_ordinary": 1} if engine == "Ordinary" else {}
        shard.execute(f"CREATE DATABASE {self.database} ENGINE = {engine}", **old)
        for name, path in (("hits", f"{base}/{{shard}}/hits"), (twin, f"cold:{base}/{{shard}}/hits_cold")):
            shard.execute(
                f"CREATE TABLE {self.table(name)} {COLUMNS} ENGINE = ReplicatedReplacingMergeTree('{path}',"
                " '{replica}') PARTITION BY toYYYYMMDD(day) ORDER BY id"
                f"{self.projection_settings}"
            )
        self.insert_into(self.table("hits"), 2, day=NEXT)
        self.insert_into(self.table(twin), 1)

    def table(self, name: str) -> str:
        return f"{self.database}.{name}"

    def call(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What the module answers."""
        return self.answer("twin_view", check=check, **{"shard_paths": [self.path], **options})

    def move_all(self, **options: Any) -> dict[str, Any]:
        """What the module for partitions answers."""
        return self.move(shard_paths=[self.path], **options)

    def seen(self, name: str) -> list[list[int]]:
        """What each replica shows by a name."""
        return self.ids(self.table(name))


@pytest.fixture
def beside(modern: ModernShard, hot: Ensemble, base: str) -> Place:
    return Place(modern, hot, base)


def test_a_table_beside_reads_both_and_follows_their_columns(beside: Place) -> None:
    first, second = beside.shard.servers
    checked = beside.call(check=True)
    assert (checked["changed"], checked["msg"]) == (True, "2 of 2 replicas would be changed"), checked
    done = beside.call()
    assert (done["changed"], done["diff"]) == (True, checked["diff"]), done
    assert not beside.call()["changed"]
    assert beside.seen("hits_all") == [[1, 2], [1, 2]]
    row = f"SELECT id, half, text, number, _table FROM {beside.table('hits_all')} ORDER BY id"
    assert second.query(row) == [(1, 0, "1", 3, "hits_cold"), (2, 1, "2", 3, "hits")]
    # A column that both got is seen once the table was made anew; another replica still lacks its own.
    for name in ("hits", "hits_cold"):
        first.execute(f"ALTER TABLE {beside.table(name)} ADD COLUMN more UInt8 DEFAULT 7", alter_sync=2)
    second.execute(f"DROP TABLE {beside.table('hits_all')}")
    done = beside.call()
    assert [each["statements"][0].split(beside.database)[0] for each in done["tables"]] == [
        "CREATE OR REPLACE TABLE ",
        "CREATE TABLE ",
    ]
    more = f"SELECT more FROM {beside.table('hits_all')}"
    assert [each.query(more) for each in beside.shard.servers] == [[(7,), (7,)]] * 2
    assert not beside.call()["changed"]


@pytest.mark.smoke
def test_what_a_reading_table_does_not_do(beside: Place, modern_version: str) -> None:
    """The page for readers says each of these."""
    beside.call()
    first, _second = beside.shard.servers
    table = beside.table("hits_all")
    for sql in (
        f"INSERT INTO {table} (day, id) VALUES ('2024-01-03', 3)",
        f"ALTER TABLE {table} DELETE WHERE id = 1",
        f"OPTIMIZE TABLE {table} FINAL",
    ):
        with pytest.raises(QueryError, match="NOT_IMPLEMENTED"):
            first.execute(sql)
    # FINAL leaves one row of a key in each of the two.
    first.execute(
        f"INSERT INTO {beside.table('hits_cold')} (day, id, number) VALUES ('2024-01-02', 2, 4)",
    )
    assert first.query(f"SELECT id, _table FROM {table} FINAL WHERE id = 2 ORDER BY _table") == [
        (2, "hits"),
        (2, "hits_cold"),
    ]
    first.execute(f"ALTER TABLE {beside.table('hits')} RENAME COLUMN number TO other", alter_sync=2)
    by_column = f"SELECT id, number FROM {table} ORDER BY id, _table"
    if modern_version == ENGINE:
        # A column that only one of the two has is read as if it were empty in the other one.
        assert first.query(by_column) == [(1, 3), (2, 0), (2, 4)]
    else:
        with pytest.raises(QueryError, match="NO_SUCH_COLUMN_IN_TABLE|UNKNOWN_IDENTIFIER"):
            first.query(by_column)
    # Partitions stay where they are then.
    refused = beside.move_all()
    assert {each["gate"] for each in refused["deferred"]} == {"twin_alike"}, refused
    first.execute(f"ALTER TABLE {beside.table('hits_cold')} RENAME COLUMN number TO other", alter_sync=2)
    beside.shard.execute(f"SYSTEM SYNC REPLICA {beside.table('hits_cold')}")
    assert beside.move_all(state="hot")["counts"]["moved"] == 2


def test_in_an_older_database_a_table_is_made_anew_in_two_steps_and_none_is_put_in_front(
    modern: ModernShard, hot: Ensemble, base: str
) -> None:
    place = Place(modern, hot, base, "hits_hot_cold", "Ordinary")
    assert "names can be exchanged in Atomic only" in place.call(in_front=True)["msg"]
    twin = "{table}_hot_cold"
    place.call(twin=twin)
    for name in ("hits", "hits_hot_cold"):
        modern.servers[0].execute(f"ALTER TABLE {place.table(name)} ADD COLUMN more UInt8", alter_sync=2)
    done = place.call(twin=twin)
    for each in done["tables"]:
        assert [sql.split()[0] for sql in each["statements"]] == ["DROP", "CREATE"]
    assert place.seen("hits_all") == [[1, 2], [1, 2]]
    assert not place.call(twin=twin)["changed"]


def refuse_while_an_insert_is_queued(place: Place) -> None:
    """An asynchronous insert that is queued keeps its table, which has another name after the exchange."""
    first = place.shard.servers[0]
    long = {"async_insert": 1, "wait_for_async_insert": 0, "async_insert_busy_timeout_ms": 600_000}
    if first.knows("async_insert_busy_timeout_min_ms"):
        long |= {"async_insert_busy_timeout_min_ms": 600_000, "async_insert_busy_timeout_max_ms": 600_000}
    settings = ", ".join(f"{name} = {value}" for name, value in long.items())
    first.execute(f"INSERT INTO {place.table('hits')} (day, id) SETTINGS {settings} VALUES ('2024-01-03', 4)")
    refused = place.call(in_front=True)
    assert refused["failed"]
    assert "the names are not exchanged, as the asynchronous insert" in refused["msg"], refused
    assert place.seen("hits") == [[2], [2]]
    first.execute("SYSTEM FLUSH ASYNC INSERT QUEUE")
    wait_for(lambda: place.seen("hits") == [[2, 4], [2, 4]])


def test_a_table_in_front_has_the_name_and_moves_go_on(modern: ModernShard, hot: Ensemble, base: str) -> None:
    place = Place(modern, hot, base)
    refused = place.call(in_front=True)
    assert refused["failed"]
    assert f"RENAME TABLE {place.database}.hits_cold TO {place.database}.hits_hot_cold" in refused["msg"]
    place.shard.execute(f"RENAME TABLE {place.table('hits_cold')} TO {place.table('hits_hot_cold')}")
    assert place.call(in_front=True, check=True)["changed"]
    assert place.seen("hits") == [[2], [2]]
    # One that was killed after the first statement, on one replica.
    place.shard.servers[0].execute(
        f"CREATE TABLE {place.table('hits_hot')} AS {place.table('hits')}"
        f" ENGINE = Merge('{place.database}', '^(hits_hot|hits_hot_cold)$')"
    )
    first = place.shard.servers[0]
    if first.runs_one_statement or first.options.version == ENGINE:
        # Servers that are no real ones queue no insert.
        place.insert_into(place.table("hits"), 4, day="20240103")
    else:
        refuse_while_an_insert_is_queued(place)
    done = place.call(in_front=True)
    assert [len(each["statements"]) for each in done["tables"]] == [1, 2], done
    assert not place.call(in_front=True)["changed"]
    assert (place.seen("hits"), place.seen("hits_hot")) == ([[1, 2, 4]] * 2, [[2, 4]] * 2)
    place.insert_into(place.table("hits_hot"), 3, day="20240103")
    assert place.move_all()["counts"]["moved"] == 2
    assert (place.seen("hits"), place.seen("hits_hot"), place.seen("hits_hot_cold")) == (
        [[1, 2, 3, 4]] * 2,
        [[]] * 2,
        [[1, 2, 3, 4]] * 2,
    )


def test_other_tables_of_the_name_are_refused_on_all_replicas(beside: Place) -> None:
    beside.shard.servers[1].execute(f"CREATE TABLE {beside.table('hits_all')} (a UInt8) ENGINE = Memory")
    refused = beside.call()
    assert refused["failed"]
    assert "hits_all of the engine Memory" in refused["msg"]
    assert "Create it with twin_table first" in beside.call(path="{path}_away")["msg"]
    assert "Write it as {table}_all" in beside.call(name="all")["msg"]
    tables = f"SELECT count() FROM system.tables WHERE database = '{beside.database}'"
    wait_for(lambda: beside.shard.servers[0].value(tables) == 2)
