# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Twins in a cluster of two shards: Distributed tables, ON CLUSTER, databases of the engine Replicated."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_activity import (
    statements_in_progress,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import HttpTwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinReplica
from support.ansible.twin_runs import ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.drop_in import cluster_element, write_drop_in
from support.servers.modern.server import ModernOptions, ModernServer, ModernShard
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=1)]

ROWS = 40
BY_DAY = "PARTITION BY toYYYYMMDD(day) ORDER BY id"
COLUMNS = "(day Date, id UInt32)"


@pytest.fixture(scope="module")
def shards(
    real_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ModernShard, ModernShard]]:
    """A shard of two replicas and one of a single replica, which know each other as the cluster c."""
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    folder = tmp_path_factory.mktemp("cluster")
    groups = []
    for shard, replicas in (("01", ("r1", "r2")), ("02", ("r1",))):
        macros = [{"shard": shard, "replica": replica} for replica in replicas]
        options = [ModernOptions(hot, {"cold": cold}, each, version=real_version) for each in macros]
        groups.append(
            [
                ModernServer(each.macros["replica"], folder / shard / each.macros["replica"], each)
                for each in options
            ]
        )
    for server in (*groups[0], *groups[1]):
        write_drop_in(server, "cluster", cluster_element("c", groups))
    with ModernShard(groups[0]) as first, ModernShard(groups[1]) as second:
        yield first, second


