# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of parts that were dropped after they had come back: they wait as others, and servers decide."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.location import (
    refuse_dropped_or_lost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    StateSetter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    find_reheatable,
)
from support.memory.arrange import create_cold, mark
from support.memory.bench import DAY, PATH, Bench
from support.memory.memory import ManualClock
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.reheating import cold_bench, later


def brought_back() -> Bench:
    bench = cold_bench()
    assert bench.reheat(DAY).moved.keys() == {DAY}
    bench.context = bench.context._replace(servers=AskServers(SimulatedProbe(bench.servers)))
    return bench


def test_they_wait_whatever_the_clock_of_the_controller_says() -> None:
    bench = brought_back()
    bench.servers.drop(DAY)
    ahead = ManualClock(bench.clock.now() + 660)
    probe = SimulatedProbe(bench.servers)
    bench.context = make_world(bench.hot_store, bench.cold_store, ahead, probe=probe)
    before = bench.cold_ensemble.data(PATH)

    refusal = bench.reheat(DAY).deferred[DAY]
    assert refusal.gate is GateName.COPIES_NEEDED
    assert "a server that is starting may still need" in refusal.reason
    assert bench.cold_ensemble.data(PATH) == before

    later(bench, 600)
    ahead.sleep(600)
    assert bench.reheat(DAY).copies_removed == {DAY}


def test_they_stay_where_a_server_has_the_part() -> None:
    """Hot does not register the part any more, so the copy is its only registration."""
    bench = brought_back()
    later(bench, 600)
    for replica in ("r1", "r2"):
        bench.hot.delete(bench.part(replica))
    before = bench.cold_ensemble.data(PATH)

    assert bench.reheat(DAY).deferred[DAY].gate is GateName.ACTIVE_ON_DISK
    assert bench.cold_ensemble.data(PATH) == before


def test_the_remedy_of_one_that_was_dropped_while_cold_and_no_server_is_asked_about() -> None:
    """Otherwise a run over the whole shard path would defer it for ever."""
    bench = cold_bench()
    bench.servers.drop(DAY)
    assert DAY in find_reheatable(bench.context, PATH)
    assert bench.reheat(DAY).deferred[DAY] == refuse_dropped_or_lost()

    assert set_state(bench, State.HOT) == ("COLD", "HOT")

    assert DAY not in find_reheatable(bench.context, PATH)
    assert bench.reheat(DAY).deferred[DAY].gate is GateName.PARTITION_EXISTS


def set_state(bench: Bench, state: State) -> tuple[str, str]:
    """State before and after, where the operator vouches for the servers."""
    leases, servers = bench.context.leases, AssumeActive()
    return StateSetter(bench.hot_store, bench.cold_store, leases, servers, ShardLayout(PATH)).set(DAY, state)


def test_the_remedy_of_stray_copies_removes_them() -> None:
    """What the gate says to do is what lets the partition move."""
    bench = Bench()
    mark(bench)
    stray = f"replicas/r2/parts/{DAY}_5_5_0"
    create_cold(stray)(bench)
    refusal = bench.move().deferred[DAY]
    assert refusal.gate is GateName.NO_STRAY_COPIES
    assert refusal.remedy == (
        "Run part_move with state: hot and the option clickhouse: it removes the cold part znodes of parts"
        " that no server has any more"
    )

    bench.context = bench.context._replace(servers=AskServers(SimulatedProbe(bench.servers)))
    assert bench.reheat().copies_removed == {DAY}
    assert bench.cold.exists(f"{PATH}/{stray}") is None
    assert bench.move().moved.keys() == {DAY}
