# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What real servers can do between the copies of a partition and its switch, and at that very instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.servers.moving import Mover, log_not_pulled, switches
from support.servers.proxy import Action, ZooKeeperProxy, writes
from support.servers.replicated import (
    BY_DAY,
    WITHOUT_MERGES,
    Definition,
    ReplicatedTable,
    TableMaker,
    wait_for,
)
from support.servers.watch import Watch

DAY = "20191201"
PART = "20191201_0_0_0"


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with one part in one partition, which no gate stops."""
    return filled(make_table, BY_DAY)


@pytest.fixture
def unmerged(make_table: TableMaker) -> ReplicatedTable:
    """The same, but further parts stay apart."""
    return filled(make_table, WITHOUT_MERGES)


def filled(make_table: TableMaker, definition: Definition) -> ReplicatedTable:
    table = make_table(definition._replace(columns="day Date, id UInt32, size UInt32 DEFAULT id"))
    table.insert("('2019-12-01', 1, 1), ('2019-12-01', 2, 2)")
    table.settle()
    return table


@dataclass
class Race:
    """Moves a table's partition DAY, and does something else right before the first switch of it."""

    mover: Mover
    hot: KazooClient
    cold: KazooClient

    def run(self, table: ReplicatedTable, meanwhile: Callable[[], object]) -> PatchedReport:
        waiting = [meanwhile]

        def before(_operation: str, multis: Sequence[Multi]) -> None:
            if switches(multis) and waiting:
                waiting.pop()()

        self.mover.before_hot = before
        report = self.mover.move(table, [DAY])
        assert not waiting
        return report

    def state(self, table: ReplicatedTable) -> bytes:
        return bytes(self.hot.get(f"{table.path}/block_numbers/{DAY}/State")[0])

    def names(self, client: KazooClient, table: ReplicatedTable) -> list[list[str]]:
        """What the ensemble registers for r1 and for r2."""
        client.sync(table.path)
        return [sorted(client.get_children(f"{table.path}/replicas/{name}/parts")) for name in ("r1", "r2")]


@pytest.fixture
def race(mover: Mover, hot_client: KazooClient, cold_clients: Sequence[KazooClient]) -> Race:
    return Race(mover, hot_client, cold_clients[0])


def test_insert_keeps_the_partition_hot(unmerged: ReplicatedTable, race: Race) -> None:
    table = unmerged

    def insert() -> None:
        table.insert("('2019-12-01', 3, 3)")
        table.settle()

    report = race.run(table, insert)

    assert report.deferred[DAY].gate == "one_part"
    # The number between the two went to State.
    assert race.names(race.hot, table) == [[PART, "20191201_2_2_0"]] * 2
    assert race.names(race.cold, table) == [[], []]
    assert race.state(table) == b"HOT"


@pytest.mark.parametrize(("statement", "part"), [
    (f"OPTIMIZE TABLE {{}} PARTITION {DAY} FINAL", "20191201_0_0_1"),
    ("ALTER TABLE {} DELETE WHERE id = 1", "20191201_0_0_0_2"),
])  # fmt: skip
def test_part_that_is_rewritten_is_copied_again(
    table: ReplicatedTable, race: Race, statement: str, part: str
) -> None:
    def rewrite() -> None:
        table.servers[0].execute(statement.format(table.name))
        wait_for(lambda: table.active_parts()[DAY] != [PART])
        table.settle()

    report = race.run(table, rewrite)

    assert report.moved.keys() == {DAY}
    assert race.names(race.hot, table) == [[], []]
    assert race.names(race.cold, table) == [[part]] * 2
    assert [table.active_parts(number) for number in (0, 1)] == [{DAY: [part]}] * 2
    assert race.state(table) == b"COLD"


def test_part_whose_columns_are_changed_is_copied_again(table: ReplicatedTable, race: Race) -> None:
    def registered(client: KazooClient) -> list[bytes]:
        folders = [f"{table.path}/replicas/{name}/parts/{PART}" for name in ("r1", "r2")]
        return [
            bytes(client.get(f"{each}/{name}")[0]) for each in folders for name in ("columns", "checksums")
        ]

    before = registered(race.hot)
    after: list[bytes] = []

    def alter() -> None:
        table.servers[0].execute(f"ALTER TABLE {table.name} MODIFY COLUMN size UInt64")
        table.settle()
        after.extend(registered(race.hot))

    report = race.run(table, alter)

    assert report.moved.keys() == {DAY}
    assert registered(race.cold) == after
    assert after != before
    assert race.names(race.hot, table) == [[], []]


def test_copies_of_a_partition_that_is_detached_are_removed(table: ReplicatedTable, race: Race) -> None:
    def detach() -> None:
        table.servers[0].execute(f"ALTER TABLE {table.name} DETACH PARTITION {DAY}")
        table.settle()

    report = race.run(table, detach)

    assert report.deferred[DAY].gate == "partition_exists"
    assert race.names(race.hot, table) == race.names(race.cold, table) == [[], []]
    assert race.state(table) == b"HOT"


