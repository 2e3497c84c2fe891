# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State is not set against the part znodes, nor against the answers of the servers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
    ServerCheck,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    NoSuchPartition,
    StateChange,
    StateRefused,
    StateSetter,
)
from support.memory.arrange import create_cold, entry
from support.memory.bench import DAY, LOCK, PART, PATH, Bench
from support.memory.probe import SimulatedProbe

STATE = f"{PATH}/block_numbers/{DAY}/State"


def set_state(bench: Bench, wanted: State, servers: ServerCheck | None = None) -> StateChange:
    stores = bench.hot_store, bench.cold_store
    setter = StateSetter(*stores, bench.context.leases, servers or AssumeActive(), ShardLayout(PATH))
    return setter.set(DAY, wanted)


@pytest.fixture
def bench() -> Bench:
    """A bench with a partition that is cold."""
    bench = Bench()
    assert bench.move(DAY).moved.keys() == {DAY}
    return bench


def test_hot_is_refused_while_cold_alone_has_the_parts(bench: Bench) -> None:
    with pytest.raises(StateRefused, match="some of its parts are registered in cold only"):
        set_state(bench, State.HOT)
    assert bench.hot.get(STATE)[0] == b"COLD"


def test_hot_is_set_where_hot_has_the_parts_though_no_server_is_asked(bench: Bench) -> None:
    """A cold ensemble that is proven to be the one of the table has nothing that hot lacks."""
    bench.reheat(DAY)
    bench.hot.set(STATE, b"COLD")
    assert set_state(bench, State.HOT) == StateChange("COLD", "HOT")


def test_hot_is_set_where_no_state_is_although_no_cold_ensemble_is_known() -> None:
    bench = Bench()
    assert not bench.reader().binding().is_proven
    assert set_state(bench, State.HOT) == StateChange("", "HOT")
    assert bench.hot.get(STATE)[0] == b"HOT"


def test_cold_is_refused_where_cold_has_no_part(bench: Bench) -> None:
    bench.servers.drop(DAY)
    bench.hot.set(STATE, b"HOT")
    with pytest.raises(StateRefused, match="none of its parts is registered in cold"):
        set_state(bench, State.COLD)
    assert bench.hot.get(STATE)[0] == b"HOT"


def test_cold_is_refused_where_the_replicas_have_other_parts_in_cold(bench: Bench) -> None:
    """As many, too."""
    bench.hot.set(STATE, b"HOT")
    bench.cold.delete(bench.part("r2"))
    create_cold(f"replicas/r2/parts/{DAY}_7_7_0")(bench)
    with pytest.raises(StateRefused, match="the replicas have different parts in cold") as raised:
        set_state(bench, State.COLD)
    assert raised.value.remedy == ("Run part_audit_info, then part_repair with the kind of its finding")
    assert bench.hot.get(STATE)[0] == b"HOT"


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "under the lease"])
def test_state_is_refused_while_an_entry_waits_that_reads_it(bench: Bench, is_late: bool) -> None:
    """A server that executes a drop looks for the parts where State says."""
    bench.servers.drop(DAY)
    assert bench.hot.get(STATE)[0] == b"COLD"

    def assign() -> None:
        bench.hot.create(
            f"{PATH}/replicas/r1/queue/queue-0000000009", entry(f"drop\n{DAY}_0_9_999\n".encode())
        )

    if is_late:
        bench.before_lease(assign)
    else:
        assign()
    with pytest.raises(StateRefused):
        set_state(bench, State.HOT, AskServers(SimulatedProbe(bench.servers)))
    assert bench.hot.get(STATE)[0] == b"COLD"


class Losing(SimulatedProbe):
    """The servers lose the partition when somebody takes the lock."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.servers)
        self._bench = bench

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        if self._bench.hot.exists(LOCK) is not None:
            self._bench.servers.disk[replica].discard(PART)
        return super().active_parts(shard_path, replica, host, partitions)


def test_the_servers_are_asked_again_under_the_lease(bench: Bench) -> None:
    bench.hot.set(STATE, b"HOT")
    with pytest.raises(StateRefused, match=r"replica r1 has the active parts \[\]"):
        set_state(bench, State.COLD, AskServers(Losing(bench)))
    assert bench.hot.get(STATE)[0] == b"HOT"


@pytest.mark.parametrize("wanted", State)
def test_a_partition_that_the_table_does_not_have_is_refused(bench: Bench, wanted: State) -> None:
    before = bench.hot_ensemble.data()
    setter = StateSetter(
        bench.hot_store, bench.cold_store, bench.context.leases, AssumeActive(), ShardLayout(PATH)
    )
    with pytest.raises(NoSuchPartition):
        setter.set("19700101", wanted)
    assert bench.hot_ensemble.data() == before
