# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves between real ensembles while connections break, members stop and processes are killed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleUnreachable,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.two_ensembles import (
    check_different_history,
    check_distinct_addresses,
    check_nonce_invisible,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions as ConnectionOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import (
    ZooKeeperStore,
    connect as open_store,
)
from support.memory.tables import Table, TableOptions, build_table, days
from support.servers.killed_move import Job, run_killed
from support.servers.moving import Before, copies, switches
from support.servers.proxy import Action, Trap, ZooKeeperProxy, writes
from support.servers.real_moves import Field
from support.servers.zookeeper import Ensemble

DAYS = days(3)
Connect = Callable[[str], KazooClient]


@pytest.fixture
def field(hot: Ensemble, cold: Ensemble, connect: Connect, base: str) -> Field:
    for ensemble in (hot, cold):
        connect(ensemble.connect_string).create(base)
    clients = [connect(f"{ensemble.connect_string}{base}") for ensemble in (hot, cold)]
    return Field(hot, cold, base, *clients)


@pytest.fixture
def table(field: Field) -> Table:
    return build_table(field.hot_client, "/tables/hits", TableOptions(partitions=DAYS, legacy=True))


@pytest.fixture
def hot_proxy(hot: Ensemble) -> Iterator[ZooKeeperProxy]:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        yield proxy


@pytest.fixture
def cold_proxies(cold: Ensemble) -> Iterator[list[ZooKeeperProxy]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ZooKeeperProxy(member.address)) for member in cold.members]


def once(is_it: Callable[[Sequence[Multi]], bool], act: Callable[[], object]) -> Before:
    """Do something before the first operation that writes what it should."""
    left = [act]

    def before(_operation: str, multis: Sequence[Multi]) -> None:
        if left and is_it(multis):
            left.pop()()

    return before


def is_cold(field: Field, table: Table) -> bool:
    """Whether cold has all of the table and hot nothing."""
    states = {table.state(day) for day in DAYS}
    hot = [table.registered(field.hot_client, day) for day in DAYS]
    cold = [table.registered(field.cold_client, day) for day in DAYS]
    everything = [{name: table.part_names(day) for name in ("r1", "r2")} for day in DAYS]
    return states == {b"COLD"} and hot == [{"r1": [], "r2": []}] * 3 and cold == everything


def is_hot(field: Field, table: Table) -> bool:
    """Whether hot has all of the table still."""
    states = {table.state(day) for day in DAYS}
    hot = [table.registered(field.hot_client, day) for day in DAYS]
    everything = [{name: table.part_names(day) for name in ("r1", "r2")} for day in DAYS]
    return b"COLD" not in states and hot == everything


@pytest.mark.parametrize("action", [Action.LOSE_REPLY, Action.LOSE_REQUEST])
def test_the_answer_to_the_switch_is_lost(
    field: Field, table: Table, hot_proxy: ZooKeeperProxy, action: Action
) -> None:
    trap = hot_proxy.trap(writes(b"COLD"), action)

    report = field.run(hot=[hot_proxy.address]).move(table)

    assert trap.sprung
    assert report.moved.keys() == set(DAYS)
    assert is_cold(field, table)


@pytest.mark.parametrize("action", [Action.LOSE_REPLY, Action.LOSE_REQUEST])
def test_the_connection_breaks_during_the_copy(
    field: Field, table: Table, cold_proxies: list[ZooKeeperProxy], action: Action
) -> None:
    traps: list[Trap] = [proxy.trap(writes(b"/parts/"), action) for proxy in cold_proxies]

    report = field.run(cold=[proxy.address for proxy in cold_proxies]).move(table)

    assert any(trap.sprung for trap in traps)
    assert report.moved.keys() == set(DAYS)
    assert is_cold(field, table)


