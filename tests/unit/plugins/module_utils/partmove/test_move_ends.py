# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a move of one shard path ends, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils.partmove.errors import (
    EnsembleError,
    EnsembleUnreachable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils.partmove.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils.partmove.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils.partmove.move import move_shard
from ansible_collections.olap.partmove.plugins.module_utils.partmove.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils.partmove.report import (
    MovedPartition,
    ShardReport,
)
from ansible_collections.olap.partmove.plugins.module_utils.partmove.server_gates import AskServers
from ansible_collections.olap.partmove.plugins.module_utils.partmove.shard_reader import (
    NoSuchTable,
    ShardReader,
)
from ansible_collections.olap.partmove.plugins.module_utils.partmove.znodes import (
    Create,
    Delete,
    Multi,
    SetData,
)
from support.arrange import Arrange, create, create_cold, entry, mark
from support.bench import DAY, LOCK, OTHER, PART, PATH, Bench, HookedStore
from support.moves import make_world
from support.simulated import SimulatedProbe
from support.tables import TableOptions


class Broken(HookedStore):
    """Cannot be reached any more once a partition has been switched."""

    broken = False

    def sync(self, path: str) -> None:
        if self.broken:
            raise EnsembleUnreachable("no answer from hot")


def breaking(bench: Bench) -> None:
    hot = Broken(bench.hot_ensemble)
    bench.hot_store, bench.world = hot, bench.world._replace(hot=hot)
    bench.after_switch(lambda: setattr(hot, "broken", True))


def test_what_was_not_looked_at_again_has_failed() -> None:
    bench, report = Bench(), ShardReport(PATH)
    breaking(bench)

    with pytest.raises(EnsembleUnreachable):
        move_shard(bench.world, PATH, [DAY], bench.options, report)

    assert report.moved == {}
    assert report.failed == {
        DAY: Refusal(
            "aftermath",
            "it was switched, but the run ended before it was looked at again",
            "Audit the partition: no part of it may be registered in hot while State is COLD",
        )
    }


def test_what_became_of_a_switch_is_not_known() -> None:
    bench, report = Bench(), ShardReport(PATH)
    breaking(bench)
    bench.hot_store.loses = lambda multi: any(isinstance(op, SetData) and op.data == b"COLD" for op in multi)

    with pytest.raises(EnsembleUnreachable):
        move_shard(bench.world, PATH, [DAY], bench.options, report)

    assert report.moved == {}
    assert report.failed == {
        DAY: Refusal(
            "aftermath",
            "the answer to its switch was lost, and the run ended before it was found out",
            "Run again: it is either cold by now or will be moved then; audit it in any case",
        )
    }


def test_a_journal_that_cannot_be_written_hides_nothing() -> None:
    class Full:
        def record(self, event: str, rows: Sequence[Mapping[str, str | int]]) -> None:
            raise PartMoveError("no space left")

    bench, report = Bench(), ShardReport(PATH)
    bench.world = bench.world._replace(journal=Full())

    with pytest.raises(PartMoveError, match="no space left"):
        move_shard(bench.world, PATH, [DAY, OTHER], bench.options, report)

    assert {each: refusal.gate for each, refusal in report.failed.items()} == {
        DAY: "aftermath",
        OTHER: "aftermath",
    }


def test_what_is_reported_and_recorded() -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    create(f"block_numbers/{OTHER}/State", b"HOT")(bench)
    expected = {
        DAY: MovedPartition(DAY, "", "COLD", parts=2, znodes=6, data_bytes=248),
        OTHER: MovedPartition(OTHER, "HOT", "COLD", parts=2, znodes=6, data_bytes=248),
    }

    report = bench.move(OTHER, DAY, DAY)

    assert report == ShardReport(PATH, moved=expected)
    assert list(report.moved) == [DAY, OTHER]
    fields = {"shard_path": PATH, "parts": 2, "znodes": 6, "bytes": 248}
    journal = bench.world.journal
    assert getattr(journal, "events", None) == [
        ("moved", fields | {"partition": DAY}),
        ("moved", fields | {"partition": OTHER}),
    ]


def test_a_run_with_nothing_to_do_writes_nothing() -> None:
    bench = Bench()
    bench.move(DAY)
    hot, cold = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()

    report = bench.move(DAY, "20300101")

    assert report.unchanged == {DAY}
    assert report.deferred.keys() == {"20300101"}
    assert bench.hot_ensemble.tree() == hot
    assert bench.cold_ensemble.tree() == cold


def test_the_lock_is_given_back() -> None:
    bench = Bench()
    bench.move(DAY)
    bench.before_switch(lambda: bench.servers.insert(OTHER))
    bench.move(OTHER)

    assert bench.hot.exists(LOCK) is None


def test_a_table_that_is_not_there() -> None:
    bench = Bench()
    bench.servers.drop_table()

    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {PATH} in the hot ensemble"):
        bench.move()


def drop_the_table(bench: Bench) -> None:
    bench.servers.drop_table()


def show_something_unknown(bench: Bench) -> None:
    create("log/log-0000000000", entry(b"explode\nnow\n"))(bench)


@pytest.mark.parametrize(("act", "error"), [(drop_the_table, NoSuchTable), (show_something_unknown, None)])
def test_copies_do_not_outlive_what_cannot_be_read_any_more(
    act: Callable[[Bench], None], error: type[Exception] | None
) -> None:
    bench = Bench()
    mark(bench)
    bench.before_copy(lambda: act(bench))

    if error is None:
        assert bench.move().deferred[DAY].gate == "readable"
    else:
        with pytest.raises(error):
            bench.move()

    assert bench.cold.get_children(f"{PATH}/replicas/r1/parts") == [f"{OTHER}_0_0_0"]


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


