# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook guard.yml with real servers: what it repairs, leaves unchanged, and reports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from support.ansible.calls import Call, PlaybookRun, run_playbook
from support.ansible.modules import Pair
from support.exposition import parsed
from support.plans import as_spark_submit
from support.servers.clickhouse import ClickHouseCluster, ClusterMaker, ServerOptions, ZooKeeperSource
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble

DAYS = ["2019-12-01", "2019-12-02", "2019-12-03"]
FIRST, SECOND, THIRD = (day.replace("-", "") for day in DAYS)
SIGN = "SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'"
EVERYTHING = {"guard_renew": True, "guard_bring_back": True, "guard_remove_copies": True}

pytestmark = [pytest.mark.clickhouse, pytest.mark.long(minutes=2)]


class Guard:
    """Two patched servers with a table, and runs of the guard."""

    def __init__(self, pair: Pair, servers: ClickHouseCluster, table: ReplicatedTable) -> None:
        self.pair = pair
        self.servers = servers
        self.table = table
        self.metrics = pair.folder / "partmove.prom"
        self.line = pair.folder / "line"
        self.clickhouse = {
            "endpoints": {name: f"127.0.0.1:{each.http_port}" for name, each in table.replicas.items()}
        }

    def run(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run the playbook as the timer does: with an inventory, and variables from a file."""
        common = {
            **{f"partmove_audit_{name}": value for name, value in self.pair.options.items()},
            "partmove_audit_clickhouse": self.clickhouse,
            "partmove_audit_root": self.pair.base,
            "partmove_audit_metrics": str(self.metrics),
            "guard_backup": str(self.pair.folder / "backup"),
            "guard_line_dest": str(self.line),
            "ansible_become": False,
        }
        extra, inventory = self.pair.folder / "vars.json", self.pair.folder / "inventory.json"
        extra.write_text(json.dumps({**common, **variables}))
        inventory.write_text(json.dumps({"clickhouse": {"hosts": self._hosts()}}))
        playbook = self.pair.folder / "site.yml"
        playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.guard"}]))
        self.line.unlink(missing_ok=True)
        self.metrics.unlink(missing_ok=True)
        return run_playbook(playbook, "-i", str(inventory), "-e", f"@{extra}", *options)

    def told(self) -> str:
        """Return the one-line report of the last run."""
        return self.line.read_text().rstrip("\n")

    def drift(self) -> dict[str, float]:
        """Return the number of findings by kind, from the metrics of the last run."""
        found = parsed(self.metrics.read_text())["partmove_audit_drift"]
        return {dict(labels)["kind"]: value for labels, value in found.items() if value}

    def _hosts(self) -> dict[str, Any]:
        version = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${Version}", "dpkg"], capture_output=True, check=True
        )
        package = {"name": "dpkg", "version": version.stdout.decode()}
        common = {
            **{f"clickhouse_node_{name}": value for name, value in self.pair.options.items()},
            "clickhouse_node_packages": [package],
            "clickhouse_node_patched_sign": SIGN,
            "clickhouse_node_service": "",
            "clickhouse_node_wait_delay": 1,
            "cold_zookeeper_config_packages": [],
        }
        return {
            server.name: {
                **common,
                "clickhouse_shard": 1,
                "clickhouse_node_clickhouse": {"host": "127.0.0.1", "port": server.http_port},
                "clickhouse_node_ledger_clickhouse": {"host": "127.0.0.1", "port": server.http_port},
                "clickhouse_node_config_path": str(server.config_path),
                "clickhouse_node_preprocessed": [str(server.config_path)],
            }
            for server in self.servers.servers
        }

    def enter(self, number: int) -> None:
        asked = {"host": "127.0.0.1", "port": self.servers.servers[number].http_port}
        result = self.pair.call("replica_ledger", patched_sign=SIGN, clickhouse=asked)
        assert not result["failed"], result

    def ledger(self) -> dict[str, str]:
        """Return the reason why a ledger entry is stale, by replica."""
        (shard,) = self.pair.call("replica_ledger_info", shard_paths=[self.table.path])["shards"]
        return {each["replica"]: each["reason"] for each in shard["replicas"]}

    def move(self, state: str, *partitions: str) -> None:
        wanted = [{"shard_path": self.table.path, "partition": each} for each in partitions]
        options: dict[str, Any] = {
            "min_age": "0",
            "clickhouse": self.clickhouse,
            "state": state,
            "partitions": wanted,
        }
        assert self.pair.call("part_move", **options)["counts"]["moved"] == len(partitions)

    def state(self, partition: str) -> bytes:
        data: bytes = self.pair.hot.get(self.state_path(partition))[0]
        return data

    def leases(self) -> list[str]:
        names: list[str] = self.pair.hot.get_children(f"{self.pair.options['coordination_root']}/guard")
        return names

    def state_path(self, partition: str) -> str:
        return f"{self.table.path}/block_numbers/{partition}/State"


@pytest.fixture
def guard(pair: Pair, start_cluster: ClusterMaker, hot: Ensemble, cold: Ensemble) -> Guard:
    """FIRST and SECOND were moved, all servers are in the ledger, and everything is consistent."""
    options = ServerOptions(patched=True, cold=ZooKeeperSource(cold.connect_string))
    servers = start_cluster(ZooKeeperSource(hot.connect_string, session_ms=60_000), options=options)
    table = ReplicatedTable("hits", f"{pair.base}/hits", servers.servers).create(WITHOUT_MERGES)
    table.fill(DAYS)
    table.settle()
    guard = Guard(pair, servers, table)
    guard.enter(0)
    guard.enter(1)
    guard.move("cold", FIRST, SECOND)
    return guard


def spoil(guard: Guard) -> list[tuple[object, ...]]:
    """Insert late into FIRST, leave copies of SECOND, and restart a server; return all rows."""
    guard.move("hot", SECOND)
    # A State without the time of the move: no server can need the copies.
    guard.pair.hot.delete(guard.state_path(SECOND))
    guard.pair.hot.create(guard.state_path(SECOND), b"HOT")
    guard.table.insert(f"('{DAYS[0]}', 77)")
    guard.table.settle()
    rows = guard.table.rows()
    guard.servers.servers[1].restart()
    wait_for(lambda: guard.table.rows(1) == rows)
    return rows


def test_what_the_guard_leaves_alone_and_what_it_does(guard: Guard, variables: dict[str, Any]) -> None:
    rows = spoil(guard)
    before = guard.pair.trees_below(guard.pair.base)
    drifted = "1 kind of inconsistency (half_cold 2); 2 can wait (copies_left)"

    silent = {"endpoints": {**guard.clickhouse["endpoints"], "r2": "127.0.0.1:9"}}
    incomplete = guard.run(partmove_audit_clickhouse=silent, **EVERYTHING)
    assert incomplete.status == 0, incomplete.told
    assert guard.told().endswith("; 3 not judged; nothing changed: not everything could be judged")

    checked = guard.run("--check", **EVERYTHING)
    assert checked.status == 0, checked.told
    assert guard.told() == (
        f"PARTMOVE guard (check mode): {drifted};"
        " 1 renewed in the ledger; 1 brought back; copies of 1 removed"
    )

    _take_lease(guard, owner="another guard")
    second = guard.run(**EVERYTHING)
    assert second.status == 0, second.told
    assert guard.told() == f"PARTMOVE guard: {drifted}; nothing changed: the lease belongs to another guard"
    assert guard.drift() == {"half_cold": 2}
    _take_lease(guard, owner="another guard", state="given_back")
    assert guard.pair.trees_below(guard.pair.base) == before

    failed = guard.run(
        **EVERYTHING,
        **{**variables, "partition_classify_root": "no path"},
        guard_separate=True,
    )
    assert failed.status == 2, failed.told
    assert guard.told().startswith("PARTMOVE guard: FAILED: separate: ")
    assert guard.told().endswith(
        "; everything consistent; 1 renewed in the ledger; 1 brought back; copies of 1 removed"
    )
    assert guard.drift() == {}
    assert guard.ledger() == {"r1": "", "r2": ""}
    assert guard.leases() == []

    done = guard.run(guard_separate=True, **EVERYTHING, **variables)
    assert done.status == 0, done.told
    assert guard.told() == "PARTMOVE guard: everything consistent; 2 moved"
    # The newest is the one with the late insert.
    assert [guard.state(each) for each in (FIRST, SECOND, THIRD)] == [b"HOT", b"COLD", b"COLD"]
    # That it was done is remembered for a while.
    assert guard.leases() == ["separate"]
    assert guard.table.rows(0) == guard.table.rows(1) == rows
    assert [guard.table.detached(number) for number in (0, 1)] == [[], []]


@pytest.fixture
def variables(guard: Guard) -> dict[str, Any]:
    """Return the variables for guard_separate, with a decision of Spark to keep the newest partition hot."""
    states = {FIRST: State.HOT, SECOND: State.COLD, THIRD: State.COLD}
    wanted = {(guard.table.path, partition): state for partition, state in states.items()}
    of_role = {
        "partition_classify": {
            "hot": guard.pair.options["hot"],
            "cold": guard.pair.options["cold"],
            "root": guard.pair.base,
            "policy": {"version": 1, "defaults": {"keep_newest": 1, "cold_after": "1s"}},
            "as_of": "2100-01-01T00:00:00Z",
            "future": True,
            "plan_dest": str(guard.pair.folder / "plan.jsonl"),
            "spark_submit": str(as_spark_submit(guard.pair.folder, guard.pair.hot, wanted)),
            "python": sys.executable,
        },
        "part_move": {**guard.pair.options, "clickhouse": guard.clickhouse, "min_age": "0"},
    }
    return {f"{role}_{name}": value for role, given in of_role.items() for name, value in given.items()}


def _take_lease(guard: Guard, **options: Any) -> None:
    common = {name: guard.pair.options[name] for name in ("hot", "coordination_root")}
    (result,) = guard.pair.call_all(Call("guard_lease", {**common, **options}))
    assert result["changed"], result
