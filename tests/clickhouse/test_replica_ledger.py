# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real servers that are entered in the ledger, moved with, restarted, and not let go of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.calls import Call, run_modules
from support.servers.clickhouse import ClickHouseCluster, ClusterMaker, ServerOptions, ZooKeeperSource
from support.servers.replicated import ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble

FIRST, SECOND = "20191201", "20191202"
SIGN = "SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'"

pytestmark = pytest.mark.clickhouse


class Modules:
    """Calls of the modules for the servers of one table."""

    def __init__(self, servers: ClickHouseCluster, table: ReplicatedTable, **common: Any) -> None:
        self._servers = servers
        self._table = table
        self._common = common

    def call(self, *calls: Call) -> list[dict[str, Any]]:
        return run_modules(*calls)

    def ledger(self, server: int, check: bool = False, **options: Any) -> Call:
        port = self._servers.servers[server].http_port
        asked = {"clickhouse": {"host": "127.0.0.1", "port": port}, "patched_sign": SIGN}
        return Call("replica_ledger", {**self._common, **asked, **options}, check)

    def move(self, partition: str) -> Call:
        endpoints = {name: f"127.0.0.1:{each.http_port}" for name, each in self._table.replicas.items()}
        wanted = [{"shard_path": self._table.path, "partition": partition}]
        options = {"partitions": wanted, "min_age": "0", "clickhouse": {"endpoints": endpoints}}
        return Call("part_move", {**self._common, **options})

    def look(self) -> Call:
        return Call("replica_ledger_info", {**self._common, "shard_paths": [self._table.path]})


@pytest.fixture
def start(
    start_cluster: ClusterMaker, hot: Ensemble, cold: Ensemble, base: str
) -> Callable[..., tuple[ClickHouseCluster, ReplicatedTable, Modules]]:
    """Return a function that starts two replicas with a table, and makes the calls for them."""

    def start_two(
        *, patched: bool, session_ms: int = 60_000
    ) -> tuple[ClickHouseCluster, ReplicatedTable, Modules]:
        options = ServerOptions(
            patched=patched, cold=ZooKeeperSource(cold.connect_string) if patched else None
        )
        source = ZooKeeperSource(hot.connect_string, session_ms=session_ms)
        servers = start_cluster(source, options=options)
        table = ReplicatedTable("hits", f"{base}/hits", servers.servers).create()
        table.fill(["2019-12-01", "2019-12-02"])
        table.settle()
        modules = Modules(
            servers,
            table,
            hot={"hosts": [member.address for member in hot.members]},
            cold={"hosts": [member.address for member in cold.members]},
            coordination_root=f"{base}-partmove",
        )
        return servers, table, modules

    return start_two


def test_enter_move_restart_and_stay(
    start: Callable[..., tuple[ClickHouseCluster, ReplicatedTable, Modules]],
) -> None:
    servers, table, modules = start(patched=True)
    rows = table.rows()

    early, checked, first, again, half, second, moved = modules.call(
        modules.move(FIRST),
        modules.ledger(0, check=True),
        modules.ledger(0),
        modules.ledger(0),
        modules.move(FIRST),
        modules.ledger(1),
        modules.move(FIRST),
    )
    assert early["deferred"][0]["gate"] == "patched_replicas"
    names = sorted(table.replicas)
    assert early["deferred"][0]["reason"] == ", ".join(
        f"replica {each} is not in the ledger" for each in names
    )
    entered = {"shard_path": table.path, "replica": names[0], "table": "default.hits"}
    assert first["replicas"] == [entered | {"before": "absent", "after": "ready"}]
    assert [each["changed"] for each in (checked, first, again, second)] == [True, True, False, True]
    assert (checked["replicas"], checked["diff"]) == (first["replicas"], first["diff"])
    assert half["deferred"][0]["reason"] == f"replica {names[1]} is not in the ledger"
    assert moved["counts"]["moved"] == 1

    servers.servers[1].restart()
    wait_for(lambda: table.rows(1) == rows)
    look, stale, guard, renewed, later, after = modules.call(
        modules.look(),
        modules.move(SECOND),
        modules.ledger(1, state="absent"),
        modules.ledger(1),
        modules.move(SECOND),
        modules.look(),
    )
    restarted = f"replica {names[1]} restarted, or had a new session, since it was verified"
    assert (look["ready"], look["shards"][0]["reason"]) == (False, restarted)
    assert (look["shards"][0]["table"], look["shards"][0]["cold_partitions"]) == ("default.hits", [FIRST])
    assert (stale["deferred"][0]["gate"], stale["deferred"][0]["reason"]) == ("patched_replicas", restarted)
    assert guard["failed"]
    assert f"nothing was withdrawn: {FIRST} of default.hits ({table.path})" in guard["msg"]
    assert [(each["before"], each["after"]) for each in renewed["replicas"]] == [("stale", "ready")]
    assert later["counts"]["moved"] == 1
    assert (after["ready"], after["downgrade_allowed"]) == (True, False)
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]


def test_what_is_not_entered_and_what_is_let_go(
    start: Callable[..., tuple[ClickHouseCluster, ReplicatedTable, Modules]],
    hot: Ensemble,
    cold: Ensemble,
    connect: Callable[[str], KazooClient],
) -> None:
    """A stock server has not the sign; SELECT 1 stands for one in what has nothing to do with it."""
    servers, table, modules = start(patched=False, session_ms=10_000)
    any_server: dict[str, Any] = {"patched_sign": "SELECT 1"}
    unknown = [{"shard_path": f"{table.path}x", "replica": "r1"}]
    stock, no_query, old, foreign, young = modules.call(
        modules.ledger(0),
        modules.ledger(0, patched_sign="SELECT no_such_function()"),
        modules.ledger(0, config_changed_at=9e9, **any_server),
        modules.ledger(0, replicas=unknown, **any_server),
        modules.ledger(0, config_changed_at=1.5, **any_server),
    )
    for result, message in (
        (stock, "does not show the sign of the patch"),
        (no_query, "does not show the sign of the patch"),
        (old, "was started before its configuration was changed"),
        (foreign, f"does not have replica r1 of {table.path}x"),
    ):
        assert result["failed"]
        assert message in result["msg"]
        assert result["replicas"] == []
    assert [each["after"] for each in young["replicas"]] == ["ready"]

    name, other = sorted(table.replicas)
    inherited = connect(cold.connect_string)
    inherited.create(f"{table.path}/replicas/{other}/parts/20180101_0_0_0", makepath=True)
    (refused,) = modules.call(modules.ledger(1, **any_server))
    assert refused["failed"]
    part = f"neither in hot nor on its disk, replica {other} of {table.path}: 20180101_0_0_0."
    assert part in refused["msg"]
    inherited.delete(table.path, recursive=True)
    modules.call(modules.ledger(1, **any_server))
    is_active = f"{table.path}/replicas/{other}/is_active"
    client = connect(hot.connect_string)
    servers.servers[1].pause()
    wait_for(lambda: client.exists(is_active) is None)
    servers.servers[1].resume()
    wait_for(lambda: client.exists(is_active) is not None)
    servers.servers[0].stop()
    by_host: dict[str, Any] = {"host": "127.0.0.1", "interserver_port": servers.servers[0].ports.interserver}
    down, let_go = modules.call(modules.look(), modules.ledger(0, state="absent", root=table.path, **by_host))
    assert down["shards"][0]["reason"] == (
        f"replica {name} is not active,"
        f" replica {other} restarted, or had a new session, since it was verified"
    )
    assert [(each["replica"], each["before"], each["after"]) for each in let_go["replicas"]] == [
        (name, "stale", "absent")
    ]
