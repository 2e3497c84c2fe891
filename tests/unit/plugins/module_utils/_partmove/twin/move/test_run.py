# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run reads before it writes, takes the lease, and changes nothing in check mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import UnlimitedPace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import Clock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.hot_znodes import (
    count_hot_znodes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import read_replicas
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    ReadersOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.recorded_readers import (
    OpenRecordedReaders,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.interleaving import Died, Script
from support.memory.readers import MemoryReaderServers
from support.memory.twins import DAY, PATH, TwinBench, Twins


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(("a",), ("b", "c")))


def test_check_mode_lists_the_statements_and_executes_none(bench: TwinBench) -> None:
    before = bench.hot.data()
    report = bench.run(Side.COLD, check_mode=True)
    assert report.statements == [
        f"ALTER TABLE db.hits_cold ATTACH PARTITION ID '{DAY}' FROM db.hits",
        f"ALTER TABLE db.hits DROP PART '{DAY}_1_1_0', DROP PART '{DAY}_2_2_0'",
    ]
    assert (report.moved[DAY].parts, report.moved[DAY].rows) == (2, 3)
    assert bench.servers.statements == []
    assert bench.hot.data() == before


def test_check_mode_checks_the_gates(bench: TwinBench) -> None:
    assert bench.run(Side.COLD, check_mode=True, min_age=9e9).deferred[DAY].gate is GateName.OLD_ENOUGH


def test_nothing_is_written_without_work(bench: TwinBench) -> None:
    bench.run(Side.COLD)
    before = bench.hot.data()
    report = bench.run(Side.COLD)
    assert (report.unchanged, report.is_changed, report.hot_znodes) == ({DAY}, False, None)
    assert bench.hot.data() == before


def test_what_stays_in_hot_is_counted_after_a_move(bench: TwinBench) -> None:
    assert bench.run(Side.COLD, check_mode=True).hot_znodes is None
    found = bench.run(Side.COLD).hot_znodes
    assert found is not None
    assert found == count_hot_znodes(bench.hot.open(), PATH, ["r1", "r2"])


