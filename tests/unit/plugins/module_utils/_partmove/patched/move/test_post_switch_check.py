# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes to a partition during the switch or right after it, and the outcome of the check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move import switch
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Delete,
    Multi,
    SetData,
)
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench
from support.memory.probe import SimulatedProbe


class TestLateInsert:
    """A part that is inserted while its partition is switched."""

    @pytest.fixture
    def bench(self) -> Bench:
        bench = Bench()
        bench.before_switch(lambda: bench.servers.insert(DAY))
        assert bench.move().deferred[DAY].gate == "late_insert"
        return bench

    def copies(self, bench: Bench) -> list[str]:
        return bench.cold.get_children(f"{PATH}/replicas/r1/parts")

    def test_all_of_the_partition_is_hot_again_as_it_was(self, bench: Bench) -> None:
        data = {path: bench.hot.get(bench.part(path))[0] for path in ("r1", "r2")}
        assert data == {path: bench.cold.get(bench.part(path))[0] for path in ("r1", "r2")}
        assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [PART, f"{DAY}_2_2_0", f"{OTHER}_0_0_0"]
        assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"HOT"

    def test_copies_stay_while_a_server_that_starts_may_need_them(self, bench: Bench) -> None:
        bench.servers.catch_up()

        bench.clock.time += 500
        assert bench.move().deferred[DAY].gate == "one_part"
        assert self.copies(bench) == [PART]

        bench.clock.time += 500
        assert bench.move().deferred[DAY].gate == "one_part"
        assert self.copies(bench) == []

    def test_it_can_be_moved_once_it_is_merged(self, bench: Bench) -> None:
        bench.servers.catch_up()
        bench.servers.assign_merge(DAY)
        bench.servers.catch_up()

        assert bench.move().moved.keys() == {DAY}
        assert self.copies(bench) == [f"{DAY}_0_2_1"]


def test_what_was_dropped_since_does_not_come_back() -> None:
    """The servers removed the copies then, and the parts from their disks."""
    bench = Bench()

    def insert_and_drop() -> None:
        bench.servers.insert(DAY)
        bench.servers.drop(DAY)

    bench.after_switch(insert_and_drop)

    assert bench.move().failed[DAY].gate == "late_insert"
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [f"{DAY}_2_2_0", f"{OTHER}_0_0_0"]


def test_what_was_replaced_since_does_not_come_back() -> None:
    """The servers left the copies, but the parts are on no disk any more."""
    bench = Bench()
    bench.context = bench.context._replace(servers=AskServers(SimulatedProbe(bench.servers)))

    def replace() -> None:
        bench.servers.replace(DAY)
        bench.servers.catch_up()

    bench.after_switch(replace)

    assert bench.move().failed[DAY].gate == "late_insert"
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [f"{DAY}_2_2_0", f"{OTHER}_0_0_0"]


def test_a_server_that_does_not_answer_does_not_keep_a_switch_from_being_undone() -> None:
    """A merge of the late part with the cold part would do more harm than parts missing on a disk."""
    bench = Bench()
    silent: list[bool] = []

    class Probe(SimulatedProbe):
        def active_parts(
            self, shard_path: str, replica: str, host: str, partitions: Collection[str]
        ) -> Mapping[str, tuple[ActivePart, ...]]:
            if silent:
                raise PartMoveError("no answer")
            return super().active_parts(shard_path, replica, host, partitions)

    bench.context = bench.context._replace(servers=AskServers(Probe(bench.servers)))
    bench.before_switch(lambda: bench.servers.insert(DAY))
    bench.after_switch(lambda: silent.append(True))

    assert bench.move().deferred[DAY].gate == "late_insert"
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"HOT"


def test_a_replica_that_is_added_right_after_the_switch() -> None:
    bench = Bench()
    bench.after_switch(lambda: bench.servers.add_replica("r3"))

    report = bench.move()

    assert report.deferred[DAY].reason == (
        "while the partition was switched, replica r3 was added, and a new replica does not get cold"
        " parts; the partition is registered in hot again"
    )
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [PART, f"{OTHER}_0_0_0"]


def test_a_replica_that_is_dropped_right_after_the_switch() -> None:
    bench = Bench()
    bench.after_switch(lambda: bench.servers.remove_replica("r2"))

    assert bench.move().moved.keys() == {DAY}


