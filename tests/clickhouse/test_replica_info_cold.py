# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""replica_info on real servers with cold partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.health_probe import HttpHealthProbe
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NoSuchTable,
    PartMoveError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.cold_presence import ColdPresence
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from support.ansible.calls import Call, call_modules
from support.memory.ledger import enter
from support.servers.clickhouse import (
    ClickHouseCluster,
    ClusterMaker,
    ServerOptions,
    ZooKeeperSource,
)
from support.servers.health import ask, finding, symptoms
from support.servers.moving import Mover
from support.servers.replicated import ReplicatedTable, TableMaker, wait_for
from support.servers.zookeeper import Ensemble

FIRST, SECOND = "20191201", "20191202"
SIGN = "SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'"

Options = dict[str, Any]


@pytest.fixture
def ensembles(hot: Ensemble, cold: Ensemble) -> Options:
    """The options hot and cold."""
    return {
        "hot": {"hosts": hot.connect_string.split(",")},
        "cold": {"hosts": cold.connect_string.split(",")},
    }


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table of two partitions."""
    made = make_table()
    made.fill(["2019-12-01", "2019-12-02"])
    made.settle()
    return made


def where_of(table: ReplicatedTable) -> str:
    return f"default.{table.name}"


def test_cold_partitions_need_the_ledger_and_the_patch(
    table: ReplicatedTable, mover: Mover, stores: tuple[ZnodeStore, ZnodeStore], ensembles: Options
) -> None:
    server, where, key = table.servers[0], where_of(table), ReplicaKey(table.path, "r1")
    assert symptoms(ask(server, **ensembles), where) == []
    mover.move(table, [FIRST])

    stock = ask(server, **ensembles)
    assert symptoms(stock, where) == ["state_without_ledger"]
    found = finding(stock, "state_without_ledger", where)
    assert found["what"] == f"State of {FIRST} is COLD, and replica r1 is not in the ledger"
    assert not stock["healthy"]
    # The State is in hot, so that cold need not be asked for it.
    assert symptoms(ask(server, hot=ensembles["hot"]), where) == ["state_without_ledger"]
    assert symptoms(ask(server, patched_sign="SELECT 1", **ensembles), where) == ["ledger_stale"]
    assert symptoms(ask(server, patched_sign=SIGN, **ensembles), where) == ["unpatched"]

    enter(*stores, key)
    assert symptoms(ask(server, **ensembles), where) == []
    assert symptoms(ask(server, hot=ensembles["hot"]), where) == []
    Ledger(stores[0]).withdraw(key)


def test_a_cold_part_that_a_merge_detached(table: ReplicatedTable, mover: Mover, ensembles: Options) -> None:
    table.age(f"{FIRST}_0_0_0")
    # Only the leader notices, because it is the one who assigns merges.
    number = table.leader()
    server, where = table.servers[number], where_of(table)
    before = ask(server, **ensembles)
    mover.move(table, [FIRST])
    table.insert("('2019-12-01', 9)")
    server.execute(
        f"OPTIMIZE TABLE {table.name} PARTITION {FIRST} FINAL", replication_alter_partitions_sync=0
    )
    part = f"{FIRST}_0_0_0"
    wait_for(lambda: part not in table.active_parts(number).get(FIRST, []))

    after = ask(server, before=before, patched_sign="SELECT 1", **ensembles)
    assert symptoms(after, where) == [
        "cold_missing",
        "part_lost",
        "rows_lost",
        "detached_new",
        "ledger_stale",
        "detached_parts",
    ]
    missing = finding(after, "cold_missing", where)
    assert missing["what"] == f"registered in the cold ensemble and not on disk: {part}"
    assert finding(after, "detached_new", where)["what"].endswith(f": unexpected_{part}")


def test_copies_in_cold_are_on_disk_and_strays_are_not(
    table: ReplicatedTable, ensembles: Options, cold_clients: list[KazooClient]
) -> None:
    server, where = table.servers[0], where_of(table)
    parts = f"{table.path}/replicas/r1/parts"
    cold_clients[0].create(f"{parts}/{FIRST}_0_0_0", makepath=True)
    cold_clients[0].sync(parts)
    assert symptoms(ask(server, **ensembles), where) == []
    for name in ("20180101_0_0_0", "nothing"):
        cold_clients[0].create(f"{parts}/{name}")
    result = ask(server, **ensembles)
    assert symptoms(result, where) == ["cold_missing"]
    assert finding(result, "cold_missing", where)["what"].endswith(": 20180101_0_0_0, nothing")
    cold_clients[0].delete(table.path, recursive=True)


def test_a_part_that_neither_ensemble_has_registered(
    table: ReplicatedTable, mover: Mover, ensembles: Options, hot_client: KazooClient
) -> None:
    """As long as the server runs the part is in the table, and nothing else tells that it is lost."""
    server, where = table.servers[0], where_of(table)
    mover.move(table, [FIRST])
    path = f"{table.path}/replicas/r1/parts/{SECOND}_0_0_0"
    hot_client.delete(path, recursive=True)

    result = ask(server, patched_sign="SELECT 1", **ensembles)
    assert symptoms(result, where) == ["unregistered", "ledger_stale"]
    found = finding(result, "unregistered", where)
    assert found["what"] == f"active on disk and registered in neither ensemble: {SECOND}_0_0_0"
    assert not result["healthy"]
    assert symptoms(ask(table.servers[1], patched_sign="SELECT 1", **ensembles), where) == ["ledger_stale"]


def test_a_part_that_is_dropped_meanwhile_is_not_missing(
    table: ReplicatedTable, stores: tuple[ZnodeStore, ZnodeStore], cold_clients: list[KazooClient]
) -> None:
    folder = f"{table.path}/replicas/r1/parts"
    for name in ("20180101_0_0_0", "20180102_0_0_0"):
        cold_clients[0].create(f"{folder}/{name}", makepath=True)
    stores[1].sync(folder)
    probe = HttpHealthProbe(ClickHouseClient("127.0.0.1", table.servers[0].http_port, ClickHouseOptions()))
    replicas = [each for each in probe.replicas() if each.shard_path == table.path]
    presence = ColdPresence(*stores, Ledger(stores[0]))

    found = presence.facts(replicas, presence.registered(replicas), probe.disk(read_disk=False))
    assert [each.missing for each in found] == [("20180101_0_0_0", "20180102_0_0_0")]
    cold_clients[0].delete(f"{folder}/20180101_0_0_0")
    stores[1].sync(folder)

    assert [each.missing for each in presence.still_missing(found, replicas)] == [("20180102_0_0_0",)]
    cold_clients[0].delete(table.path, recursive=True)


def test_ensembles_that_cannot_be(table: ReplicatedTable, ensembles: Options) -> None:
    server = table.servers[0]
    with pytest.raises(SameEnsemble):
        ask(server, hot=ensembles["hot"], cold=ensembles["hot"])
    with pytest.raises(NoSuchTable, match="which is not in the hot ensemble"):
        ask(server, hot=ensembles["cold"])
    with pytest.raises(PartMoveError, match="The shard path 'relative' does not begin with a slash"):
        ask(server, replicas=[{"shard_path": "relative", "replica": "r1"}])
    with pytest.raises(PartMoveError, match="before is no earlier result of replica_info"):
        ask(server, before={"parts": []})


def test_the_module_on_a_patched_server(
    start_cluster: ClusterMaker, hot: Ensemble, cold: Ensemble, ensembles: Options, base: str, tmp_path: Path
) -> None:
    servers: ClickHouseCluster = start_cluster(
        ZooKeeperSource(hot.connect_string),
        replicas=1,
        options=ServerOptions(patched=True, cold=ZooKeeperSource(cold.connect_string)),
    )
    (server,) = servers.servers
    table = ReplicatedTable("t", base, servers.servers).create()
    table.fill(["2019-12-01"])
    asked = {"clickhouse": {"host": "127.0.0.1", "port": server.http_port}, "read_disk": True}
    options = {**ensembles, **asked, "patched_sign": SIGN}

    (first,), _output = call_modules(tmp_path, Call("replica_info", options))
    assert (first["healthy"], first["caught_up"], first["changed"]) == (True, True, False)
    assert first["server"]["patched"] is True
    server.restart()
    table.fill(["2019-12-02"])

    nowhere = {"clickhouse": {"host": "127.0.0.1", "port": 1}}
    (again, silent), _output = call_modules(
        tmp_path,
        Call("replica_info", {**options, "before": first}, check_mode=True),
        Call("replica_info", nowhere),
    )
    assert (again["findings"], again["caught_up"]) == ([], True)
    assert [each["table"] for each in again["parts"]] == ["t"]
    assert silent["failed"]
    assert "ClickHouse at 127.0.0.1:1 cannot be reached: Connection refused" in silent["msg"]
