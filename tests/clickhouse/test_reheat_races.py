# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What real servers can do while a partition is brought back to hot, and before its copies are removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPException

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AssumeActive
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.servers.clickhouse import ZooKeeperSource
from support.servers.moving import Mover, log_not_pulled, returns
from support.servers.proxy import LISTS, Action, ZooKeeperProxy, operation
from support.servers.registered import Registry
from support.servers.replicated import ReplicatedTable, TableMaker, wait_for
from support.servers.watch import Watch
from support.servers.zookeeper import Ensemble

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"
BOTH = {"r1": [PART], "r2": [PART]}
ROWS = [("2019-12-02", number) for number in range(3)]
"""Those of the partition that is neither moved nor dropped."""
LATER = 700.0
"""Seconds after which no server can need the copies any more."""

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched, pytest.mark.usefixtures("healthy")]


@pytest.fixture
def table(make_table: TableMaker, mover: Mover) -> ReplicatedTable:
    """A table with an old part in each of two partitions, the first of which is cold."""
    made = make_table()
    made.fill(["2019-12-01", "2019-12-02"])
    made.settle()
    made.age(PART)
    made.settle()
    assert mover.move(made, [DAY]).moved.keys() == {DAY}
    return made


def reheat_and(mover: Mover, table: ReplicatedTable, meanwhile: Callable[[], object]) -> PatchedReport:
    """Bring the partition back, and do something else right before hot is written to."""
    waiting = [meanwhile]

    def before(_operation: str, multis: Sequence[Multi]) -> None:
        if returns(multis) and waiting:
            waiting.pop()()

    report = replace(mover, before_hot=before).reheat(table, [DAY])
    assert not waiting
    return report


def drop(table: ReplicatedTable, server: int = 0, sync: int = 2) -> None:
    table.servers[server].execute(
        f"ALTER TABLE {table.name} DROP PARTITION {DAY}", replication_alter_partitions_sync=sync
    )


def restart(table: ReplicatedTable) -> None:
    """Start every server again, and wait until it has nothing to do."""
    for server in table.servers:
        server.restart()
    table.settle()


def is_dropped(table: ReplicatedTable) -> bool:
    """Whether no server has anything but the other partition, and none set anything aside."""
    return all((table.rows(n), table.detached(n)) == (ROWS, []) for n in (0, 1))


def test_a_drop_that_was_carried_out_meanwhile(
    table: ReplicatedTable, mover: Mover, registry: Registry
) -> None:
    report = reheat_and(mover, table, lambda: drop(table))

    assert report.deferred[DAY].gate == "partition_exists"
    assert (report.moved, report.failed) == ({}, {})
    assert registry.of(table, DAY) == ({}, {})
    restart(table)
    assert is_dropped(table)


@pytest.mark.parametrize("blind", [0, 1])
def test_a_drop_that_one_server_has_carried_out_only(
    table: ReplicatedTable, mover: Mover, registry: Registry, blind: int
) -> None:
    server = table.servers[blind]
    server.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")

    def drop_on_the_other() -> None:
        drop(table, 1 - blind, sync=0)
        wait_for(lambda: table.rows(1 - blind) == ROWS)

    report = reheat_and(mover, table, drop_on_the_other)

    assert report.deferred[DAY].gate == "queue_clear"
    assert registry.of(table, DAY).hot == {}
    server.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    table.settle()
    assert registry.of(table, DAY) == ({}, {})
    restart(table)
    assert is_dropped(table)


def test_a_drop_that_no_server_has_taken_over_yet(
    table: ReplicatedTable,
    mover: Mover,
    registry: Registry,
    gateway: ZooKeeperProxy,
    watch: Callable[[ReplicatedTable], Watch],
) -> None:
    """Then the partition comes back first, and the drop finds it in hot."""
    drops: list[Future[None]] = []
    with ThreadPoolExecutor(1) as pool, log_not_pulled(gateway, table):

        def assign() -> None:
            log = len(registry.hot.get_children(f"{table.path}/log"))
            drops.append(pool.submit(drop, table))
            wait_for(lambda: len(registry.hot.get_children(f"{table.path}/log")) > log)

        with watch(table) as watched:
            report = reheat_and(mover, table, assign)
        assert registry.of(table, DAY) == (BOTH, BOTH)

    drops[0].result()
    assert (watched.problems, set(report.moved)) == ([], {DAY})
    table.settle()
    assert registry.of(table, DAY) == ({}, BOTH)
    restart(table)
    assert is_dropped(table)
    assert mover.reheat(table).deferred[DAY].gate == "copies_needed"

    mover.seconds_ahead = LATER
    assert mover.reheat(table).copies_removed == {DAY}
    assert registry.of(table, DAY) == ({}, {})
    restart(table)
    assert is_dropped(table)