def test_a_detached_part_is_reported_although_the_lease_was_lost_in_between() -> None:
    """What was detached before is remembered from the first lease."""

    class Probe(SimulatedProbe):
        detached = frozenset({"ignored_20180101_0_0_0"})

        def detached_parts(self, _shard_path: str, _replica: str, _host: str) -> frozenset[str]:
            return self.detached

    bench = Bench()
    probe = Probe(bench.servers)
    bench.context = bench.context._replace(servers=AskServers(probe))

    def merge() -> None:
        bench.servers.assign_merge(OTHER)
        bench.servers.catch_up()

    def detach_and_lose_the_lease() -> None:
        probe.detached |= {f"unexpected_{PART}"}
        bench.hot_store.expire()

    # The other partition is switched later, in a second round.
    bench.before_copy(merge)
    bench.after_switch(detach_and_lose_the_lease)

    report = bench.move(DAY, OTHER)

    assert report.moved.keys() == {OTHER}
    assert report.failed[DAY].reason == f"replica r1 detached unexpected_{PART} during the run"


def test_a_lease_that_is_lost_while_switches_are_undone() -> None:
    """What was undone before is not undone again, and not forgotten."""
    bench = Bench()
    written: list[bytes] = []

    def before(multi: Multi) -> None:
        states = [op.data for op in multi if isinstance(op, SetData) and op.path.endswith("/State")]
        if states == [b"COLD", b"COLD"]:
            for each in (DAY, OTHER):
                bench.servers.insert(each)
        elif written == [b"COLD", b"COLD", b"HOT"]:
            bench.hot_store.expire()
        written.extend(states)

    bench.hot_store.before = before

    report = bench.move(DAY, OTHER)

    assert {each: refusal.gate for each, refusal in report.deferred.items()} == {
        DAY: "late_insert",
        OTHER: "late_insert",
    }
    assert written == [b"COLD", b"COLD", b"HOT", b"HOT", b"HOT"]


def test_another_run_that_takes_over_during_the_aftermath() -> None:
    """Copies removed by the other run, after it brought the partition back, do not count as missing."""
    bench = Bench()
    left = [True]
    parts = [f"{PATH}/replicas/{name}/parts/{PART}" for name in ("r1", "r2")]
    data = bench.hot.get(parts[0])[0]

    def take_over_and_reheat() -> None:
        bench.hot_store.expire()
        assert bench.context.leases.acquire(PATH).hot_epoch == 1
        bench.hot.apply(
            [
                *(Create(path, data) for path in parts),
                SetData(f"{PATH}/block_numbers/{DAY}/State", b"HOT", 1),
                Delete(LOCK, 0),
            ]
        )
        for path in parts:
            bench.cold.delete(path)

    def before_copies_are_listed(paths: Sequence[str]) -> None:
        if left and paths[-1].endswith("/parts"):
            left.pop()
            take_over_and_reheat()

    bench.after_switch(lambda: setattr(bench.cold_store, "listing", before_copies_are_listed))
    report = bench.move()

    assert not left
    assert report.failed == {}
    assert report.deferred.keys() == {DAY}


def test_an_insert_that_holds_a_block_number_is_late() -> None:
    """Its part would be registered in hot at any time, beside parts in cold alone."""
    bench = Bench()
    ends: list[Callable[[], None]] = []
    bench.before_switch(lambda: ends.append(bench.servers.begin_insert(DAY)))

    report = bench.move()

    lock = f"{PATH}/block_numbers/{DAY}/block-0000000002"
    assert report.deferred[DAY] == Refusal(
        GateName.LATE_INSERT,
        f"while the partition was switched, an insert holds a block number ({lock}); the partition is"
        f" registered in hot again",
        "Run again once the partition gets no inserts any more and every replica has its parts",
    )
    ends.pop()()
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [PART, f"{DAY}_2_2_0", f"{OTHER}_0_0_0"]
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"HOT"


def test_an_insert_that_ends_during_the_check() -> None:
    """The insert registers its part when it releases its lock, so the read finds one of the two."""
    bench = Bench()
    ends: list[Callable[[], None]] = []
    bench.before_switch(lambda: ends.append(bench.servers.begin_insert(DAY)))
    folder = f"{PATH}/block_numbers/{DAY}"

    def end_after(paths: Sequence[str]) -> None:
        if ends and folder not in paths and any(each.endswith("/queue") for each in paths):
            ends.pop()()

    bench.hot_store.listing = end_after

    assert bench.move().deferred[DAY].gate is GateName.LATE_INSERT
    assert ends == []


def test_each_batch_is_checked_before_the_next_one_is_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A late part may be merged with the cold ones any moment, so it does not wait for all groups."""
    monkeypatch.setattr(switch, "MAX_BATCH", 1)
    bench = Bench()
    bench.before_switch(lambda: bench.servers.insert(DAY))
    states: list[bytes] = []

    def note(multi: Multi) -> None:
        if any(isinstance(op, SetData) and OTHER in op.path and op.data == b"COLD" for op in multi):
            states.append(bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0])

    bench.hot_store.after = note

    report = bench.move(DAY, OTHER)

    assert report.deferred[DAY].gate is GateName.LATE_INSERT
    assert report.moved.keys() == {OTHER}
    assert states == [b"HOT"]