def test_replica_that_is_added_gets_copies_as_well(table: ReplicatedTable, race: Race) -> None:
    server = table.servers[0]
    race.mover.endpoints = {"r3": f"127.0.0.1:{server.http_port}"}

    def add() -> None:
        server.execute(
            f"CREATE TABLE {table.name}_again (day Date, id UInt32, size UInt32 DEFAULT id) ENGINE ="
            f" ReplicatedMergeTree('{table.path}', 'r3') {BY_DAY.clauses}"
        )
        server.execute(f"SYSTEM SYNC REPLICA {table.name}_again")

    report = race.run(table, add)

    assert report.moved[DAY].parts == 3
    for client, names in ((race.hot, []), (race.cold, [PART])):
        assert client.get_children(f"{table.path}/replicas/r3/parts") == names
        assert race.names(client, table) == [names, names]


def test_attached_again_is_another_server_start(table: ReplicatedTable, race: Race) -> None:
    looks: list[bytes] = []

    def attach_again() -> None:
        table.servers[1].execute(f"DETACH TABLE {table.name}")
        table.servers[1].execute(f"ATTACH TABLE {table.name}")
        looks.append(race.state(table))

    report = race.run(table, attach_again)

    # The versions of the replica's znodes changed, so that the first switch was refused.
    assert looks == [b"HOT"]
    assert report.moved.keys() == {DAY}


def test_insert_at_the_instant_of_the_switch_undoes_it(
    unmerged: ReplicatedTable,
    race: Race,
    gateway: ZooKeeperProxy,
    watch: Callable[[ReplicatedTable], Watch],
) -> None:
    table = unmerged
    with watch(table) as watched, log_not_pulled(gateway, table):
        report = race.run(table, lambda: table.insert("('2019-12-01', 3, 3)"))

    assert watched.problems == []
    assert report.deferred[DAY].gate == "late_insert"
    assert (report.moved, report.failed) == ({}, {})
    assert race.state(table) == b"HOT"
    table.settle()
    names = table.active_parts()[DAY]
    assert len(names) == 2
    assert race.names(race.hot, table) == [names] * 2
    assert [table.rows(number) for number in (0, 1)] == [
        [("2019-12-01", 1, 1), ("2019-12-01", 2, 2), ("2019-12-01", 3, 3)]
    ] * 2

    assert race.mover.move(table, [DAY]).deferred[DAY].gate == "one_part"
    # A server that read hot before it was undone may still look for them.
    assert race.names(race.cold, table) == [[PART]] * 2


def test_insert_right_before_the_servers_are_asked_again_undoes_the_switch(
    unmerged: ReplicatedTable, race: Race
) -> None:
    table = unmerged
    asked: list[int] = []

    def insert() -> None:
        asked.append(len(asked))
        # Each of the two replicas was asked once before the switch.
        if asked[-1] == 2:
            table.insert("('2019-12-01', 3, 3)")

    race.mover.before_ask = insert
    report = race.mover.move(table, [DAY])

    assert report.deferred[DAY].gate == "late_insert"
    table.settle()
    assert race.state(table) == b"HOT"
    assert race.names(race.hot, table) == [[PART, "20191201_2_2_0"]] * 2


def test_merge_at_the_instant_of_the_switch_is_reported(
    table: ReplicatedTable, race: Race, gateway: ZooKeeperProxy
) -> None:
    rows = table.rows()
    merges: list[Future[str]] = []
    with ThreadPoolExecutor(1) as pool, log_not_pulled(gateway, table):

        def optimize() -> None:
            log = len(race.hot.get_children(f"{table.path}/log"))
            merges.append(
                pool.submit(table.servers[0].execute, f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL")
            )
            wait_for(lambda: len(race.hot.get_children(f"{table.path}/log")) > log)

        report = race.run(table, optimize)

    assert merges[0].result() == ""
    assert report.failed[DAY].gate == "late_insert"
    assert (report.moved, report.deferred) == ({}, {})
    table.settle()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.active_parts(number) for number in (0, 1)] == [{DAY: ["20191201_0_0_1"]}] * 2


def test_alter_at_the_instant_of_the_switch_keeps_the_partition_hot(
    table: ReplicatedTable, race: Race, gateway: ZooKeeperProxy
) -> None:
    alters: list[Future[str]] = []
    traps = [
        gateway.trap(writes(f"{table.path}/replicas/{replica}/parts/{PART}".encode()), Action.HOLD)
        for replica in ("r1", "r2")
    ]
    with ThreadPoolExecutor(1) as pool:

        def alter() -> None:
            statement = f"ALTER TABLE {table.name} MODIFY COLUMN size UInt64"
            alters.append(pool.submit(table.servers[0].execute, statement))
            for trap in traps:
                trap.wait(60)

        try:
            report = race.run(table, alter)
        finally:
            for trap in traps:
                trap.release()

    assert alters[0].result() == ""
    assert report.deferred[DAY].gate == "no_alter_pending"
    assert race.names(race.hot, table) == [[PART]] * 2
    assert race.names(race.cold, table) == [[], []]