def test_copies_of_a_part_that_was_dropped_before_others_came(
    table: ReplicatedTable, mover: Mover, registry: Registry
) -> None:
    assert mover.reheat(table).moved.keys() == {DAY}
    drop(table)
    table.insert("('2019-12-01', 9)")
    table.settle()
    rows, registered = table.rows(), registry.of(table, DAY).hot
    assert registry.of(table, DAY).cold == BOTH

    mover.seconds_ahead = LATER
    assert mover.reheat(table).copies_removed == {DAY}

    assert registry.of(table, DAY) == (registered, {})
    restart(table)
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert mover.move(table, [DAY]).moved.keys() == {DAY}


@pytest.mark.parametrize("copied", [True, False], ids=["with copies", "without copies"])
def test_a_part_that_a_killed_server_could_not_remove_after_its_drop(
    table: ReplicatedTable, mover: Mover, registry: Registry, copied: bool
) -> None:
    """A copy in cold brings it back to that server, which is why no copies stay for long."""
    assert mover.reheat(table).moved.keys() == {DAY}
    mover.seconds_ahead = LATER
    if not copied:
        assert mover.reheat(table).copies_removed == {DAY}
    drop_and_kill(table, registry)
    second = table.servers[1]
    second.start()
    table.settle()

    assert table.rows(0) == ROWS
    if not copied:
        assert (table.rows(1), table.detached(1)) == (ROWS, [f"ignored_{PART}"])
        return
    assert table.active_parts(1).keys() == {DAY, OTHER}
    refusal = mover.reheat(table).deferred[DAY]
    assert refusal.gate == "active_on_disk"
    assert refusal.reason == f"replica r2 has the active parts ['{PART}'], but [] are registered"
    assert registry.of(table, DAY) == ({}, BOTH)

    drop(table)
    table.settle()
    assert mover.reheat(table).copies_removed == {DAY}
    restart(table)
    assert is_dropped(table)
    assert registry.of(table, DAY) == ({}, {})


def drop_and_kill(table: ReplicatedTable, registry: Registry) -> None:
    """Drop the partition, and kill the second server while a query still keeps its part on disk."""
    second = table.servers[1]
    query = f"SELECT * FROM {table.name} PREWHERE sleepEachRow(3) = 0 WHERE day = '2019-12-01'"
    running = "SELECT count() FROM system.processes WHERE query LIKE '%sleepEachRow%'"

    with ThreadPoolExecutor(1) as pool:
        # A block may be slept over for three seconds at most.
        reading = pool.submit(second.execute, query, max_block_size=1)
        wait_for(lambda: second.value(running) == 2)
        drop(table, sync=1)
        wait_for(lambda: registry.of(table, DAY).hot == {} and registry.queue(table, "r2") == [])
        second.kill()
        assert isinstance(reading.exception(), OSError | HTTPException)
    # Or else the replica would be inactive from the end of its session until the server tries again.
    registry.hot.delete(f"{table.path}/replicas/r2/is_active")
    assert (table.folder(1) / PART).exists()


def test_a_server_that_has_read_hot_before_and_reads_cold_after_it(
    table: ReplicatedTable,
    mover: Mover,
    registry: Registry,
    gateway: ZooKeeperProxy,
    cold_ensemble: Ensemble,
) -> None:
    before = table.seen()
    server = table.servers[1]
    with ZooKeeperProxy(cold_ensemble.members[0].address) as way_to_cold, ThreadPoolExecutor(1) as pool:
        server.become(patched=True, cold=ZooKeeperSource(way_to_cold.address))
        server.write_config(ZooKeeperSource(gateway.address, session_ms=60_000))
        server.start()
        table.settle()
        # A server that is killed seems active for as long as its session lasts.
        server.kill()
        look = way_to_cold.trap(lists(f"{table.path}/replicas/r2/parts"), Action.HOLD)
        starting = pool.submit(server.start)
        look.wait(60)

        refusal = mover.reheat(table).deferred[DAY]
        assert (refusal.gate, refusal.reason.startswith("replica r2: ")) == ("active_on_disk", True)
        context = mover.context(table)._replace(servers=AssumeActive())
        assert reheat_shard(context, table.path, [DAY]).moved.keys() == {DAY}

        look.release()
        starting.result()
        table.settle()
        log = (server.folder / "clickhouse-server.log").read_text()
        assert f"start of {table.path}/replicas/r2: 1 parts are registered in hot and 1 in cold" in log
        assert table.seen() == before
        assert registry.queue(table, "r2") == []
        server.stop()


def lists(path: str) -> Callable[[bytes], bool]:
    """Match requests for the names of the children of the path."""
    return lambda request: operation(request) in LISTS and path.encode() in request
