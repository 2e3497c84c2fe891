# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way back between real ensembles while answers are lost, members stop and processes are killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.memory.tables import Table, TableOptions, build_table, days
from support.servers.killed_move import Job, carry_out, run_killed
from support.servers.moving import returns
from support.servers.proxy import Action, ZooKeeperProxy, writes
from support.servers.real_moves import Field
from support.servers.zookeeper import Ensemble

DAYS = days(3)
MANY_DAYS = days(170)
"""More than fit one multi of 1000 operations: each has two parts of three znodes."""
LATER = 700.0
"""Seconds after which no server can need the copies any more."""
Connect = Callable[[str], KazooClient]


@dataclass(frozen=True)
class Moved:
    """A table that is cold, and what hot had of it before."""

    table: Table
    hot_before: dict[str, object]

    def is_back(self, field: Field) -> bool:
        """Whether hot has the bytes of every znode again, but for State, which says so."""
        states = {self.table.state_path(day): b"HOT" for day in self.table.options.partitions}
        return field.hot_data(self.table.path) == self.hot_before | states

    def copies(self, field: Field) -> dict[str, object]:
        """Path → data of what cold has of parts."""
        return parts_in(field.cold_data(self.table.path))

    def has_copies(self, field: Field) -> bool:
        """Whether cold has the bytes of every part."""
        return self.copies(field) == parts_in(self.hot_before)


def parts_in(tree: dict[str, object]) -> dict[str, object]:
    """What of a tree is parts, and what lies below them."""
    return {path: data for path, data in tree.items() if "/parts/" in path}


@pytest.fixture
def field(hot: Ensemble, cold: Ensemble, connect: Connect) -> Field:
    return Field(hot, cold, "", connect(hot.connect_string), connect(cold.connect_string))


def move(field: Field, path: str, partitions: Sequence[str] = DAYS) -> Moved:
    """Build a table at the path and move it to cold."""
    table = build_table(field.hot_client, path, TableOptions(partitions=partitions, legacy=True))
    before = field.hot_data(path)
    assert field.run().move(table).moved.keys() == set(partitions)
    return Moved(table, before)


@pytest.fixture
def moved(field: Field, base: str) -> Moved:
    return move(field, f"{base}/hits")


@pytest.fixture
def hot_proxy(hot: Ensemble) -> Iterator[ZooKeeperProxy]:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        yield proxy


@pytest.fixture
def cold_proxies(cold: Ensemble) -> Iterator[list[ZooKeeperProxy]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ZooKeeperProxy(member.address)) for member in cold.members]


def remove_copies(field: Field, moved: Moved) -> None:
    """Run again when the copies may go, and see that they are gone."""
    report = field.run(seconds_ahead=LATER).reheat(moved.table)
    assert not report.deferred
    assert not report.failed
    assert moved.is_back(field)
    assert moved.copies(field) == {}


@pytest.mark.parametrize("action", [Action.LOSE_REPLY, Action.LOSE_REQUEST])
def test_the_answer_to_the_switch_back_is_lost(
    field: Field, moved: Moved, hot_proxy: ZooKeeperProxy, action: Action
) -> None:
    trap = hot_proxy.trap(writes(b"HOT"), action)

    report = field.run(hot=[hot_proxy.address]).reheat(moved.table)

    assert trap.sprung
    assert report.moved.keys() == set(DAYS)
    assert moved.is_back(field)
    assert moved.has_copies(field)
    remove_copies(field, moved)


@pytest.mark.parametrize("action", [Action.LOSE_REPLY, Action.LOSE_REQUEST])
def test_the_answer_to_the_removal_of_copies_is_lost(
    field: Field, moved: Moved, cold_proxies: list[ZooKeeperProxy], action: Action
) -> None:
    field.run().reheat(moved.table)
    traps = [proxy.trap(writes(b"/parts/"), action) for proxy in cold_proxies]

    run = field.run(cold=[proxy.address for proxy in cold_proxies], seconds_ahead=LATER)
    report = run.reheat(moved.table)

    assert any(trap.sprung for trap in traps)
    assert report.copies_removed == set(DAYS)
    assert moved.is_back(field)
    assert moved.copies(field) == {}


def test_the_session_expires_before_the_switch_back(
    field: Field, moved: Moved, hot_proxy: ZooKeeperProxy
) -> None:
    """The lock is lost with it, and is taken again."""
    left = [hot_proxy]

    def expire(_operation: str, multis: Sequence[Multi]) -> None:
        if left and returns(multis):
            field.expire(left.pop(), moved.table)

    report = field.run(hot=[hot_proxy.address], session_timeout=5.0, before_hot=expire).reheat(moved.table)

    assert not left
    assert report.moved.keys() == set(DAYS)
    assert moved.is_back(field)