class Half(ModernTables):
    """The tables of one shard, in a database that no other test has."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, number: str, database: str) -> None:
        super().__init__(shard, hot, base)
        self.number = number
        self.database = database

    def path(self, table: str) -> str:
        """The path of a table in the hot ensemble, as the server knows it."""
        condition = f"database = '{self.database}' AND table = '{table}'"
        return str(self.first.value(f"SELECT zookeeper_path FROM system.replicas WHERE {condition}"))

    def call(
        self, module: str, table: str = "hits", *, check: bool = False, **options: Any
    ) -> dict[str, Any]:
        """What a module answers about a table."""
        given = {"shard_paths": [self.path(table)], **options}
        if module == "twin_table":
            path = given.pop("shard_paths")
            return self.give_twins(*path, check=check, **given)
        if module in ("twin_move", "table_move"):
            given = {"min_age": "0", "journal": "", **given}
        return self.answer(module, check=check, **given)


class Cluster:
    """Both shards, whose statements ON CLUSTER are given to the first server."""

    def __init__(self, halves: tuple[Half, Half]) -> None:
        self.halves = halves
        self.database = halves[0].database
        self.servers = [server for half in halves for server in half.shard.servers]

    def execute(self, statement: str, **settings: int | str) -> None:
        """Give a statement to the first server; DB stands for the database."""
        self.servers[0].execute(statement.replace("DB", self.database), **settings)

    def create(self, engine: str = "ReplicatedMergeTree") -> None:
        """Create the database and the table hits everywhere, and a Distributed table that inserts into it."""
        self.execute("CREATE DATABASE DB ON CLUSTER c")
        self.execute(f"CREATE TABLE DB.hits ON CLUSTER c {COLUMNS} ENGINE = {engine} {BY_DAY}")
        self.execute("CREATE TABLE DB.spread ON CLUSTER c AS DB.hits ENGINE = Distributed(c, 'DB', hits, id)")

    def wait_until_writable(self, *halves: Half) -> None:
        """A CREATE that another server was given may be answered before the table has its session."""
        read_only = f"SELECT count() FROM system.replicas WHERE is_readonly AND database = '{self.database}'"
        servers = [server for half in halves or self.halves for server in half.shard.servers]
        wait_for(lambda: all(each.value(read_only) == 0 for each in servers))

    def insert(self) -> None:
        """Insert rows of two partitions through the Distributed table, into both shards."""
        self.wait_until_writable()
        self.execute(
            f"INSERT INTO DB.spread (day, id) SELECT toDate('2024-01-01') + intDiv(number, 2) % 2, number"
            f" FROM numbers({ROWS})",
            distributed_foreground_insert=1,
        )
        for half in self.halves:
            half.shard.execute(f"SYSTEM SYNC REPLICA {self.database}.hits")

    def call(self, module: str, table: str = "hits", **options: Any) -> list[dict[str, Any]]:
        """What a module answers for each shard."""
        return [half.call(module, table, **options) for half in self.halves]

    def counted(self, table: str) -> set[tuple[int, int]]:
        """Rows, and different ids, that each server reads from a table of all shards."""
        counts = f"SELECT count(), uniqExact(id) FROM {table}".replace("DB", self.database)
        return {tuple(row) for server in self.servers for row in server.query(counts)}


@pytest.fixture
def cluster(shards: tuple[ModernShard, ModernShard], hot: Ensemble, base: str) -> Cluster:
    database = f"d_{uuid.uuid4().hex[:8]}"
    first, second = shards
    return Cluster((Half(first, hot, base, "01", database), Half(second, hot, base, "02", database)))


def test_a_distributed_table_over_reading_tables_has_each_row_once(cluster: Cluster) -> None:
    cluster.create(f"ReplicatedMergeTree('{cluster.halves[0].base}/{{shard}}/hits', '{{replica}}')")
    assert [each["msg"] for each in cluster.call("twin_table")] == [
        "2 of 2 twins created",
        "1 of 1 twins created",
    ]
    cluster.call("twin_view")
    cluster.execute(
        "CREATE TABLE DB.everywhere ON CLUSTER c AS DB.hits_all ENGINE = Distributed(c, 'DB', hits_all)"
    )
    cluster.insert()
    for state in ("cold", "hot", "cold"):
        for half in cluster.halves:
            # Between two shards that have a partition in different tables, and after the second.
            assert cluster.counted("DB.everywhere") == {(ROWS, ROWS)}
            answer = half.call("twin_move", state=state)
            assert answer["counts"]["moved"] == 2, str(answer)
    assert cluster.counted("DB.everywhere") == {(ROWS, ROWS)}
    assert cluster.counted("DB.spread") == {(0, 0)}
    # In front: the Distributed table that readers have reads both, and takes no insert.
    cluster.execute("RENAME TABLE DB.hits_cold TO DB.hits_hot_cold ON CLUSTER c")
    for answer in cluster.call("twin_view", in_front=True):
        assert answer["changed"], str(answer)
    assert cluster.counted("DB.spread") == {(ROWS, ROWS)}


def test_twins_of_tables_that_are_created_and_altered_on_cluster(cluster: Cluster) -> None:
    base = cluster.halves[0].base
    cluster.create(f"ReplicatedMergeTree('{base}/{{shard}}/hits', '{{replica}}')")
    cluster.insert()
    by_hand = f"ReplicatedMergeTree('cold:{base}/{{shard}}/hits_cold', '{{replica}}') {BY_DAY}"
    cluster.execute(f"CREATE TABLE DB.hits_cold ON CLUSTER c AS DB.hits ENGINE = {by_hand}")
    cluster.wait_until_writable()
    reading = "Merge('DB', '^(hits|hits_cold)$')"
    cluster.execute(f"CREATE TABLE DB.hits_all ON CLUSTER c AS DB.hits ENGINE = {reading}")
    for module in ("twin_table", "twin_view"):
        assert not any(each["changed"] for each in cluster.call(module))
    cluster.execute("ALTER TABLE DB.hits ON CLUSTER c ADD COLUMN more UInt8 DEFAULT 7", alter_sync=2)
    for answer in cluster.call("twin_move"):
        assert {each["gate"] for each in answer["deferred"]} == {"twin_alike"}, answer
    cluster.execute("ALTER TABLE DB.hits_cold ON CLUSTER c ADD COLUMN more UInt8 DEFAULT 7", alter_sync=2)
    assert [each["counts"]["moved"] for each in cluster.call("twin_move")] == [2, 2]
    assert all(each["changed"] for each in cluster.call("twin_view"))
    sums = f"SELECT count(), sum(more) FROM cluster(c, {cluster.database}.hits_all)"
    assert [server.query(sums) for server in cluster.servers] == [[(ROWS, 7 * ROWS)]] * 3


def test_a_statement_on_cluster_in_progress_is_seen_on_every_server(cluster: Cluster) -> None:
    """A server writes a comment in front of a statement that another server was given."""
    cluster.create()
    cluster.insert()
    assert all(each["changed"] for each in cluster.call("twin_table"))
    other = cluster.halves[1]
    servers = HttpTwinServers(other.asked())
    tables = servers.tables(other.path("hits"), TwinReplica("r1", ""))
    host, _colon, port = other.shard.endpoints["r1"].rpartition(":")
    client = ClickHouseClient(host, int(port), other.asked())
    assert not statements_in_progress(client, tables)
    for half in cluster.halves:
        half.shard.execute(f"SYSTEM STOP MERGES {cluster.database}.hits")
    delete = threading.Thread(
        target=cluster.execute,
        args=("ALTER TABLE DB.hits ON CLUSTER c DELETE WHERE id = 1",),
        kwargs={"mutations_sync": 2},
    )
    delete.start()
    try:
        wait_for(lambda: bool(statements_in_progress(client, tables)))
        for answer in cluster.call("twin_move"):
            assert {each["gate"] for each in answer["deferred"]} == {"twin_at_rest"}, answer
    finally:
        for half in cluster.halves:
            half.shard.execute(f"SYSTEM START MERGES {cluster.database}.hits")
        delete.join()
    assert not statements_in_progress(client, tables)
    assert [each["counts"]["moved"] for each in cluster.call("twin_move")] == [2, 2]


def test_a_table_in_a_database_of_the_engine_replicated_is_refused_its_twin(cluster: Cluster) -> None:
    first, second = cluster.halves
    engine = f"Replicated('{first.base}/database', '{{shard}}', '{{replica}}')"
    first.shard.execute(f"CREATE DATABASE {cluster.database} ENGINE = {engine}")
    cluster.execute(f"CREATE TABLE DB.hits {COLUMNS} ENGINE = ReplicatedMergeTree {BY_DAY}")
    rows = f"SELECT toDate('2024-01-01') + number % 2, number FROM numbers({ROWS})"
    cluster.wait_until_writable(first)
    cluster.execute(f"INSERT INTO DB.hits {rows}")
    first.second.execute(f"SYSTEM SYNC REPLICA {cluster.database}.hits")
    refused = first.call("twin_table")
    assert "is of the engine Replicated" in refused["msg"], refused
    assert not refused["changed"]
    # A twin that somebody creates nevertheless takes partitions, and cannot be altered.
    _folder, tables, identity, _shard = first.path("hits").rsplit("/", 3)
    twin = f"ReplicatedMergeTree('cold:/clickhouse/{tables}/{identity}/{{shard}}_cold', '{{replica}}')"
    allowed = {"database_replicated_allow_replicated_engine_arguments": 1}
    cluster.execute(f"CREATE TABLE DB.hits_cold {COLUMNS} ENGINE = {twin} {BY_DAY}", **allowed)
    cluster.wait_until_writable(first)
    assert first.call("twin_view")["changed"]
    for module in ("twin_table", "twin_view"):
        assert first.call(module)["changed"] is False
    for state in ("cold", "hot", "cold"):
        answer = first.call("twin_move", state=state)
        assert answer["counts"]["moved"] == 2, str(answer)
        counts = f"SELECT count(), uniqExact(id) FROM {cluster.database}.hits_all"
        assert [each.query(counts) for each in first.shard.servers] == [[(ROWS, ROWS)]] * 2
    cluster.execute("ALTER TABLE DB.hits ADD COLUMN more UInt8")
    with pytest.raises(QueryError, match="Alter cannot be assigned because of Zookeeper error"):
        cluster.execute("ALTER TABLE DB.hits_cold ADD COLUMN more UInt8")
    assert first.call("twin_view")["changed"]
    moved = first.call("table_move")
    assert "only those of Atomic can exchange tables" in moved["msg"], moved
    assert "Move its partitions with twin_move" in moved["msg"]
    # No RENAME would make it possible.
    in_front = first.call("twin_view", in_front=True)
    assert "names can be exchanged in Atomic only" in in_front["msg"], in_front
    # With several shards an ATTACH would be carried out in each.
    second.shard.execute(f"CREATE DATABASE {cluster.database} ENGINE = {engine}")
    answer = first.call("twin_move", state="hot")
    assert "of the engine Replicated with 2 shards" in answer["msg"], answer
