# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers of a modern ClickHouse replicate: what others rely on who use them."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, ModernShard, ModernShardMaker
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

DAY = "20240101"


class Pair(NamedTuple):
    """Two tables of the same columns on both servers, the second one in the auxiliary ensemble."""

    hot: str
    cold: str


def new_table(
    shard: ModernShard, base: str, *, auxiliary: str = "", projection: str = "", settings: str = ""
) -> str:
    name = f"t_{uuid.uuid4().hex[:8]}"
    shard.execute(
        f"CREATE TABLE {name} (day Date, id UInt32 {projection}) ENGINE = "
        f"ReplicatedMergeTree('{auxiliary}{base}/{{shard}}/{name}', '{{replica}}') "
        f"PARTITION BY toYYYYMMDD(day) ORDER BY id {settings}"
    )
    return name


@pytest.fixture
def pair(modern: ModernShard, base: str) -> Pair:
    return Pair(new_table(modern, base), new_table(modern, base, auxiliary="cold:"))


def client(server: ModernServer) -> ClickHouseClient:
    return ClickHouseClient("127.0.0.1", server.http_port, ClickHouseOptions())


def ids(server: ModernServer, table: str) -> list[int]:
    return [number for (number,) in server.query(f"SELECT id FROM {table} ORDER BY id")]


@pytest.mark.smoke
def test_each_replica_fetches_what_the_other_one_inserts(modern: ModernShard, base: str) -> None:
    first, second = modern.servers
    variants: list[dict[str, str]] = [
        {},
        {"settings": "SETTINGS min_bytes_for_wide_part = 0"},
        {"projection": ", PROJECTION p (SELECT id, day ORDER BY day)"},
    ]
    for variant in variants:
        table = new_table(modern, base, **variant)
        first.execute(f"INSERT INTO {table} SELECT '2024-01-01', number FROM numbers(20000)")
        second.execute(f"INSERT INTO {table} VALUES ('2024-01-01', 20000)")
        for server in modern.servers:
            server.execute(f"SYSTEM SYNC REPLICA {table}")
            assert ids(server, table) == list(range(20_001))
            assert server.query(f"CHECK TABLE {table}", check_query_single_value_result=1) == [(1,)]


@pytest.mark.smoke
def test_merges_and_mutations_are_done_by_both(modern: ModernShard, pair: Pair) -> None:
    first, second = modern.servers
    for number, server in enumerate(modern.servers):
        server.execute(f"INSERT INTO {pair.hot} VALUES ('2024-01-01', {number})")
    modern.execute(f"SYSTEM SYNC REPLICA {pair.hot}")
    first.execute(f"OPTIMIZE TABLE {pair.hot} FINAL", alter_sync=2)
    assert [server.parts(pair.hot) for server in modern.servers] == [[f"{DAY}_0_1_1"]] * 2
    second.execute(f"ALTER TABLE {pair.hot} DELETE WHERE id = 0", mutations_sync=2)
    assert [server.parts(pair.hot) for server in modern.servers] == [[f"{DAY}_0_1_1_2"]] * 2
    assert [ids(server, pair.hot) for server in modern.servers] == [[1], [1]]


@pytest.mark.smoke
def test_partition_is_cloned_into_the_other_ensemble_by_hard_links(
    modern: ModernShard,
    pair: Pair,
    hot: Ensemble,
    cold: Ensemble,
    base: str,
    connect: Callable[[str], KazooClient],
) -> None:
    first, _second = modern.servers
    first.execute(f"INSERT INTO {pair.hot} VALUES ('2024-01-01', 1)")
    modern.execute(f"SYSTEM SYNC REPLICA {pair.hot}")
    first.execute(f"ALTER TABLE {pair.cold} ATTACH PARTITION ID '{DAY}' FROM {pair.hot}", alter_sync=2)
    for server in modern.servers:
        origin = server.part_folder(pair.hot, f"{DAY}_0_0_0")
        clone = server.part_folder(pair.cold, f"{DAY}_1_1_0")
        assert (origin / "data.bin").stat().st_ino == (clone / "data.bin").stat().st_ino
    paths = [f"{base}/01/{table}/replicas/r2/parts" for table in pair]
    assert connect(cold.connect_string).get_children(paths[1]) == [f"{DAY}_1_1_0"]
    assert connect(cold.connect_string).exists(paths[0]) is None
    assert connect(hot.connect_string).exists(paths[1]) is None


def test_part_is_dropped_by_name_on_both(modern: ModernShard, pair: Pair) -> None:
    first, second = modern.servers
    first.execute(f"INSERT INTO {pair.hot} VALUES ('2024-01-01', 1)")
    first.execute(f"INSERT INTO {pair.hot} VALUES ('2024-01-02', 2)")
    second.execute(f"SYSTEM SYNC REPLICA {pair.hot}")
    second.execute(f"ALTER TABLE {pair.hot} DROP PART '{DAY}_0_0_0'", alter_sync=2)
    assert [ids(server, pair.hot) for server in modern.servers] == [[2], [2]]