class DyingAt(Script):
    """Lets a run take so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._left = steps

    def step(self, operation: str) -> int:
        """Take a step, or die."""
        self._left -= 1
        if self._left < 0:
            raise Died
        return super().step(operation)


def was_killed(bench: TwinBench, steps: int) -> bool:
    """Let another run take so many steps after the first read of a run; return whether it died."""
    died: list[bool] = []

    @contextmanager
    def slots(*_of: object) -> Iterator[None]:
        yield
        if not died:
            died.append(False)
            with suppress(Died):
                died[0] = True
                bench.run(Side.COLD, DyingAt(steps))
                died[0] = False
            bench.servers.script = Script()

    bench.slots = slots
    bench.run(Side.COLD)
    return died[0]


def test_a_run_removes_the_policy_of_a_run_that_was_killed_before_its_lease() -> None:
    """The record was written after this run had read that there is none."""
    for steps in range(1000):
        bench, servers = TwinBench(Twins(("a",), ("b", "c"))), MemoryReaderServers()
        bench.readers = OpenRecordedReaders(servers, ReadersOptions())
        died = was_killed(bench, steps)
        assert (bench.records, servers.policies) == ({}, {}), steps
        if not died:
            break
    assert steps > 20


def test_a_partition_that_another_run_works_on_is_deferred(bench: TwinBench) -> None:
    bench.run(Side.COLD, partitions=["20200101"])
    bench.hot.open().commit([(Create("/partmove", b""),)])
    for folder in ("locks", "epochs"):
        bench.hot.open().commit([(Create(f"/partmove/{folder}", b""),)])
    bench.hot.open().commit([(Create(path_of_lock("/partmove", PATH), b"somebody", ephemeral=True),)])
    report = bench.run(Side.COLD)
    assert report.deferred[DAY].gate is GateName.LOCK_FREE
    assert bench.servers.statements == []


def test_a_silent_server_defers(bench: TwinBench) -> None:
    def silent(_tables: object) -> object:
        raise PartMoveError("r1 is down")

    bench.servers.change = silent  # type: ignore[assignment]
    assert bench.run(Side.COLD).deferred[DAY].reason == "r1 is down"


@pytest.mark.parametrize("down", [("r1",), ("r2",), ("r1", "r2")])
def test_one_server_is_enough_to_find_all_partitions(bench: TwinBench, down: tuple[str, ...]) -> None:
    """Partitions of a silent replica are deferred, so that the run continues with other shard paths."""

    def silent(tables: TwinTables) -> TwinTables:
        if tables.replica.name in down:
            raise PartMoveError(f"{tables.replica.name} is down")
        return tables

    bench.servers.change = silent
    if len(down) > 1:
        with pytest.raises(PartMoveError, match="r1 is down"):
            bench.find(Side.COLD)
        return
    assert bench.find(Side.COLD) == [DAY]
    refusal = bench.run(Side.COLD, partitions=bench.find(Side.COLD)).deferred[DAY]
    assert (refusal.gate, refusal.reason) == (GateName.TWIN_READY, f"{down[0]} is down")


def test_a_lease_that_is_lost_is_taken_again(bench: TwinBench) -> None:
    script = Script()
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"))).run(Side.COLD, trace)
    number = next(at for at, each in enumerate(trace.trace) if each.startswith("servers drop"))
    script.actions[number - 1] = lambda: bench.hot.end_session(bench.hot._sessions)
    assert bench.run(Side.COLD, script).moved.keys() == {DAY}
    assert bench.twins.rows == bench.twins.inserted


class Counting(UnlimitedPace):
    """Counts the parts that a run works on."""

    def __init__(self, bench: TwinBench) -> None:
        self.parts_at_once = 1
        self.parts: list[int] = []
        self._bench = bench

    def wait(self, parts: int, clock: Clock) -> None:
        """Return at once; no partition is in both tables meanwhile."""
        assert not self._bench.records
        self.parts.append(parts)


def test_the_parts_of_all_replicas_count(bench: TwinBench) -> None:
    pace = Counting(bench)
    assert bench.run(Side.COLD, pace=pace).moved.keys() == {DAY}
    assert pace.parts == [0, 4]


def test_replicas_are_read_with_their_hosts(bench: TwinBench) -> None:
    store = bench.hot.open()
    assert read_replicas(store, PATH) == [TwinReplica("r1", "host: x\n"), TwinReplica("r2", "host: x\n")]
    with pytest.raises(NoSuchTable, match="/tables/01/none is no table"):
        read_replicas(store, "/tables/01/none")


def test_a_recorded_partition_is_found_after_it_left_the_source(bench: TwinBench) -> None:
    script = Script()
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"))).run(Side.COLD, trace)
    script.actions[trace.last("hot commit /partmove/twins")] = script.die
    with pytest.raises(Died):
        bench.run(Side.COLD, script)
    assert not bench.twins.tables[Side.HOT].parts
    assert bench.records
    assert bench.run(Side.COLD).moved.keys() == {DAY}
    assert not bench.records


class CountedSlots:
    """Notes in the trace of a run when slots are taken and given back."""

    def __init__(self, bench: TwinBench) -> None:
        self._bench = bench
        self.taken = 0

    @contextmanager
    def take(self, shard_path: str, replicas: Sequence[TwinReplica], clock: Clock) -> Iterator[None]:
        assert (shard_path, [each.name for each in replicas]) == (PATH, ["r1", "r2"])
        assert clock is self._bench.clock
        assert self.taken == 0, "it would wait for itself"
        self.taken += 1
        self._bench.servers.script.trace.append("take")
        try:
            yield
        finally:
            self.taken -= 1
            self._bench.servers.script.trace.append("give")


@pytest.mark.parametrize("check_mode", [False, True])
def test_partitions_move_within_a_slot_of_their_servers(bench: TwinBench, check_mode: bool) -> None:
    script, slots = Script(), CountedSlots(bench)
    bench.slots = slots.take
    assert bench.run(Side.COLD, script, check_mode=check_mode).moved
    assert slots.taken == 0
    trace = script.trace
    taken = [trace[:number].count("take") - trace[:number].count("give") for number in range(len(trace))]
    assert trace.count("take") == 2, "the reads, and the group"
    assert {each for each, at in zip_strict(trace, taken) if not at and each.startswith("servers")} == set()
    assert any(each.startswith("servers attach") for each in trace) is not check_mode


def test_a_search_takes_a_slot(bench: TwinBench) -> None:
    slots = CountedSlots(bench)
    bench.slots = slots.take
    assert bench.find(Side.COLD) == [DAY]
    assert bench.servers.script.trace[0] == "take"
    assert bench.servers.script.trace[-1] == "give"


def test_a_run_that_ends_within_a_group_gives_its_slot_back(bench: TwinBench) -> None:
    script, slots = Script(), CountedSlots(bench)
    bench.slots = slots.take
    bench.servers.silent_after = lambda _statement: script.die() or False  # type: ignore[func-returns-value]
    with pytest.raises(Died):
        bench.run(Side.COLD, script)
    assert slots.taken == 0
