# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements during a move are neither lost nor applied twice, and no run clones again what is cloned."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import HttpTwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
    DropParts,
)
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]

COLUMNS = "(day Date, id UInt32, v UInt32 DEFAULT 0)"


class Changing(ModernTables):
    """A table with its twin, which servers merge and mutate by themselves."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{base.strip('/').replace('-', '_')}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)
        for name, path in ((self.name, self.path), (self.cold, f"cold:{self.path}_cold")):
            shard.execute(
                f"CREATE TABLE {name} {COLUMNS} ENGINE = ReplicatedMergeTree('{path}', '{{replica}}')"
                " PARTITION BY toYYYYMMDD(day) ORDER BY id"
                " SETTINGS replicated_deduplication_window_seconds = 1, cleanup_delay_period = 1,"
                " cleanup_delay_period_random_add = 0"
            )

    def insert(self, *numbers: int, day: str = DAY) -> None:
        """Insert a part, and let every replica have it."""
        self.insert_into(self.name, *numbers, day=day)

    def mutate(self, *tables: str) -> None:
        """Add one to v in each row, as a statement that has ended on every replica."""
        for table in tables or (self.name, self.cold):
            self.first.execute(f"ALTER TABLE {table} UPDATE v = v + 1 WHERE 1", mutations_sync=2)

    def call(self, state: str, *partitions: str) -> dict[str, object]:
        """What the module answers."""
        rows = [{"shard_path": self.path, "partition": each} for each in partitions or (DAY,)]
        return self.move(state=state, partitions=rows)

    def run(self, state: str, servers: HttpTwinServers) -> TwinReport:
        """Run with these servers, in this process."""
        return self.move_here(servers, state, self.path, DAY, TwinOptions())

    @property
    def values(self) -> list[list[tuple[int, int]]]:
        """Ids and values of both tables together, on each replica."""
        return [
            sorted(
                (number, value)
                for table in (self.name, self.cold)
                for number, value in server.query(f"SELECT id, v FROM {table}")
            )
            for server in self.shard.servers
        ]


class MutatedServers(HttpTwinServers):
    """Lets a statement run right before the ATTACH, right after it, or right before the DROP PART."""

    def __init__(self, options: ClickHouseOptions, act: Callable[[], object], at: str) -> None:
        super().__init__(options)
        self._acts = [act]
        self._at = at

    def _act(self, at: str) -> None:
        if at == self._at and self._acts:
            self._acts.pop()()

    def attach(self, statement: AttachPartitions) -> str:
        """As the servers do."""
        self._act("before attach")
        problem = super().attach(statement)
        self._act("after attach")
        return problem

    def drop(self, statement: DropParts) -> bool:
        """As the servers do."""
        self._act("before drop")
        return super().drop(statement)


@pytest.fixture
def changing(modern: ModernShard, hot: Ensemble, base: str) -> Changing:
    return Changing(modern, hot, base)


@pytest.mark.parametrize("state", ["cold", "hot"])
@pytest.mark.parametrize("at", ["before attach", "after attach", "before drop"])
def test_mutation_during_a_move_is_applied_once_to_each_row(changing: Changing, state: str, at: str) -> None:
    """Of the table and of its twin, as an operator gives it: v = v + 1, done on every replica."""
    changing.insert(1, 2)
    changing.insert(3)
    if state == "hot":
        assert changing.call("cold")["counts"]["moved"] == 1  # type: ignore[index]
    servers = MutatedServers(changing.asked(), changing.mutate, at)
    report = changing.run(state, servers)
    assert changing.values == [[(1, 1), (2, 1), (3, 1)]] * 2, report
    answer = changing.call(state)
    assert not answer["failed_partitions"], answer
    assert changing.values == [[(1, 1), (2, 1), (3, 1)]] * 2, answer
    there = changing.cold if state == "cold" else changing.name
    assert changing.ids(there) == [[1, 2, 3]] * 2


def test_killed_run_is_not_repeated_after_the_time_that_servers_remember_clones(changing: Changing) -> None:
    """Six rows stay six: an ATTACH that is repeated would clone the parts again."""
    for each in range(3):
        changing.insert(each)
    servers = DyingServers(changing.asked(), 0, given=True)
    run_until_killed(lambda: changing.run("cold", servers))
    # Znodes of blocks are removed once others are newer than the window.
    changing.insert(10, day=NEXT)
    changing.first.execute("SELECT sleep(2)")
    assert changing.call("cold", NEXT)["counts"]["moved"] == 1  # type: ignore[index]
    changing.first.execute("SELECT sleep(2)")
    changing.insert(3)
    for _run in range(3):
        answer = changing.call("cold")
        assert not answer["failed_partitions"], answer
    assert [[number for number, _value in rows] for rows in changing.values] == [[0, 1, 2, 3, 10]] * 2


def test_run_for_another_partition_finishes_the_record(changing: Changing) -> None:
    changing.insert(1)
    servers = DyingServers(changing.asked(), 1, given=False)
    run_until_killed(lambda: changing.run("cold", servers))
    answer = changing.call("hot", NEXT)
    assert answer["finished"] == [
        {"shard_path": changing.path, "partition": DAY, "state": "COLD", "undone": False}
    ], answer
    assert answer["unfinished"] == []
    assert (changing.ids(changing.name), changing.ids(changing.cold)) == ([[], []], [[1], [1]])


def test_partitions_move_in_one_statement_each_way(changing: Changing) -> None:
    """And a partition that is refused stops no other."""
    for each in (1, 2):
        changing.insert(each, day=DAY)
        changing.insert(each + 2, day=NEXT)
    changing.insert(7, day="20240103")
    changing.insert(7, day="20240103")
    days = [DAY, NEXT, "20240103"]
    rows = [{"shard_path": changing.path, "partition": each} for each in days]
    foretold = changing.move(check=True, state="cold", partitions=rows, stop_merges=True)
    answer = changing.move(state="cold", partitions=rows, stop_merges=True)
    assert [each["partition"] for each in answer["moved"]] == [DAY, NEXT], answer
    assert [each["gate"] for each in answer["deferred"]] == ["parts_distinct"], answer
    assert foretold["diff"]["after"].count("ATTACH PARTITION ID") == 2
    assert foretold["diff"]["after"].count("ALTER TABLE") == 2
    assert changing.ids(changing.cold) == [[1, 2, 3, 4]] * 2
    assert changing.ids(changing.name) == [[7, 7]] * 2


class FailingServers(HttpTwinServers):
    """Answers an ATTACH with an error, before or after the servers have executed it."""

    def __init__(self, options: ClickHouseOptions, code: int, *, executed: bool) -> None:
        super().__init__(options)
        self._code = code
        self._executed = executed

    def _attach_everywhere(self, statement: AttachPartitions) -> None:
        if self._executed:
            super()._attach_everywhere(statement)
        raise QueryRefused("the server", self._code, "something is wrong")


@pytest.mark.parametrize("state", ["cold", "hot"])
@pytest.mark.parametrize(
    ("code", "executed", "is_left"), [(49, False, False), (49, True, True), (999, False, True)]
)
def test_error_of_an_attach_leaves_no_record_if_the_ensemble_proves_that_nothing_was_cloned(
    changing: Changing, state: str, code: int, executed: bool, is_left: bool
) -> None:
    for day in (NEXT, DAY):
        changing.insert(1, 2, day=day)
    changing.call("cold", NEXT)
    if state == "hot":
        changing.call("cold", DAY)
    servers = FailingServers(changing.asked(), code, executed=executed)
    report = changing.run(state, servers)
    assert "something is wrong" in report.deferred[DAY].reason
    # Before 25.8, servers show nothing of an auxiliary ensemble.
    is_shown = state == "hot" or "zookeeperName" in {
        name
        for (name,) in changing.first.query(
            "SELECT name FROM system.columns WHERE database = 'system' AND table = 'zookeeper'"
        )
    }
    altered = changing.answer(
        "twin_alter", shard_paths=[changing.path], alter="ADD COLUMN x UInt8", journal=""
    )
    assert altered["failed"] is (is_left or not is_shown), altered
    assert changing.call(state)["counts"]["moved"] == 1  # type: ignore[index]
    assert sum(map(len, changing.values)) == 2 * 4


def test_number_of_the_newest_entry_is_0_for_an_empty_log(changing: Changing) -> None:
    """As for a log with a single entry, so that the first entry counts as newer than the record."""
    number = f"SELECT log_max_index FROM system.replicas WHERE table = '{changing.cold}'"
    assert changing.first.query(number) == [(0,)]
    changing.insert(1)
    assert changing.call("cold")["counts"]["moved"] == 1  # type: ignore[index]
    assert changing.first.query(number) == [(0,)]
