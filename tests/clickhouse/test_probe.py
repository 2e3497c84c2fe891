# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a probe finds out about the tables of real servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import (
    ActivePart,
    ReplicaProbe,
)
from support.servers.clickhouse import (
    ClickHouseCluster,
    ClickHouseServer,
    ClusterMaker,
    QueryError,
    ZooKeeperSource,
)
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import (
    BY_STRING,
    BY_YEAR_AND_MONTH,
    OLD_STYLE,
    ReplicatedTable,
    TableMaker,
    wait_for,
)
from support.servers.zookeeper import Ensemble

HOST = "host: 127.0.0.1\nport: 1\ntcp_port: 2\ndatabase: default\ntable: t\nscheme: http\n"
NOWHERE = "host: 192.0.2.1\nport: 1\n"


@pytest.fixture
def server(replicas: ClickHouseCluster) -> ClickHouseServer:
    return replicas.servers[0]


@pytest.fixture
def probe(server: ClickHouseServer) -> ReplicaProbe:
    return HttpReplicaProbe(ClickHouseOptions(port=server.http_port))


@pytest.fixture
def zookeeper(hot_ensemble: Ensemble, connect: Callable[[str], KazooClient]) -> KazooClient:
    return connect(hot_ensemble.connect_string)


def test_active_parts_of_the_partitions_asked_for(probe: ReplicaProbe, make_table: TableMaker) -> None:
    table = make_table()
    table.fill(["2019-12-01", "2019-12-02", "2019-12-03"])
    table.servers[0].execute(f"SYSTEM STOP MERGES {table.name}")
    table.fill(["2019-12-02"], rows=5)

    found = probe.active_parts(table.path, "r1", HOST, ["20191201", "20191202", "20191209"])

    assert found == {
        "20191201": (ActivePart("20191201_0_0_0", 3, None),),
        "20191202": (ActivePart("20191202_0_0_0", 3, None), ActivePart("20191202_1_1_0", 5, None)),
        "20191209": (),
    }


def test_parts_that_were_merged_are_not_active(probe: ReplicaProbe, make_table: TableMaker) -> None:
    table = make_table()
    table.fill(["2019-12-01"], rows=1)
    table.fill(["2019-12-01"], rows=2)

    def is_merged() -> bool:
        names = table.active_parts()["20191201"]
        if len(names) > 1:
            # It does nothing, and says nothing, while the server has not heard of a part.
            table.servers[0].execute(f"OPTIMIZE TABLE {table.name} PARTITION 20191201 FINAL")
        return len(names) == 1

    wait_for(is_merged)
    found = probe.active_parts(table.path, "r1", HOST, ["20191201"])

    assert found == {"20191201": (ActivePart("20191201_0_1_1", 3, None),)}


def test_partition_ids_are_compared_as_a_whole(probe: ReplicaProbe, make_table: TableMaker) -> None:
    table = make_table(BY_YEAR_AND_MONTH)
    table.fill(["2019-01-05", "2019-12-05"])
    found = probe.active_parts(table.path, "r1", HOST, ["2019-1"])
    assert found == {"2019-1": (ActivePart("2019-1_0_0_0", 3, None),)}


def test_month_partitions_of_an_old_style_table(probe: ReplicaProbe, make_table: TableMaker) -> None:
    table = make_table(OLD_STYLE)
    table.fill(["2019-12-05"])
    found = probe.active_parts(table.path, "r1", HOST, ["201912"])
    assert found == {"201912": (ActivePart("20191205_20191205_0_0_0", 3, None),)}


def test_many_partitions_are_asked_for_at_once(probe: ReplicaProbe, make_table: TableMaker) -> None:
    table = make_table(BY_STRING)
    table.insert(*(f"('{number}', {number})" for number in range(90)))
    ids = [
        partition
        for (partition,) in table.servers[0].query(
            f"SELECT DISTINCT partition_id FROM system.parts WHERE table = '{table.name}'"
        )
    ]
    found = probe.active_parts(
        table.path, "r1", HOST, [*ids, *(f"{number:032x}" for number in range(20_000))]
    )
    assert {each: [part.name for part in parts] for each, parts in found.items() if parts} == {
        each: [f"{each}_0_0_0"] for each in ids
    }


def test_names_with_quotes_and_backslashes(probe: ReplicaProbe, server: ClickHouseServer, base: str) -> None:
    path, replica = f"{base}/it's\\n", "r'1\\"
    server.execute("CREATE DATABASE IF NOT EXISTS `d'b`")
    server.execute(
        "CREATE TABLE `d'b`.`t\\\\'x` (id UInt32) ENGINE = ReplicatedMergeTree("
        f"'{base}/it\\'s\\\\n', 'r\\'1\\\\') ORDER BY id"
    )
    server.execute("INSERT INTO `d'b`.`t\\\\'x` VALUES (1)")
    found = probe.active_parts(path, replica, HOST, ["all"])
    assert found == {"all": (ActivePart("all_0_0_0", 1, None),)}