@pytest.mark.parametrize("kill", [False, True], ids=["paused", "killed"])
def test_a_member_of_cold_that_does_not_answer_at_verification(
    field: Field, table: Table, kill: bool
) -> None:
    """It may be the one that a server asks when it starts, so nothing is switched."""
    member = field.cold.followers()[0]
    stop = member.kill if kill else member.pause
    others = [each.address for each in field.cold.members if each is not member]
    # The run itself uses the first one.
    run = field.run(before_cold=once(copies, stop), timeout=10.0, cold=[*others, member.address])
    with pytest.raises(
        EnsembleUnreachable, match=f"No answer from member {member.address} of ensemble cold within"
    ):
        run.move(table)

    assert is_hot(field, table)
    field.cold.heal()
    assert field.run().move(table).moved.keys() == set(DAYS)
    assert is_cold(field, table)


def test_a_member_of_cold_that_does_not_answer_at_the_beginning(field: Field, table: Table) -> None:
    before = field.data()
    member = field.cold.followers()[0]
    member.pause()
    others = [each.address for each in field.cold.members if each is not member]

    with pytest.raises(
        EnsembleUnreachable, match=f"No answer from member {member.address} of ensemble cold within"
    ):
        field.run(timeout=10.0, cold=[*others, member.address]).move(table)

    field.cold.heal()
    assert field.data() == before
    assert not field.hot_client.exists("/partmove")


def test_hot_restarts_in_the_middle(field: Field, table: Table) -> None:
    def restart() -> None:
        field.hot.members[0].stop()
        field.hot.members[0].start()

    report = field.run(before_cold=once(copies, restart)).move(table)

    assert report.moved.keys() == set(DAYS)
    assert is_cold(field, table)


@pytest.mark.parametrize("is_it", [copies, switches])
def test_the_session_expires_in_the_middle(
    field: Field,
    table: Table,
    hot_proxy: ZooKeeperProxy,
    is_it: Callable[[Sequence[Multi]], bool],
) -> None:
    """The lock is lost with it, and is taken again."""
    before = once(is_it, lambda: field.expire(hot_proxy, table))
    run = field.run(hot=[hot_proxy.address], session_timeout=5.0, before_cold=before, before_hot=before)

    assert run.move(table).moved.keys() == set(DAYS)
    assert is_cold(field, table)
    epoch = field.hot_client.get("/partmove/epochs/%2Ftables%2Fhits")[1].version
    assert epoch == 1


def test_hot_is_lost_right_after_the_switch(field: Field, table: Table, hot_proxy: ZooKeeperProxy) -> None:
    """The run that switched tells of a change; the next one finds everything done, and tells of none."""
    switched: list[object] = []

    def before(_operation: str, multis: Sequence[Multi]) -> None:
        if switched:
            hot_proxy.pause()
        elif switches(multis):
            switched.append(multis)

    report = PatchedReport(table.path)
    with pytest.raises(EnsembleUnreachable):
        field.run(hot=[hot_proxy.address], timeout=10.0, before_hot=before).move(table, report)
    hot_proxy.restore()
    assert is_cold(field, table)
    assert (set(report.moved), set(report.failed), report.is_changed) == (set(), set(DAYS), True)

    again = field.run().move(table)
    assert (again.unchanged, again.is_changed) == (set(DAYS), False)


@pytest.mark.parametrize(
    ("hot_chroot", "cold_chroot"), [("", ""), ("", "/below"), ("/below", ""), ("/below", "/below")]
)
def test_one_ensemble_given_as_two(
    hot: Ensemble, connect: Connect, base: str, hot_chroot: str, cold_chroot: str
) -> None:
    """By two names for one address, and through the same or another chroot."""
    address = hot.members[0].address
    client = connect(hot.connect_string)
    for path in (f"{base}/below/table", f"{base}/table"):
        client.ensure_path(path)

    def store(name: str, hosts: str, chroot: str) -> ZooKeeperStore:
        return open_store(ConnectionOptions(name, (hosts,), f"{base}{chroot}"))

    with (
        store("hot", address, hot_chroot) as one,
        store("cold", address, cold_chroot) as same,
        store("cold", address.replace("127.0.0.1", "localhost"), cold_chroot) as other,
    ):
        with pytest.raises(SameEnsemble, match=f"both were given the address {address}"):
            check_distinct_addresses(one, same)
        check_distinct_addresses(one, other)
        with pytest.raises(SameEnsemble, match="exists in cold as"):
            check_nonce_invisible(one, other, "token")
        with pytest.raises(SameEnsemble, match="was created by the same transaction in both"):
            check_different_history(one, other, "/table")
        assert one.children(["/partmove/nonces"]) == [()]


