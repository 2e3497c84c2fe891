# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Situations that real servers get a table into, and the gates that keep its partitions hot meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.servers.clickhouse import ClickHouseCluster, QueryError
from support.servers.moving import Mover
from support.servers.proxy import Action, ZooKeeperProxy, writes
from support.servers.replicated import BY_DAY, ReplicatedTable, TableMaker, wait_for

DAY = "20191201"
ROWS = "('2019-12-01', 1), ('2019-12-01', 2)"
LATER = "('2019-12-01', 3)"
REST = "('2019-12-02', 1)"


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with one part in each of two partitions, which no gate stops."""
    table = make_table()
    table.insert(ROWS, REST)
    table.settle()
    return table


class Check(NamedTuple):
    """Tries to move the partition DAY of a table."""

    mover: Mover
    hot: KazooClient
    cold: KazooClient

    def stays(self, table: ReplicatedTable, gate: str, *others: str) -> str:
        """It stays as it is because of the gate; `others` would stop it as well. Returns the reason."""
        assert {gate, *others} <= self.mover.gates(table, DAY)
        written: list[str] = []

        def note(_operation: str, multis: Sequence[Multi]) -> None:
            written.extend(op.path for multi in multis for op in multi if op.path.startswith(table.path))

        watching = replace(self.mover, before_hot=note, before_cold=note)
        report = watching.move(table, [DAY])
        assert {each: refusal.gate for each, refusal in report.deferred.items()} == {DAY: gate}
        assert (report.moved, report.unchanged, report.failed) == ({}, set(), {})
        assert written == []
        return report.deferred[DAY].reason

    def moves(self, table: ReplicatedTable) -> None:
        """It can be moved, once the table has settled."""
        table.settle()
        report = self.mover.move(table, [DAY])
        assert report.deferred == {}
        assert report.moved.keys() == {DAY}
        assert self.in_cold(table) == set(table.active_parts()[DAY])

    def in_cold(self, table: ReplicatedTable) -> set[str]:
        """Names of the parts that cold has of replica r2, which is the last one to be copied."""
        path = f"{table.path}/replicas/r2/parts"
        self.cold.sync(path)
        return set(self.cold.get_children(path)) if self.cold.exists(path) else set()


@pytest.fixture
def check(mover: Mover, hot_client: KazooClient, cold_clients: Sequence[KazooClient]) -> Check:
    return Check(mover, hot_client, cold_clients[0])


def test_no_gate_stops_a_quiet_table(table: ReplicatedTable, mover: Mover) -> None:
    assert mover.gates(table, DAY) == set()


def test_insert_that_a_replica_has_not_fetched(table: ReplicatedTable, check: Check) -> None:
    _first, second = table.servers
    second.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    table.insert(LATER)
    reason = check.stays(table, "queue_clear", "equal_parts", "one_part")
    assert f"get in {table.path}/" in reason
    second.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    table.settle()
    assert check.stays(table, "one_part").startswith("replica r1 has 2 parts registered: ")
    table.servers[0].execute(f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL")
    check.moves(table)


def test_entry_in_the_queue_of_a_stopped_replica_concerns_its_partition_only(
    table: ReplicatedTable, check: Check
) -> None:
    table.servers[1].execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    table.insert("('2019-12-02', 7)")
    assert "queue_clear" in check.mover.gates(table, "20191202")
    assert check.mover.move(table, [DAY, "20191202"]).moved.keys() == {DAY}


@pytest.mark.parametrize("statement", [
    f"OPTIMIZE TABLE {{}} PARTITION {DAY} FINAL",
    f"ALTER TABLE {{}} DETACH PARTITION {DAY}",
    f"ALTER TABLE {{}} CLEAR COLUMN id2 IN PARTITION {DAY}",
    f"ALTER TABLE {{}} REPLACE PARTITION {DAY} FROM source_of_{{}}",
])  # fmt: skip
def test_statement_that_a_replica_has_not_carried_out(
    make_table: TableMaker, check: Check, statement: str
) -> None:
    table = make_table(BY_DAY._replace(columns="day Date, id UInt32, id2 UInt32 DEFAULT id"))
    first, second = table.servers
    table.insert("('2019-12-01', 1, 1)")
    table.settle()
    first.execute(
        f"CREATE TABLE source_of_{table.name} AS {table.name} ENGINE = MergeTree"
        " PARTITION BY toYYYYMMDD(day) ORDER BY id"
    )
    first.execute(f"INSERT INTO source_of_{table.name} VALUES ('2019-12-01', 5, 5)")
    second.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    first.execute(statement.format(table.name, table.name), replication_alter_partitions_sync=0)
    wait_for(
        lambda: first.query(f"SELECT queue_size FROM system.replicas WHERE table = '{table.name}'") == [(0,)]
    )
    check.stays(table, "queue_clear")
    second.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    if "DETACH" in statement:
        table.settle()
        assert check.mover.move(table, [DAY]).deferred[DAY].gate == "partition_exists"
    else:
        check.moves(table)


def test_insert_that_has_no_quorum_yet(table: ReplicatedTable, check: Check) -> None:
    table.servers[1].execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    with pytest.raises(QueryError, match="Timeout while waiting for quorum"):
        table.insert(LATER, insert_quorum=2, insert_quorum_timeout=100)
    check.stays(table, "queue_clear", "no_quorum_open")
    table.servers[1].execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    table.settle()
    check.stays(table, "one_part")
    assert "no_quorum_open" not in check.mover.gates(table, DAY)


def test_mutation_that_has_not_been_applied(table: ReplicatedTable, check: Check) -> None:
    for server in table.servers:
        server.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    table.servers[0].execute(f"ALTER TABLE {table.name} DELETE WHERE id = 1")
    assert "mutations_applied" in check.mover.gates(table, DAY)
    assert check.mover.move(table, [DAY]).deferred.keys() == {DAY}
    for server in table.servers:
        server.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    wait_for(lambda: table.active_parts() == {DAY: [f"{DAY}_0_0_0_1"], "20191202": ["20191202_0_0_0_1"]})
    check.moves(table)


def test_replica_that_is_not_active(table: ReplicatedTable, check: Check) -> None:
    table.servers[1].execute(f"DETACH TABLE {table.name}")
    assert check.stays(table, "replicas_healthy") == "replica r2 is not active"
    table.servers[1].execute(f"ATTACH TABLE {table.name}")
    check.moves(table)


def test_replica_that_is_lost(replicas: ClickHouseCluster, check: Check, base: str) -> None:
    settings = "SETTINGS min_replicated_logs_to_keep = 2, max_replicated_logs_to_keep = 4"
    quick = BY_DAY._replace(clauses=f"{BY_DAY.clauses} {settings}")
    table = ReplicatedTable("lost", base, replicas.servers).create(quick)
    table.insert(ROWS)
    table.settle()
    table.servers[1].execute(f"DETACH TABLE {table.name}")
    for number in range(8):
        table.insert(f"('2019-12-09', {number})")
    wait_for(lambda: check.hot.get(f"{base}/replicas/r2/is_lost")[0] == b"1")
    check.stays(table, "replicas_healthy")


def test_replica_with_other_parts(replicas: ClickHouseCluster, check: Check, base: str) -> None:
    for server, lifetime in zip(replicas.servers, (600, 1), strict=True):
        clauses = f"{BY_DAY.clauses} SETTINGS old_parts_lifetime = {lifetime}"
        ReplicatedTable("other", base, [server]).create(BY_DAY._replace(clauses=clauses))
    table = ReplicatedTable("other", base, replicas.servers)
    table.insert(ROWS)
    table.servers[0].execute(f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL")
    replicas.execute(f"SYSTEM SYNC REPLICA {table.name}")
    wait_for(lambda: check.hot.get_children(f"{base}/replicas/r2/parts") == [f"{DAY}_0_0_1"])
    reason = check.stays(table, "equal_parts", "one_part")
    assert reason == f"the replicas have different parts: {DAY}_0_0_0 is not on r2"


def defined(check: Check, path: str) -> list[bytes]:
    """The definition of the table that is kept at the path of the table, or of a replica."""
    return [check.hot.get(f"{path}/{name}")[0] for name in ("columns", "metadata")]


def test_alter_that_a_replica_has_not_carried_out(
    table: ReplicatedTable, check: Check, gateway: ZooKeeperProxy
) -> None:
    held = gateway.trap(writes(f"{table.path}/replicas/r2/columns".encode()), Action.HOLD)
    with ThreadPoolExecutor(1) as pool:
        alter = pool.submit(table.servers[0].execute, f"ALTER TABLE {table.name} ADD COLUMN more String")
        try:
            held.wait(60)
            wait_for(lambda: defined(check, f"{table.path}/replicas/r1") == defined(check, table.path))
            reason = check.stays(table, "no_alter_pending")
        finally:
            held.release()
        alter.result()
    assert reason == "replicas with another table definition: r2"
    check.moves(table)


def test_insert_that_has_a_block_number(
    table: ReplicatedTable, check: Check, gateway: ZooKeeperProxy
) -> None:
    part = f"{table.path}/replicas/r1/parts/{DAY}_1_1_0"
    held = gateway.trap(writes(part.encode()), Action.HOLD)
    with ThreadPoolExecutor(1) as pool:
        insert = pool.submit(table.insert, LATER)
        try:
            held.wait(60)
            check.stays(table, "no_insert_in_flight")
        finally:
            held.release()
        insert.result()
    table.settle()
    check.stays(table, "one_part")


def test_partition_that_is_too_young(table: ReplicatedTable, check: Check) -> None:
    check.mover.options = GateOptions(min_age=3600.0, max_parts=1)
    assert "less than 3600 s" in check.stays(table, "old_enough")
    check.mover.options = GateOptions(min_age=0.5, max_parts=1)
    time.sleep(0.5)
    check.moves(table)


def test_part_without_rows(table: ReplicatedTable, mover: Mover) -> None:
    table.servers[0].execute(f"ALTER TABLE {table.name} DELETE WHERE day = '2019-12-01'")
    wait_for(lambda: table.active_parts().get(DAY) == [f"{DAY}_0_0_0_1"])
    table.settle()
    refusal = mover.move(table).deferred[DAY]
    assert (refusal.gate, refusal.reason) == (
        "active_on_disk",
        f"replica r1 has no rows in part {DAY}_0_0_0_1",
    )


@pytest.mark.parametrize(("endpoint", "reason"), [
    ("127.0.0.1:1", "replica r2: ClickHouse at 127.0.0.1:1 cannot be reached: Connection refused"),
    ("{r1}", "replica r2: ClickHouse at {r1} has 0 tables that are replica r2 of {path}"),
])  # fmt: skip
def test_server_that_cannot_be_asked(
    table: ReplicatedTable, check: Check, endpoint: str, reason: str
) -> None:
    names = {"r1": f"127.0.0.1:{table.servers[0].http_port}", "path": table.path}
    check.mover.endpoints = {"r2": endpoint.format_map(names)}
    refusal = check.mover.move(table, [DAY]).deferred[DAY]
    assert (refusal.gate, refusal.reason) == ("active_on_disk", reason.format_map(names))
    check.mover.endpoints = {}
    check.moves(table)


def test_part_on_disk_that_is_registered_nowhere(
    table: ReplicatedTable, check: Check, hot_client: KazooClient
) -> None:
    for replica in ("r1", "r2"):
        hot_client.delete(f"{table.path}/replicas/{replica}/parts/{DAY}_0_0_0", recursive=True)
    for run in (check.mover.move, check.mover.reheat):
        refusal = run(table, [DAY]).failed[DAY]
        assert (refusal.gate, refusal.remedy[:26]) == ("registered", "Do not restart the server:")
        assert refusal.reason.endswith(f": r1 has {DAY}_0_0_0, r2 has {DAY}_0_0_0")


def test_table_that_was_made_again(table: ReplicatedTable, check: Check) -> None:
    check.moves(table)
    for server in table.servers:
        server.execute(f"DROP TABLE {table.name}")
    refusal = check.mover.move(table, [DAY]).deferred[DAY]
    assert refusal.gate == "partition_exists"
    assert refusal.reason.startswith(f"There is no replicated table at {table.path}")
    table.create()
    table.insert(ROWS)
    table.settle()
    report = check.mover.move(table, [DAY])
    assert report.deferred[DAY].gate == "same_table"
    assert "parts of a former table" in report.deferred[DAY].reason
    assert check.hot.exists(f"{table.path}/block_numbers/{DAY}/State") is None
