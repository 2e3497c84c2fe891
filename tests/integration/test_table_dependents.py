# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What refers to a table, after its partitions or its name went to another ensemble, on real servers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from support.ansible.twin_runs import DAY, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.ladder.guarded import GuardedShard, guarded_shard
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


class Database(ModernTables):
    """A database of its own on every replica."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.database = f"d_{uuid.uuid4().hex[:8]}"
        shard.execute(f"CREATE DATABASE {self.database} ENGINE = Atomic")

    def create(self, name: str, columns: str = "(day Date, id UInt32)") -> str:
        """Create a table on every replica, and return its path."""
        path = self.shard_path(f"{self.database}_{name}")
        self.shard.execute(self.definition(f"{self.database}.{name}", path, columns))
        return path


@pytest.fixture
def database(modern: ModernShard, hot: Ensemble, base: str) -> Database:
    return Database(modern, hot, base)


def test_the_inner_table_of_a_view_is_refused_by_name(database: Database) -> None:
    """And the page tells how the view gets a table that may be moved."""
    db = database.database
    database.create("hits")
    path, engine = database.shard_path(f"{db}_daily"), "PARTITION BY toYYYYMMDD(day) ORDER BY id"
    database.shard.execute(
        f"CREATE MATERIALIZED VIEW {db}.daily ENGINE = ReplicatedMergeTree('{path}', '{{replica}}') {engine}"
        f" AS SELECT day, id FROM {db}.hits"
    )
    database.insert_into(f"{db}.hits", 1)
    answers = [
        database.give_twins(path),
        database.answer("table_move", shard_paths=[path], journal="", min_age="0"),
    ]
    assert [each["failed"] for each in answers] == [True, True]
    inner = [
        each.value(f"SELECT name FROM system.tables WHERE database = '{db}' AND name LIKE '.inner%'")
        for each in database.shard.servers
    ]
    for answer in answers:
        assert f"{db}.{inner[0]} is the inner table of a view" in answer["msg"], answer
    # The remedy is not to create a twin.
    day = {"shard_path": path, "partition": "20240101"}
    assert {each["gate"] for each in database.move(partitions=[day])["deferred"]} == {"not_inner"}
    for server, name in zip(database.shard.servers, inner, strict=True):
        definition = database.definition(f"{db}.`{name}_cold`", f"cold:{path}_cold")
        server.execute(definition.replace(" SETTINGS max_replicated_merges_in_queue = 0", ""))
    moved = database.move(shard_paths=[path])
    assert {each["gate"] for each in moved["deferred"]} == {"not_inner"}, moved
    assert "in the twin" in moved["deferred"][0]["reason"]

    # What the page says instead.
    database.create("daily_rows")
    database.first.execute(
        f"ALTER TABLE {db}.daily_rows ATTACH PARTITION ID '20240101' FROM {db}.`{inner[0]}`"
    )
    database.shard.execute(f"SYSTEM SYNC REPLICA {db}.daily_rows")
    database.shard.execute(f"DROP VIEW {db}.daily SYNC")
    database.shard.execute(
        f"CREATE MATERIALIZED VIEW {db}.daily TO {db}.daily_rows AS SELECT day, id FROM {db}.hits"
    )
    done = database.answer(
        "table_move", shard_paths=[database.shard_path(f"{db}_daily_rows")], journal="", min_age="0"
    )
    assert not done["failed"], done
    database.insert_into(f"{db}.hits", 2)
    database.shard.execute(f"SYSTEM SYNC REPLICA {db}.daily_rows")
    assert database.ids(f"{db}.daily") == [[1, 2], [1, 2]]


@pytest.fixture(scope="module")
def guarded(
    real_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GuardedShard]:
    """Servers that have users and row policies by SQL."""
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    with guarded_shard(tmp_path_factory.mktemp("users"), hot, {"cold": cold}, real_version) as shard:
        yield shard


class Referred(Database):
    """A table with everything that can refer to it, on both replicas; found on the first one."""

    def __init__(self, guarded: GuardedShard, hot: Ensemble, base: str) -> None:
        super().__init__(guarded.shard, hot, base)
        db = self.database
        self.hits = f"{db}.hits"
        self.path = self.create("hits")
        self.user = guarded.user(grants="")
        limits = "1, 600, 600, 1000000, 1000000, 100000000, 100000000"
        policy = f"CREATE ROW POLICY p_{db} ON {self.hits} USING id != 2 TO {self.user}"
        for sql in (
            f"CREATE TABLE {db}.source (day Date, id UInt32) ENGINE = Null",
            f"CREATE MATERIALIZED VIEW {db}.into TO {self.hits} AS SELECT * FROM {db}.source",
            f"CREATE TABLE {db}.seen (day Date, id UInt32) ENGINE = MergeTree ORDER BY id",
            f"CREATE MATERIALIZED VIEW {db}.outof TO {db}.seen AS SELECT * FROM {self.hits}",
            f"CREATE MATERIALIZED VIEW {db}.inner ENGINE = Log AS SELECT * FROM {self.hits}",
            f"CREATE VIEW {db}.view AS SELECT * FROM {self.hits}",
            f"CREATE TABLE {db}.merge AS {self.hits} ENGINE = Merge({db}, '^hits$')",
            f"CREATE TABLE {db}.hits_all AS {self.hits} ENGINE = Merge({db}, '^(hits|hits_cold)$')",
            f"CREATE TABLE {db}.buffer AS {self.hits} ENGINE = Buffer({db}, hits, {limits})",
            f"GRANT SELECT ON {self.hits} TO {self.user}",
            policy,
        ):
            self.shard.execute(sql)
        for name, source in (("dict", "TABLE 'hits'"), ("dictq", f"QUERY 'SELECT id, day FROM {self.hits}'")):
            self.shard.execute(
                f"CREATE DICTIONARY {db}.{name} (id UInt32, day Date) PRIMARY KEY id"
                f" SOURCE(CLICKHOUSE(DB '{db}' {source})) LAYOUT(FLAT()) LIFETIME(0)"
            )
        for server in self.shard.servers:
            here = f"remote('127.0.0.1:{server.ports.tcp}', {self.hits})"
            server.execute(f"CREATE TABLE {db}.dist AS {here}")
            server.execute(
                f"CREATE MATERIALIZED VIEW {db}.fresh REFRESH EVERY 1 YEAR ENGINE = MergeTree ORDER BY id"
                f" AS SELECT * FROM {self.hits}",
                allow_experimental_refreshable_materialized_view=1,
            )
        self.appends = self.first.is_at_least(25, 1)
        if self.appends:
            self.first.execute(
                f"CREATE MATERIALIZED VIEW {db}.append REFRESH EVERY 1 YEAR APPEND TO {self.hits} EMPTY"
                " AS SELECT toDate('2024-01-01') AS day, toUInt32(6) AS id"
            )

    def renew(self) -> None:
        """Let everything that keeps rows of the table read them again."""
        db = self.database
        for name in ("dict", "dictq"):
            self.first.execute(f"SYSTEM RELOAD DICTIONARY {db}.{name}")
        wait_for(self._is_fresh)
        self.first.execute(f"SYSTEM REFRESH VIEW {db}.fresh")
        wait_for(lambda: self._is_fresh() and self.found("fresh") == self.found("view"))

    def _is_fresh(self) -> bool:
        sql = (
            f"SELECT status FROM system.view_refreshes WHERE database = '{self.database}' AND view = 'fresh'"
        )
        return bool(self.first.value(sql) == "Scheduled")

    def found(self, name: str, user: str = "default") -> list[int]:
        """The ids that a user reads from a table of the first replica."""
        client = ClickHouseClient("127.0.0.1", self.first.http_port, ClickHouseOptions(user=user))
        return [
            int(number) for (number,) in client.rows(f"SELECT id FROM {self.database}.{name} ORDER BY id")
        ]

    def require(self, names: Sequence[str], *ids: int) -> None:
        """Require that each of these tables has exactly these rows."""
        assert {name: self.found(name) for name in names} == {name: list(ids) for name in names}


@pytest.fixture
def referred(guarded: GuardedShard, hot: Ensemble, base: str) -> Referred:
    return Referred(guarded, hot, base)


READERS = ("hits", "view", "merge", "dist", "buffer", "dict", "dictq", "fresh")


def test_what_follows_the_name_of_a_table(referred: Referred) -> None:
    """All of it, but what is in the page as refused or older."""
    db = referred.database
    referred.insert_into(referred.hits, 1)
    done = referred.answer("table_move", shard_paths=[referred.path], journal="", min_age="0")
    assert not done["failed"], done
    assert done["finished"], done
    for number, table in enumerate(("hits", "source", "buffer", "dist"), 2):
        referred.first.execute(
            f"INSERT INTO {db}.{table} VALUES ('2024-01-01', {number})", insert_distributed_sync=1
        )
    referred.first.execute(f"OPTIMIZE TABLE {db}.buffer")
    ids = [1, 2, 3, 4, 5]
    if referred.appends:
        referred.first.execute(f"SYSTEM REFRESH VIEW {db}.append")
        wait_for(lambda: 6 in referred.found("hits"))
        ids.append(6)
    referred.renew()
    referred.require((*READERS, "hits_all", "seen", "inner"), *ids)
    referred.require(("hits_cold",))
    engine = f"SELECT engine_full FROM system.tables WHERE database = '{db}' AND name = 'hits'"
    assert "'cold:" in referred.first.value(engine)
    assert referred.found("hits", referred.user) == [each for each in ids if each != 2]
    with pytest.raises(QueryRefused, match="hits_cold"):
        referred.found("hits_cold", referred.user)


def test_what_reads_a_table_whose_partition_is_in_the_twin(referred: Referred) -> None:
    db = referred.database
    assert referred.give_twins(referred.path)["changed"]
    referred.insert_into(referred.hits, 1, 2)
    moved = referred.move(partitions=[{"shard_path": referred.path, "partition": DAY}])
    assert moved["counts"]["moved"] == 1, moved
    referred.renew()
    referred.require(READERS)
    referred.require(("hits_cold", "hits_all", "seen", "inner"), 1, 2)
    with pytest.raises(QueryRefused, match="hits_cold"):
        referred.found("hits_cold", referred.user)
    referred.shard.execute(f"GRANT SELECT ON {db}.hits_cold TO {referred.user}")
    # The policy of the table hides a row that the twin shows.
    assert referred.found("hits_cold", referred.user) == [1, 2]
    referred.first.execute(f"INSERT INTO {db}.source VALUES ('2024-01-01', 3)")
    referred.renew()
    referred.require(READERS, 3)