def test_two_ensembles_are_told_apart(field: Field, table: Table) -> None:
    run = field.run()
    with (
        open_store(ConnectionOptions("hot", tuple(run.hot), run.chroot)) as hot,
        open_store(ConnectionOptions("cold", tuple(run.cold), run.chroot)) as cold,
    ):
        check_distinct_addresses(hot, cold)
        check_nonce_invisible(hot, cold, "token")
        check_different_history(hot, cold, table.path)


READ_ONLY = [make_acl("world", "anyone", read=True)]


def test_a_cold_ensemble_that_may_only_be_read(field: Field, table: Table) -> None:
    before = field.data()
    field.cold_client.set_acls("/", READ_ONLY)

    with pytest.raises(
        AccessDenied, match="Writing /partmove is denied to this identity by the cold ensemble"
    ):
        field.run().move(table)

    assert field.data() == before
    assert not field.hot_client.exists("/partmove")


def test_a_place_in_cold_that_may_only_be_read(field: Field, table: Table) -> None:
    """All that is left in hot is the coordination of runs."""
    before = field.data()
    field.cold_client.create("/tables", acl=READ_ONLY)

    with pytest.raises(AccessDenied, match="Writing /tables/hits is denied to this identity by the cold"):
        field.run().move(table)

    assert field.data()[0] == before[0]
    assert is_hot(field, table)


def test_a_mover_that_is_killed(field: Field) -> None:
    """Ten times, each at another operation; the next run comes to the same end as one without disturbance."""
    clean = build_table(field.hot_client, "/tables/clean", TableOptions(partitions=DAYS))
    assert field.run().move(clean).moved.keys() == set(DAYS)
    operations = random.Random(7).sample(range(5, 50), 10)
    with ThreadPoolExecutor(2) as pool:
        tables = list(pool.map(lambda number: killed_before(field, number), operations))

    for table, number in zip(tables, operations, strict=True):
        report = field.run(chroot="").move(without_chroot(field, table))
        assert not report.deferred, number
        assert not report.failed, number
        assert below(field, table) == below(field, clean), number


def killed_before(field: Field, operation: int) -> Table:
    table = build_table(field.hot_client, f"/tables/t{operation:03}", TableOptions(partitions=DAYS))
    path = without_chroot(field, table).path
    run_killed(Job(field.hot.connect_string, field.cold.connect_string, path, DAYS, {}, operation))
    return table


def without_chroot(field: Field, table: Table) -> Table:
    """The table as it is called by those who connect without a chroot."""
    return replace(table, path=f"{field.chroot}{table.path}")


def below(field: Field, table: Table) -> list[dict[str, object]]:
    """What both ensembles have of a table, but for the znode that names the table in cold."""
    found = field.data(table.path)
    del found[1][table.path]
    return [{path.removeprefix(table.path): data for path, data in each.items()} for each in found]


def test_two_movers_of_one_table(field: Field, table: Table) -> None:
    """One of them waits for the other, and finds nothing left to do."""
    together = threading.Barrier(2)

    def move(_number: int) -> tuple[set[str], set[str]]:
        together.wait()
        report = field.run().move(table)
        assert not report.deferred
        assert not report.failed
        return set(report.moved), report.unchanged

    with ThreadPoolExecutor(2) as pool:
        (moved, unchanged), (moved_too, unchanged_too) = pool.map(move, range(2))

    assert sorted([*moved, *moved_too]) == list(DAYS)
    assert sorted([*unchanged, *unchanged_too]) == list(DAYS)
    assert is_cold(field, table)


def test_two_movers_of_two_tables(field: Field, table: Table) -> None:
    other = build_table(field.hot_client, "/tables/visits", TableOptions(partitions=DAYS))

    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda each: field.run().move(each), (table, other)))

    assert [report.moved.keys() for report in reports] == [set(DAYS)] * 2
    assert is_cold(field, table)
    assert is_cold(field, other)
