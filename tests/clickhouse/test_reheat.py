# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions of real tables that come back to hot: what servers make of them, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
    StillCold,
    Withdrawal,
    withdraw_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from support.memory.ledger import enter
from support.memory.tables import read_tree
from support.servers.clickhouse import QueryError
from support.servers.moving import Mover
from support.servers.registered import Registry, parts_in
from support.servers.replicated import (
    BY_DAY,
    OLD_STYLE,
    UNPARTITIONED,
    WITHOUT_MERGES,
    Definition,
    ReplicatedTable,
    TableMaker,
    wait_for,
)
from support.servers.watch import Watch

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"
BOTH = {"r1": [PART], "r2": [PART]}
LATER = 700.0
"""Seconds after which no server can need the copies any more."""

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched, pytest.mark.usefixtures("healthy")]


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with three rows in an old part of one partition, and thirty in one of another."""
    return filled(make_table, BY_DAY)


def filled(make_table: TableMaker, definition: Definition) -> ReplicatedTable:
    table = make_table(definition)
    table.fill(["2019-12-01"])
    table.fill(["2019-12-02"], rows=30)
    table.settle()
    table.age(*(part for parts in table.active_parts().values() for part in parts))
    table.settle()
    return table


def restart(table: ReplicatedTable) -> None:
    """Start every server again, and wait until it has nothing to do."""
    for server in table.servers:
        server.restart()
    table.settle()


def state(table: ReplicatedTable, registry: Registry, partition: str = DAY) -> bytes:
    return bytes(registry.hot.get(f"{table.path}/block_numbers/{partition}/State")[0])


def gates(report: PatchedReport) -> dict[str, str]:
    """Partition id → the gate that it was deferred by."""
    return {each: refusal.gate for each, refusal in report.deferred.items()}


@pytest.mark.parametrize(
    ("definition", "partition"),
    [(WITHOUT_MERGES, DAY), (OLD_STYLE, "201912"), (UNPARTITIONED, "all")],
    ids=["days", "old-style months", "one partition"],
)
def test_the_way_back_to_stock_servers(
    make_table: TableMaker,
    mover: Mover,
    registry: Registry,
    watch: Callable[[ReplicatedTable], Watch],
    definition: Definition,
    partition: str,
) -> None:
    table = make_table(definition)
    table.fill(["2019-12-01"])
    table.settle()
    before, registered = table.seen(), parts_in(registry.hot, table)
    assert mover.move(table).moved.keys() == {partition}
    restart(table)

    with watch(table) as watched:
        report = mover.reheat(table)

    assert watched.problems == []
    moved = report.moved[partition]
    assert (moved.state_before, moved.state_after, moved.parts, moved.znodes) == ("COLD", "HOT", 2, 6)
    assert (report.deferred, report.failed) == ({}, {})
    assert parts_in(registry.hot, table) == parts_in(registry.cold, table) == registered
    assert state(table, registry, partition) == b"HOT"
    assert table.seen() == before

    # Both ensembles have the parts now.
    restart(table)
    assert table.seen() == before
    assert [registry.queue(table, replica) for replica in ("r1", "r2")] == [[], []]
    assert gates(mover.reheat(table)) == {partition: "copies_needed"}

    mover.seconds_ahead = LATER
    assert mover.reheat(table).copies_removed == {partition}
    assert parts_in(registry.hot, table) == registered
    assert parts_in(registry.cold, table) == {}
    assert mover.reheat(table, [partition]).unchanged == {partition}

    for server in table.servers:
        server.restart_stock()
    table.settle()
    assert table.seen() == before
    table.insert("('2019-12-01', 9)", server=1)
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [4, 4]


@pytest.mark.parametrize("restarted", [False, True], ids=["never restarted", "restarted while cold"])
def test_servers_work_with_what_is_back_as_if_it_never_was_cold(
    table: ReplicatedTable, mover: Mover, registry: Registry, restarted: bool
) -> None:
    assert mover.move(table).moved.keys() == {DAY, OTHER}
    if restarted:
        restart(table)
    assert mover.reheat(table).moved.keys() == {DAY, OTHER}

    first, second = table.servers
    first.execute(f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL", replication_alter_partitions_sync=2)
    wait_for(lambda: all(table.active_parts(n)[DAY] == [f"{DAY}_0_0_1"] for n in (0, 1)))
    second.execute(f"ALTER TABLE {table.name} DELETE WHERE id = 1")
    rows = [("2019-12-01", 0), ("2019-12-01", 2)]
    wait_for(lambda: all(len(table.rows(number)) == 2 + 29 for number in (0, 1)))
    table.settle()
    restart(table)
    assert [table.rows(number)[:2] for number in (0, 1)] == [rows, rows]
    second.execute(f"ALTER TABLE {table.name} DROP PARTITION {OTHER}", replication_alter_partitions_sync=2)
    table.settle()

    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], []]
    assert registry.of(table, OTHER).hot == {}
    mutated = table.active_parts()[DAY]
    assert registry.of(table, DAY).hot == {"r1": mutated, "r2": mutated}


def test_a_late_insert_and_the_cold_part_can_be_merged(
    make_table: TableMaker, mover: Mover, registry: Registry
) -> None:
    table = filled(make_table, WITHOUT_MERGES)
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    table.insert("('2019-12-01', 9)")
    table.settle()
    late = registry.of(table, DAY).hot["r1"]
    rows = table.rows()

    report = mover.reheat(table)

    assert report.moved[DAY].parts == 2
    names = sorted([PART, *late])
    assert registry.of(table, DAY).hot == {"r1": names, "r2": names}
    restart(table)
    assert table.active_parts()[DAY] == names

    table.servers[0].execute(f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL")
    wait_for(lambda: all(len(table.active_parts(number)[DAY]) == 1 for number in (0, 1)))
    table.settle()
    mover.seconds_ahead = LATER
    assert mover.reheat(table).copies_removed == {DAY}
    restart(table)
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], []]
    assert registry.of(table, DAY).cold == {}


def test_a_part_that_one_disk_has_not_stays_cold_until_it_is_put_there(
    table: ReplicatedTable, mover: Mover, registry: Registry
) -> None:
    before = table.seen()
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    _first, second = table.servers
    second.stop()
    shutil.rmtree(table.folder(1) / PART)
    second.start()
    table.settle()
    trees = [read_tree(client, table.path) for client in registry]

    refusal = mover.reheat(table).deferred[DAY]

    assert refusal.gate == "active_on_disk"
    assert refusal.reason == f"replica r2 has the active parts [], but ['{PART}'] are registered"
    assert [read_tree(client, table.path) for client in registry] == trees

    # No server can fetch it from another one while it is cold.
    second.stop()
    shutil.copytree(table.folder(0) / PART, table.folder(1) / PART)
    second.start()
    table.settle()
    assert mover.reheat(table).moved.keys() == {DAY}
    assert table.seen() == before


def test_a_part_that_cannot_be_read_is_replaced_again(
    table: ReplicatedTable, mover: Mover, registry: Registry
) -> None:
    rows = table.rows()
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    assert mover.reheat(table).moved.keys() == {DAY}
    column = table.folder(1) / PART / "id.bin"
    data = bytearray(column.read_bytes())
    data[-1] ^= 0xFF
    column.write_bytes(data)

    with pytest.raises(QueryError, match="Checksum doesn't match"):
        table.rows(1)

    wait_for(lambda: bool(table.detached(1)))
    wait_for(lambda: table.rows(1) == rows)
    assert registry.of(table, DAY) == (BOTH, BOTH)
    restart(table)
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]


def test_a_server_that_is_down(table: ReplicatedTable, mover: Mover, registry: Registry) -> None:
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    second = table.servers[1]
    second.stop()
    trees = [read_tree(client, table.path) for client in registry]

    refusal = mover.reheat(table).deferred[DAY]

    assert (refusal.gate, refusal.reason) == ("replicas_healthy", "replica r2 is not active")
    assert [read_tree(client, table.path) for client in registry] == trees
    second.start()
    table.settle()
    assert mover.reheat(table).moved.keys() == {DAY}

    second.stop()
    mover.seconds_ahead = LATER
    assert gates(mover.reheat(table)) == {DAY: "copies_needed"}
    assert registry.of(table, DAY) == (BOTH, BOTH)


def test_the_downgrade_guard_lets_servers_go_after_it(table: ReplicatedTable, mover: Mover) -> None:
    keys = [ReplicaKey(table.path, name) for name in ("r1", "r2")]
    enter(mover.hot, mover.cold, *keys)
    assert mover.move(table).moved.keys() == {DAY, OTHER}
    guard, ledger = DowngradeGuard(mover.hot, mover.cold, DEFAULT_ROOT), Ledger(mover.hot)
    assert mover.reheat(table, [OTHER]).moved.keys() == {OTHER}
    with pytest.raises(StillCold, match=f"1 partition is registered in cold only.*: {DAY} of "):
        withdraw_replicas(guard, ledger, keys, Withdrawal())

    assert mover.reheat(table).moved.keys() == {DAY}

    withdrawal = Withdrawal()
    withdraw_replicas(guard, ledger, keys, withdrawal)
    assert withdrawal.cold_partitions == []
    assert [withdrawal.changes[key].after for key in keys] == [None, None]


def test_check_mode_writes_nothing(table: ReplicatedTable, mover: Mover, registry: Registry) -> None:
    def trees() -> list[object]:
        return [read_tree(client, path) for client in registry for path in (table.path, "/partmove")]

    assert mover.move(table).moved.keys() == {DAY, OTHER}
    assert mover.reheat(table, [OTHER]).moved.keys() == {OTHER}
    before = trees()
    checking = Mover(
        OverlayStore(mover.hot, SystemClock()), OverlayStore(mover.cold, SystemClock()), seconds_ahead=LATER
    )

    report = checking.reheat(table)

    assert (set(report.moved), report.copies_removed) == ({DAY}, {OTHER})
    assert trees() == before
    again = Mover(mover.hot, mover.cold, seconds_ahead=LATER).reheat(table)
    assert (again.moved, again.copies_removed) == (report.moved, report.copies_removed)