def test_statements_run_beside_each_other(modern: ModernShard, pair: Pair) -> None:
    """One that waits for the other replica does not keep this one from giving a part away."""
    first, second = modern.servers
    if first.runs_one_statement:
        pytest.skip("the servers of this version run one statement after the other")
    second.execute(f"SYSTEM STOP FETCHES {pair.hot}")
    insert = threading.Thread(
        target=first.execute,
        args=(f"INSERT INTO {pair.hot} VALUES ('2024-01-01', 1)",),
        kwargs={"insert_quorum": 2, "insert_quorum_timeout": 300_000},
    )
    insert.start()
    try:
        wait_for(lambda: first.value("SELECT count() FROM system.processes") == 2)
        second.execute(f"SYSTEM START FETCHES {pair.hot}")
    finally:
        insert.join()
    assert ids(second, pair.hot) == [1]


def test_killed_server_comes_back_with_its_rows(
    start_modern: ModernShardMaker, hot: Ensemble, base: str
) -> None:
    shard = start_modern(ZooKeeperSource(hot.connect_string))
    first, second = shard.servers
    table = new_table(shard, base)
    second.execute(f"INSERT INTO {table} VALUES ('2024-01-01', 1)")
    second.kill()
    first.execute(f"INSERT INTO {table} VALUES ('2024-01-01', 2)")
    second.start()
    second.execute(f"SYSTEM SYNC REPLICA {table}")
    assert ids(second, table) == [1, 2]
    second.execute(f"INSERT INTO {table} VALUES ('2024-01-01', 3)")
    second.stop()
    assert first.query("SELECT total_replicas, active_replicas FROM system.replicas") == [(2, 1)]
    second.start()
    assert ids(second, table) == [1, 2, 3]


@pytest.mark.smoke
def test_product_reads_rows_and_errors(modern: ModernShard, modern_version: str) -> None:
    first, _second = modern.servers
    ((number, letter, version),) = client(first).rows("SELECT number, 'ü', version() FROM numbers(1)")
    assert (int(number), letter) == (0, "ü")
    assert version.startswith(f"{modern_version}.")
    assert list(client(first).stream("SELECT toUInt8(1) AS one")) == [{"one": 1}]
    client(first).execute("SELECT throwIf(getSetting('max_threads') != 3)", max_threads=3)
    with pytest.raises(
        QueryRefused, match=r"code 60: (?:Unknown t|T)able .* \(UNKNOWN_TABLE\)\. Use"
    ) as caught:
        client(first).rows("SELECT * FROM nowhere")
    assert caught.value.code == 60
    with pytest.raises(PartMoveError, match="refuses the user nobody: nobody: Authentication failed"):
        ClickHouseClient("127.0.0.1", first.http_port, ClickHouseOptions(user="nobody")).rows("SELECT 1")


def test_server_is_healthy_and_tells_what_zookeeper_has(
    modern: ModernShard, pair: Pair, hot: Ensemble
) -> None:
    first, _second = modern.servers
    options = {"host": "127.0.0.1", "port": first.http_port}
    (result,) = run_modules(Call("replica_info", {"clickhouse": options}))
    assert (result["findings"], result["healthy"], result["caught_up"]) == ([], True, True)
    assert pair.hot in {replica["table"] for replica in result["replicas"]}
    path = first.value(f"SELECT zookeeper_path FROM system.replicas WHERE table = '{pair.hot}'")
    names = first.query(f"SELECT name FROM system.zookeeper WHERE path = '{path}/replicas' ORDER BY name")
    assert names == [("r1",), ("r2",)]


def test_ensemble_that_is_down_gives_an_error_with_its_code(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, base: str
) -> None:
    source = ZooKeeperSource(cold.connect_string, session_ms=4000)
    shard = start_modern(ZooKeeperSource(hot.connect_string), {"cold": source}, replicas=1)
    (server,) = shard.servers
    here, there = new_table(shard, base), new_table(shard, base, auxiliary="cold:")
    cold.kill()
    wait_for(lambda: server.value(f"SELECT is_readonly FROM system.replicas WHERE table = '{there}'") == 1)
    with pytest.raises(QueryRefused) as caught:
        client(server).execute(f"INSERT INTO {there} VALUES ('2024-01-01', 1)", insert_keeper_max_retries=0)
    assert caught.value.code == 242
    server.execute(f"INSERT INTO {here} VALUES ('2024-01-01', 1)")
    assert ids(server, here) == [1]


@pytest.mark.smoke
def test_statement_that_is_refused_names_the_server(modern: ModernShard) -> None:
    with pytest.raises(QueryError, match=r"^r1: Code: 62\. .* \[SELEC 1\]$"):
        modern.servers[0].execute("SELEC 1")
