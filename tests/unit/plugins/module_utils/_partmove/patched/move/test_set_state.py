# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Setting State while the table changes: State is written only while the read facts still hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
    NoServers,
    ServerCheck,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    StateChange,
    StateRefused,
    StateSetter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Multi,
    Outcome,
    Unknown,
)
from support.memory.bench import DAY, PART, Bench
from support.memory.client import MemoryClient
from support.memory.interleaving import Lost
from support.memory.memory import ManualClock, MemoryEnsemble, MemoryStore
from support.memory.probe import SimulatedProbe
from support.memory.tables import Table, build_table, days, register

PATH = "/clickhouse/tables/01/hits"
(PARTITION,) = days(1)


class Scene:
    """A table whose first partition is registered in cold only, without a State."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock) for name in ("hot", "cold"))
        self.client = MemoryClient(self.hot.open())
        cold = MemoryClient(self.cold.open())
        self.table: Table = build_table(self.client, PATH)
        for replica in self.table.options.replicas:
            register(cold, self.table, replica, [PARTITION])
            for name in self.table.part_names(PARTITION):
                self.client.delete(f"{self.table.parts_path(replica)}/{name}")

    def set(self, store: MemoryStore | None = None, wanted: State = State.COLD) -> StateChange:
        """Set State of the partition in a run of its own."""
        hot, cold = store or self.hot.open(), self.cold.open()
        leases = LeaseKeeper(hot, cold, self.clock, owner="a test")
        return StateSetter(hot, cold, leases, AssumeActive(), ShardLayout(PATH)).set(PARTITION, wanted)

    @property
    def state(self) -> tuple[bytes, int] | None:
        """Data and version of State."""
        znode = self.hot.read([self.table.state_path(PARTITION)])[0]
        return None if znode is None else (znode.data, znode.stat.version)

    def assign(self) -> None:
        """Assign a merge, as servers from 20.x on do."""
        self.client.set(f"{PATH}/log", b"")


class Interrupted(MemoryStore):
    """A session with an action before multis that write State, or with lost answers to them."""

    def __init__(self, ensemble: MemoryEnsemble, act: Callable[[], object], times: int = 1) -> None:
        super().__init__(ensemble)
        self.lost: Lost | None = None
        self._act = act
        self._times = times

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        made = [*multis]
        if not made[-1][-1].path.endswith("/State") or not self._times:
            return super().commit(made)
        self._times -= 1
        self._act()
        if self.lost is Lost.NOT_APPLIED:
            return [Unknown("the answer was lost")]
        outcomes = super().commit(made)
        return [Unknown("the answer was lost")] if self.lost else outcomes


def nothing() -> None:
    """Let nothing happen."""


def test_state_is_created_once_and_then_set() -> None:
    scene = Scene()
    assert scene.set() == StateChange("", "COLD")
    assert scene.state == (b"COLD", 0)
    assert not scene.set().changed
    scene.client.set(scene.table.state_path(PARTITION), b"COLD\n")
    assert scene.set() == StateChange("COLD\n", "COLD")
    assert scene.state == (b"COLD", 2)


def test_a_merge_in_between_causes_another_read() -> None:
    scene = Scene()
    assert scene.set(Interrupted(scene.hot, scene.assign)).changed
    assert scene.state == (b"COLD", 0)


def test_a_table_that_does_not_come_to_rest_is_left_alone() -> None:
    scene = Scene()
    with pytest.raises(
        EnsembleError, match=f"The table at {PATH} changed 10 times while State was to be set"
    ):
        scene.set(Interrupted(scene.hot, scene.assign, times=100))
    assert scene.state is None


@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost_is_found_out_about(lost: Lost) -> None:
    scene = Scene()
    store = Interrupted(scene.hot, nothing)
    store.lost = lost
    assert scene.set(store) == StateChange("", "COLD")
    assert scene.state == (b"COLD", 0)


def test_a_part_that_arrives_in_the_last_moment_is_seen_afterwards() -> None:
    """Nothing could have kept it out; the run must not end well."""
    scene = Scene()
    late = f"{scene.table.parts_path('r1')}/{PARTITION}_9_9_0"
    with pytest.raises(
        StateRefused, match=rf"cannot be COLD: some of its parts .* \(r1: {PARTITION}_9_9_0\)"
    ):
        scene.set(Interrupted(scene.hot, lambda: scene.client.create(late)))


def test_another_run_that_took_over_keeps_this_one_from_writing() -> None:
    scene = Scene()
    store = Interrupted(scene.hot, nothing)

    def take_over() -> None:
        store.expire()
        scene.set(wanted=State.COLD)
        scene.client.set(scene.table.state_path(PARTITION), b"MOVING")

    store._act = take_over
    with pytest.raises(LeaseLost):
        scene.set(store)
    assert scene.state == (b"MOVING", 1)


def test_a_run_with_nothing_to_do_takes_no_lock() -> None:
    scene = Scene()
    scene.set()
    before = scene.hot.data(), scene.cold.data()
    scene.set()
    assert (scene.hot.data(), scene.cold.data()) == before
    epoch = scene.hot.tree("/partmove/epochs")
    scene.set()
    assert scene.hot.tree("/partmove/epochs") == epoch


def set_state(bench: Bench, wanted: State, servers: ServerCheck) -> StateChange:
    leases = bench.context.leases
    setter = StateSetter(bench.hot_store, bench.cold_store, leases, servers, ShardLayout(PATH))
    return setter.set(DAY, wanted)


def asking(bench: Bench) -> AskServers:
    return AskServers(SimulatedProbe(bench.servers))


class Killed(BaseException):
    """The process of the run is gone."""


def kill() -> None:
    raise Killed


def copied_then_dropped(bench: Bench) -> None:
    """A run that was killed after its copies, then a DROP PARTITION."""
    other = bench.beside()
    other.before_switch(kill)
    with pytest.raises(Killed):
        other.move(DAY)
    other.hot_store.expire()
    bench.servers.drop(DAY)


def dropped_without_cold(bench: Bench) -> None:
    """A DROP PARTITION of a cold partition by servers whose session with cold has expired."""
    assert bench.move(DAY).moved
    bench.servers.cold_expired = True
    bench.servers.drop(DAY)


def test_state_is_not_cold_where_no_server_has_the_parts() -> None:
    bench = Bench()
    copied_then_dropped(bench)
    with pytest.raises(StateRefused, match=rf"replica r1 has the active parts \[\], but \['{PART}'\]"):
        set_state(bench, State.COLD, asking(bench))
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"HOT"


def test_state_is_not_hot_where_the_servers_have_parts_that_hot_does_not_register() -> None:
    bench = Bench()
    assert bench.move(DAY).moved
    reason = rf"replica r1 has the active parts \['{PART}'\], but \[\] are registered"
    with pytest.raises(StateRefused, match=reason):
        set_state(bench, State.HOT, asking(bench))


@pytest.mark.parametrize("leave_behind", [copied_then_dropped, dropped_without_cold])
def test_the_leftovers_of_a_drop_have_a_remedy(leave_behind: Callable[[Bench], object]) -> None:
    """State is set to what the disks say, and the way back removes the copies."""
    bench = Bench()
    leave_behind(bench)
    bench.context = bench.context._replace(servers=asking(bench))

    set_state(bench, State.HOT, asking(bench))
    bench.clock.sleep(600.0)

    assert bench.reheat(DAY).copies_removed == {DAY}
    assert bench.cold_ensemble.children([f"{PATH}/replicas/r1/parts"]) == [()]


def test_bringing_back_a_dropped_partition_names_the_remedy() -> None:
    bench = Bench()
    dropped_without_cold(bench)
    bench.context = bench.context._replace(servers=asking(bench))
    refusal = bench.reheat(DAY).deferred[DAY]
    assert refusal.gate is GateName.ACTIVE_ON_DISK
    assert "set State to HOT with partition_state" in refusal.remedy


def test_state_is_not_changed_where_no_server_can_be_asked() -> None:
    bench = Bench()
    with pytest.raises(
        StateRefused, match="no server was asked whether the replicas have the registered parts"
    ):
        set_state(bench, State.HOT, NoServers())


def test_hot_needs_a_cold_ensemble_that_says_it_is_the_one_of_the_table() -> None:
    """It may have the shard path for any other reason."""
    bench = Bench()
    bench.move(DAY)
    bench.servers.drop(DAY)
    bench.cold.set(PATH, b"")
    with pytest.raises(
        StateRefused, match="nothing proves that the ensemble given as cold is the one of the table"
    ):
        set_state(bench, State.HOT, AssumeActive())
    assert set_state(bench, State.HOT, asking(bench)) == StateChange("COLD", "HOT")