@pytest.mark.parametrize("seconds_ahead", [0.0, LATER], ids=["switch", "removal"])
def test_a_run_that_is_killed(field: Field, base: str, seconds_ahead: float) -> None:
    """Before each of its last writes; the next run comes to the same end as one without disturbance."""
    numbers = writing_operations(field, move(field, f"{base}/clean", MANY_DAYS), seconds_ahead)
    others = [move(field, f"{base}/t{number:03}", MANY_DAYS) for number in numbers]
    if seconds_ahead:
        for each in others:
            field.run().reheat(each.table)
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda number, each: run_killed(job(field, each, number, seconds_ahead)), numbers, others
            )
        )

    for number, each in zip(numbers, others, strict=True):
        report = field.run(seconds_ahead=seconds_ahead).reheat(each.table)
        assert not report.failed, number
        assert {refusal.gate for refusal in report.deferred.values()} <= {"copies_needed"}, number
        assert each.is_back(field), number
        remove_copies(field, each)


def writing_operations(field: Field, moved: Moved, seconds_ahead: float) -> list[int]:
    """Carry out the job once, and return which operations write, from the last one for the lock on."""
    if seconds_ahead:
        field.run().reheat(moved.table)
    operations: list[str] = []

    def note(operation: str, _multis: Sequence[Multi]) -> None:
        operations.append(operation)

    report = carry_out(job(field, moved, 0, seconds_ahead), note)
    assert (report.copies_removed if seconds_ahead else report.moved.keys()) == set(MANY_DAYS)
    return [number for number, operation in enumerate(operations) if operation == "commit"][-4:]


def job(field: Field, moved: Moved, operations: int, seconds_ahead: float) -> Job:
    ensembles = field.hot.connect_string, field.cold.connect_string
    table = moved.table
    wanted = table.options.partitions
    return Job(*ensembles, table.path, wanted, {}, operations, to_hot=True, seconds_ahead=seconds_ahead)


def test_two_runs_for_one_table(field: Field, moved: Moved) -> None:
    """One of them waits for the other, and then finds copies that are still needed."""
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _number: field.run().reheat(moved.table), range(2)))

    assert sorted(day for report in reports for day in report.moved) == list(DAYS)
    deferred = [refusal.gate for report in reports for refusal in report.deferred.values()]
    assert deferred == ["copies_needed"] * 3
    assert moved.is_back(field)
    assert moved.has_copies(field)


@pytest.mark.parametrize("kill", [False, True], ids=["paused", "killed"])
def test_copies_stay_while_a_member_of_hot_does_not_answer(
    hot: Ensemble, cold: Ensemble, connect: Connect, base: str, kill: bool
) -> None:
    """A server that starts may ask that member, which may not know yet that the partition is hot again."""
    three, one = cold, hot
    member = three.followers()[0]
    others = [each.address for each in three.members if each is not member]
    # Not to the member that is about to answer no more.
    field = Field(three, one, "", connect(",".join(others)), connect(one.connect_string))
    moved = move(field, f"{base}/hits")
    field.run().reheat(moved.table)
    later = field.run(hot=[*others, member.address], timeout=10.0, seconds_ahead=LATER)
    (member.kill if kill else member.pause)()

    report = later.reheat(moved.table)

    assert [refusal.gate for refusal in report.deferred.values()] == ["hot_members"] * 3
    assert member.address in report.deferred[DAYS[0]].reason
    assert not report.copies_removed
    assert moved.has_copies(field)
    three.heal()
    remove_copies(field, moved)
    again = later.reheat(moved.table)
    assert (again.unchanged, again.copies_removed) == (set(DAYS), set())


def test_copies_stay_while_a_replica_is_not_active(field: Field, moved: Moved) -> None:
    """Its server may have read hot before the way back, and not have read cold yet."""
    field.run().reheat(moved.table)
    is_active = f"{moved.table.path}/replicas/r2/is_active"
    field.hot_client.delete(is_active)
    before = field.data(moved.table.path)

    report = field.run(seconds_ahead=LATER).reheat(moved.table)

    assert [refusal.gate for refusal in report.deferred.values()] == ["copies_needed"] * 3
    assert "Start the replica" in report.deferred[DAYS[0]].remedy
    assert field.data(moved.table.path) == before
    field.hot_client.create(is_active, b"pid: 1, random: 1", ephemeral=True)
    remove_copies(field, moved)


def test_a_partition_that_goes_back_and_forth(field: Field, moved: Moved) -> None:
    """It may become cold again while its copies are still there."""
    for _time in range(2):
        assert field.run().reheat(moved.table).moved.keys() == set(DAYS)
        assert moved.is_back(field)
        assert field.run().move(moved.table).moved.keys() == set(DAYS)
        assert {moved.table.state(day) for day in DAYS} == {b"COLD"}
        assert parts_in(field.hot_data(moved.table.path)) == {}
        assert moved.has_copies(field)
