# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves while the servers insert, merge and mutate all the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.servers.clickhouse import QueryError
from support.servers.moving import Mover, log_not_pulled, switches
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, TableMaker, wait_for
from support.servers.watch import Watch

ROWS = 3
"""Of each partition at the beginning."""
PAUSE_SECONDS = 0.05
"""Between two inserts and the like of one thread."""
DAYS = tuple(f"201912{day:02}" for day in range(1, 9))


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with one part in each of the partitions DAYS."""
    table = make_table()
    table.fill([date(day) for day in DAYS], rows=ROWS)
    table.settle()
    return table


def date(day: str) -> str:
    """The day as in SQL."""
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


@contextmanager
def going_on(*works: Callable[[int], object], after: float = 0.0, rest: float = 0.0) -> Iterator[list[int]]:
    """Do each of the works again and again, in a thread of its own; gives how often each was done.

    They begin `after` so many seconds, and rest `rest` times as long as a turn took before the next.
    """
    stop = threading.Event()
    done = [0] * len(works)
    errors: list[Exception] = []

    def run(number: int, work: Callable[[int], object]) -> None:
        stop.wait(after)
        try:
            for turn in count():
                if stop.is_set():
                    return
                begin = time.monotonic()
                work(turn)
                done[number] = turn + 1
                stop.wait(max(PAUSE_SECONDS, rest * (time.monotonic() - begin)))
        except (QueryError, OSError) as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []


class Registered(NamedTuple):
    """What is known of one partition: the names of its parts on r1 and r2, and its State."""

    active: list[list[str]]
    hot: list[list[str]]
    cold: list[list[str]]
    state: bytes

    @property
    def is_complete(self) -> bool:
        """Whether each active part is registered in one of the two ensembles at least."""
        return all(
            set(active) <= {*hot, *cold}
            for active, hot, cold in zip(self.active, self.hot, self.cold, strict=True)
        )


def registered(table: ReplicatedTable, day: str, hot: KazooClient, cold: KazooClient) -> Registered:
    """Look up a partition whose id no other begins with."""
    found = []
    for client in (hot, cold):
        client.sync(table.path)
        folders = [f"{table.path}/replicas/{replica}/parts" for replica in ("r1", "r2")]
        found.append([sorted(_children(client, folder, f"{day}_")) for folder in folders])
    active = [sorted(table.active_parts(number).get(day, [])) for number in (0, 1)]
    marker = f"{table.path}/block_numbers/{day}/State"
    state = bytes(hot.get(marker)[0]) if hot.exists(marker) else b""
    return Registered(active, found[0], found[1], state)


def _children(client: KazooClient, folder: str, prefix: str) -> list[str]:
    names = client.get_children(folder) if client.exists(folder) else ()
    return [name for name in names if name.startswith(prefix)]


def test_inserts_into_another_partition_and_another_table(
    table: ReplicatedTable,
    make_table: TableMaker,
    mover: Mover,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
    watch: Callable[[ReplicatedTable], Watch],
) -> None:
    other = make_table()
    with (
        watch(table) as watched,
        going_on(
            lambda turn: table.insert(f"('2019-12-31', {turn})", server=turn % 2),
            lambda turn: other.insert(f"('2019-12-01', {turn})", server=turn % 2),
            # An insert into any partition may cost a move one of its attempts.
            rest=10.0,
        ) as done,
    ):
        reports = [mover.move(table, [day]) for day in DAYS[:4]]
        reports.append(mover.move(table, DAYS))
        wait_for(lambda: min(done) > 5)

    assert watched.problems == []
    assert [set(report.moved) for report in reports] == [*({day} for day in DAYS[:4]), set(DAYS[4:])]
    assert reports[-1].unchanged == set(DAYS[:4])
    table.settle()
    for day in DAYS:
        found = registered(table, day, hot_client, cold_clients[0])
        assert found == ([[f"{day}_0_0_0"]] * 2, [[], []], [[f"{day}_0_0_0"]] * 2, b"COLD")
    for number in (0, 1):
        assert len(table.rows(number)) == ROWS * len(DAYS) + done[0]


@pytest.mark.parametrize("day", DAYS)
def test_inserts_into_the_partition_that_is_moved(
    make_table: TableMaker,
    mover: Mover,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
    watch: Callable[[ReplicatedTable], Watch],
    day: str,
) -> None:
    table = make_table(WITHOUT_MERGES)
    table.fill([date(day)], rows=ROWS)
    table.settle()
    # The later the day, the later the first insert.
    first = 0.02 * DAYS.index(day)
    with (
        watch(table) as watched,
        going_on(
            lambda turn: table.insert(f"('{date(day)}', {turn + ROWS})", server=turn % 2), after=first
        ) as done,
    ):
        report = mover.move(table, [day])

    assert watched.problems == []
    assert report.failed == {}
    table.settle()
    found = registered(table, day, hot_client, cold_clients[0])
    for number in (0, 1):
        # An insert may still have come after the report.
        assert sorted({*found.hot[number], *found.cold[number]}) == found.active[number]
        assert len(table.rows(number)) == ROWS + done[0]
    if report.deferred:
        assert found.state in (b"", b"HOT")
        assert found.hot == found.active
        assert found.cold == [[], []] or report.deferred[day].gate == "late_insert"
    else:
        assert found.state == b"COLD"
        assert found.cold == [[f"{day}_0_0_0"]] * 2


def test_inserts_while_a_switch_is_undone(
    make_table: TableMaker,
    mover: Mover,
    gateway: ZooKeeperProxy,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
    watch: Callable[[ReplicatedTable], Watch],
) -> None:
    table, day = make_table(WITHOUT_MERGES), DAYS[0]
    table.fill([date(day)], rows=ROWS)
    table.settle()
    with ExitStack() as stack:
        watched = stack.enter_context(watch(table))
        at_switch = ExitStack()
        switched: list[list[int]] = []

        def before(_operation: str, multis: Sequence[Multi]) -> None:
            if switches(multis):
                at_switch.enter_context(log_not_pulled(gateway, table))
                table.insert(f"('{date(day)}', 98)")
                switched.append([])
            elif len(switched) == 1:
                at_switch.close()
                inserts = going_on(
                    lambda turn: table.insert(f"('{date(day)}', {turn + 100})", server=turn % 2)
                )
                switched.append(stack.enter_context(inserts))

        mover.before_hot = before
        report = mover.move(table, [day])

    assert watched.problems == []
    assert report.deferred[day].gate == "late_insert"
    table.settle()
    found = registered(table, day, hot_client, cold_clients[0])
    assert found.hot == found.active
    assert found.state == b"HOT"
    for number in (0, 1):
        assert len(table.rows(number)) == ROWS + 1 + switched[1][0]


@pytest.mark.parametrize("after", [0.0, 0.03, 0.06, 0.09])
@pytest.mark.parametrize("statement", [
    f"OPTIMIZE TABLE {{table}} PARTITION {DAYS[0]} FINAL",
    "ALTER TABLE {table} DELETE WHERE id = {turn} + 1000",
])  # fmt: skip
def test_merges_and_mutations_of_the_partition_that_is_moved(
    make_table: TableMaker,
    mover: Mover,
    hot_client: KazooClient,
    cold_clients: Sequence[KazooClient],
    statement: str,
    after: float,
) -> None:
    table, day = make_table(), DAYS[0]
    table.fill([date(day)], rows=ROWS)
    table.settle()
    rows = table.rows()
    with going_on(
        lambda turn: table.servers[0].execute(statement.format(table=table.name, turn=turn)), after=after
    ):
        report = mover.move(table, [day])

    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    if report.deferred:
        table.settle()
    found = registered(table, day, hot_client, cold_clients[0])
    if report.deferred:
        assert found.state in (b"", b"HOT")
        assert found.hot == found.active
        assert found.cold == [[], []] or report.deferred[day].gate == "late_insert"
    elif report.moved and not assigned_since_the_switch(table, day, hot_client):
        assert found.state == b"COLD"
        assert found.hot == [[], []]
        assert found.cold == found.active
    else:
        # A server of this version assigns a merge with nothing that a switch could be stopped by.
        assert report.moved or report.failed[day].gate == "late_insert"
        assert found.state == b"COLD"
        # It may still be going on.
        wait_for(lambda: registered(table, day, hot_client, cold_clients[0]).is_complete)


def assigned_since_the_switch(table: ReplicatedTable, day: str, hot: KazooClient) -> bool:
    """Whether a merge or mutation came after State was set; it may have come after the report as well."""
    switch = hot.exists(f"{table.path}/block_numbers/{day}/State").mzxid
    entries = [
        f"{table.path}/{kind}/{name}"
        for kind in ("log", "mutations")
        for name in hot.get_children(f"{table.path}/{kind}")
    ]
    return any((stat := hot.exists(each)) and stat.czxid > switch for each in entries)
