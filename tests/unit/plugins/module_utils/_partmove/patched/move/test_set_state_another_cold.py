# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State and another cold ensemble than the one that the parts went to."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import BindingConflict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
    ServerCheck,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    StateRefused,
    StateSetter,
)
from support.memory.arrange import create, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench, HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble
from support.memory.probe import SimulatedProbe

STATE = f"block_numbers/{DAY}/State"
PARTS = [f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]


def another_cold(bench: Bench) -> HookedStore:
    """Return a session with another ensemble, with the same parts as cold and without a marker."""
    other = MemoryEnsemble("cold", bench.clock)
    client = MemoryClient(other.open())
    client.create("/something")
    for path, data in bench.cold_ensemble.data(PATH).items():
        client.create(path, b"" if path == PATH else data, makepath=True)
    return HookedStore(other)


def setter(bench: Bench, servers: ServerCheck | None = None) -> StateSetter:
    """Return what sets State over the other ensemble."""
    ask, cold = servers or AskServers(SimulatedProbe(bench.servers)), another_cold(bench)
    leases = LeaseKeeper(bench.hot_store, cold, bench.clock, owner="a test")
    return StateSetter(bench.hot_store, cold, leases, ask, ShardLayout(PATH))


@pytest.fixture
def bench() -> Bench:
    """Two partitions are cold, and the State of one is lost."""
    bench = Bench()
    bench.move(DAY, OTHER)
    write(STATE, b"HOT")(bench)
    return bench


def test_state_is_not_set_to_cold_by_what_another_ensemble_registers(bench: Bench) -> None:
    before = bench.hot_ensemble.data(PATH)

    with pytest.raises(BindingConflict):
        setter(bench).set(DAY, State.COLD)

    assert bench.hot_ensemble.data(PATH) == before


def test_state_is_not_set_to_hot_unasked_where_another_ensemble_is_given(bench: Bench) -> None:
    """Without the servers, only the right cold ensemble shows that no part is cold."""
    write(STATE, b"COLD")(bench)
    for path in PARTS:
        create(path, bench.cold.get(f"{PATH}/{path}")[0])(bench)
    before = bench.hot_ensemble.data(PATH)

    with pytest.raises(BindingConflict):
        setter(bench, AssumeActive()).set(DAY, State.HOT)

    assert bench.hot_ensemble.data(PATH) == before


def test_the_servers_show_that_no_part_is_cold(bench: Bench) -> None:
    """Any cold ensemble will do then, as the right one may be lost."""
    write(STATE, b"COLD")(bench)
    for path in PARTS:
        create(path, bench.cold.get(f"{PATH}/{path}")[0])(bench)

    assert setter(bench).set(DAY, State.HOT).after == "HOT"


def test_parts_that_the_servers_have_and_hot_does_not_keep_state(bench: Bench) -> None:
    write(STATE, b"COLD")(bench)
    create(PARTS[0], bench.cold.get(f"{PATH}/{PARTS[0]}")[0])(bench)
    before = bench.hot_ensemble.data(PATH)

    with pytest.raises(StateRefused):
        setter(bench).set(DAY, State.HOT)

    assert bench.hot_ensemble.data(PATH) == before