def test_endpoint_goes_before_the_host_of_the_replica(
    server: ClickHouseServer, make_table: TableMaker
) -> None:
    table = make_table()
    for endpoint, port in ((f"127.0.0.1:{server.http_port}", 1), ("localhost", server.http_port)):
        probe = HttpReplicaProbe(ClickHouseOptions(port=port, endpoints={"r1": endpoint}))
        assert probe.active_parts(table.path, "r1", NOWHERE, []) == {}


def test_each_replica_has_its_own_endpoint(replicas: ClickHouseCluster, make_table: TableMaker) -> None:
    table = make_table()
    endpoints = {name: f"127.0.0.1:{each.http_port}" for name, each in table.replicas.items()}
    probe = HttpReplicaProbe(ClickHouseOptions(endpoints=endpoints))
    for replica in ("r1", "r2"):
        assert probe.active_parts(table.path, replica, NOWHERE, []) == {}
    swapped = HttpReplicaProbe(ClickHouseOptions(endpoints={"r1": endpoints["r2"], "r2": endpoints["r1"]}))
    with pytest.raises(PartMoveError, match=f"has 0 tables that are replica r1 of {table.path}"):
        swapped.active_parts(table.path, "r1", NOWHERE, [])


def test_host_that_is_not_understood_is_refused(probe: ReplicaProbe) -> None:
    with pytest.raises(FormatError, match="/p/replicas/r1/host, line 1: expected 'host: '"):
        probe.active_parts("/p", "r1", "somewhere", [])


@pytest.mark.parametrize("replica", ["r2", "r", "r1'"])
def test_replica_that_the_server_has_not_is_refused(
    probe: ReplicaProbe, make_table: TableMaker, replica: str
) -> None:
    with pytest.raises(PartMoveError, match=f"has 0 tables that are replica {replica} of /") as caught:
        probe.active_parts(make_table().path, replica, HOST, [])
    assert "set endpoints" in str(caught.value)


def test_detached_table_is_refused(probe: ReplicaProbe, make_table: TableMaker) -> None:
    table = make_table()
    table.servers[0].execute(f"DETACH TABLE {table.name}")
    with pytest.raises(PartMoveError, match="has 0 tables"):
        probe.active_parts(table.path, "r1", HOST, [])


def test_two_tables_of_one_replica_are_refused(
    probe: ReplicaProbe, make_table: TableMaker, zookeeper: KazooClient
) -> None:
    table = make_table()
    zookeeper.delete(f"{table.path}/replicas/r1", recursive=True)
    # The server lists the second table although it refuses it.
    with pytest.raises(QueryError, match="Duplicate interserver IO endpoint"):
        table.servers[0].execute(
            f"CREATE TABLE {table.name}_again (day Date, id UInt32) ENGINE = ReplicatedMergeTree("
            f"'{table.path}', 'r1') PARTITION BY toYYYYMMDD(day) ORDER BY id"
        )
    with pytest.raises(PartMoveError, match="has 2 tables that are replica r1"):
        probe.active_parts(table.path, "r1", HOST, [])


def test_table_without_zookeeper_is_refused(
    start_cluster: ClusterMaker, hot_ensemble: Ensemble, base: str
) -> None:
    with ZooKeeperProxy(hot_ensemble.connect_string) as gateway:
        (server,) = start_cluster(ZooKeeperSource(gateway.address), replicas=1).servers
        ReplicatedTable("t", base, [server]).create()
        probe = HttpReplicaProbe(ClickHouseOptions(port=server.http_port))
        assert probe.active_parts(base, "r1", HOST, []) == {}

        gateway.cut()
        wait_for(lambda: server.query("SELECT is_session_expired FROM system.replicas") == [(1,)])
        with pytest.raises(PartMoveError, match=r"has the table default\.t without a session with ZooKeeper"):
            probe.active_parts(base, "r1", HOST, [])
        with pytest.raises(PartMoveError, match=r"has the table default\.t without a session with ZooKeeper"):
            probe.detached_parts(base, "r1", HOST)


def test_a_server_without_the_table_of_detached_parts_does_not_tell_them(
    probe: ReplicaProbe, make_table: TableMaker
) -> None:
    table = make_table()
    table.fill(["2019-12-01"])
    table.servers[0].execute(f"ALTER TABLE {table.name} DETACH PARTITION 20191201")
    assert probe.detached_parts(table.path, "r1", HOST) is None


def test_detached_parts_of_a_server_that_tells_them(server: ClickHouseServer, make_table: TableMaker) -> None:
    table = make_table()
    # As later versions have it; 18.16 lets one add tables to the database system.
    server.execute(
        "CREATE TABLE system.detached_parts (database String, table String, name String) ENGINE = Memory"
    )
    try:
        server.execute(
            "INSERT INTO system.detached_parts VALUES"
            f" ('default', '{table.name}', 'unexpected_all_0_0_0'), ('default', '{table.name}', 'a\\'b'),"
            f" ('other', '{table.name}', 'x'), ('default', 'other', 'y')"
        )
        probe = HttpReplicaProbe(ClickHouseOptions(port=server.http_port))
        assert probe.detached_parts(table.path, "r1", HOST) == frozenset({"unexpected_all_0_0_0", "a'b"})
    finally:
        server.execute("DROP TABLE system.detached_parts")