def test_a_replica_that_is_added_right_after_the_switch() -> None:
    bench = Bench()
    bench.after_switch(lambda: bench.servers.add_replica("r3"))

    report = bench.move()

    assert report.deferred[DAY].reason == (
        "while it was switched, replica r3 was added, which does not get cold parts;"
        " it is registered in hot again"
    )
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [PART, f"{OTHER}_0_0_0"]


def test_a_replica_that_is_dropped_right_after_the_switch() -> None:
    bench = Bench()
    bench.after_switch(lambda: bench.servers.remove_replica("r2"))

    assert bench.move().moved.keys() == {DAY}


def test_copies_that_somebody_else_keeps_writing_to() -> None:
    """Nothing is switched while cold does not hold still."""
    bench = Bench()
    path = f"{PATH}/replicas/r1/parts/{PART}"
    mark(bench)
    create_cold(f"replicas/r1/parts/{PART}", b"stale")(bench)
    counter = iter(range(1000))

    def disturb(multi: Multi) -> None:
        if any(op.path == path for op in multi):
            bench.cold.set(path, f"stale {next(counter)}".encode())

    bench.cold_store.before = disturb

    with pytest.raises(EnsembleError, match="did not stay as written in the cold ensemble"):
        bench.move()
    assert bench.hot.exists(path) is not None


def test_copies_that_a_former_run_left_are_put_right() -> None:
    bench = Bench()
    original = bench.hot.get(bench.part())[0]
    mark(bench)
    create_cold(f"replicas/r1/parts/{PART}", b"stale")(bench)
    create_cold(f"replicas/r1/parts/{PART}/columns", b"stale")(bench)

    assert bench.move().moved.keys() == {DAY}
    assert bench.cold.get(f"{PATH}/replicas/r1/parts/{PART}")[0] == original
    assert bench.cold.get_children(f"{PATH}/replicas/r1/parts/{PART}") == []


def test_a_part_that_is_detached_is_told_although_the_lease_was_lost_in_between() -> None:
    """What was detached before is remembered from the first lease."""

    class Probe(SimulatedProbe):
        detached = frozenset({"ignored_20180101_0_0_0"})

        def detached_parts(self, _shard_path: str, _replica: str, _host: str) -> frozenset[str]:
            return self.detached

    bench = Bench()
    probe = Probe(bench.servers)
    bench.world = bench.world._replace(servers=AskServers(probe))

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
    assert report.failed[DAY].reason == f"replica r1 detached unexpected_{PART} during the move"


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


@pytest.mark.parametrize("listings", [1, 2, 3])
def test_another_run_that_takes_over_during_the_aftermath(listings: int) -> None:
    """Nothing is judged by copies that the other run removed after it had made the partition hot again."""
    bench = Bench()
    left = [True] * listings
    parts = [f"{PATH}/replicas/{name}/parts/{PART}" for name in ("r1", "r2")]
    data = bench.hot.get(parts[0])[0]

    def take_over_and_reheat() -> None:
        bench.hot_store.expire()
        assert bench.world.leases.acquire(PATH).hot_epoch == 1
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
        if left and paths[0].endswith("/parts"):
            left.pop()
            if not left:
                take_over_and_reheat()

    bench.after_switch(lambda: setattr(bench.cold_store, "listing", before_copies_are_listed))
    report = bench.move()

    assert not left
    assert report.failed == {}
    assert report.deferred.keys() == {DAY}


@pytest.mark.parametrize("times", [1, 4])
def test_copies_that_are_taken_back_while_answers_are_lost(times: int) -> None:
    bench = Bench()
    bench.before_copy(lambda: bench.servers.mutate(DAY))
    left = [True] * times
    bench.cold_store.loses = lambda multi: (
        bool(left) and any(isinstance(op, Delete) for op in multi) and left.pop()
    )

    assert bench.move().deferred[DAY].gate == "mutations_applied"
    assert bench.cold.get_children(f"{PATH}/replicas/r1/parts") == []


def test_entries_of_a_table_that_was_made_again_are_read() -> None:
    """They have the names of those of the former table."""
    bench = Bench()
    create("log/log-0000000000", entry(f"get\n{OTHER}_5_5_0\n".encode()))(bench)
    reader = ShardReader(bench.hot_store, bench.cold_store, ShardLayout(PATH))
    assert reader.shard().pending.keys() == {OTHER}

    bench.servers.recreate()
    create("log/log-0000000000", entry(f"get\n{DAY}_5_5_0\n".encode()))(bench)

    assert reader.shard().pending.keys() == {DAY}


def test_copies_that_cannot_be_taken_back() -> None:
    bench = Bench()
    bench.before_copy(lambda: bench.servers.mutate(DAY))
    bench.cold_store.loses = lambda multi: any(isinstance(op, Delete) for op in multi)

    with pytest.raises(
        EnsembleError, match=f"Copies of partitions {DAY} of {PATH} could not be removed from cold"
    ):
        bench.move()


def keep(_bench: Bench) -> None:
    pass


@pytest.mark.parametrize("arrange", [keep, create("dropped"), mark])
def test_check_mode_tells_what_the_run_does(arrange: Arrange) -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    arrange(bench)
    before = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()
    hot, cold = OverlayStore(bench.hot_store), OverlayStore(bench.cold_store)

    told = move_shard(make_world(hot, cold, bench.clock), PATH, [DAY, OTHER], bench.options)

    assert (bench.hot_ensemble.tree(), bench.cold_ensemble.tree()) == before
    assert told == bench.move(DAY, OTHER)
