# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcomes of a run over one shard path, and the state it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    EnsembleUnreachable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.events import digest_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import (
    MovedPartition,
    PatchedReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Delete,
    Multi,
    SetData,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.arrange import Arrange, create, create_cold, entry, mark
from support.memory.behind import lose_answer
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench, HookedStore
from support.memory.moves import make_world
from support.memory.tables import TableOptions


class Broken(HookedStore):
    """Cannot be reached any more once a partition has been switched."""

    broken = False

    def sync(self, path: str) -> None:
        if self.broken:
            raise EnsembleUnreachable("no answer from hot")


def breaking(bench: Bench) -> None:
    hot = Broken(bench.hot_ensemble)
    bench.hot_store, bench.context = hot, bench.context._replace(hot=hot)
    bench.after_switch(lambda: setattr(hot, "broken", True))


def test_an_unchecked_switch_has_failed() -> None:
    bench, report = Bench(), PatchedReport(PATH)
    breaking(bench)

    with pytest.raises(EnsembleUnreachable):
        move_shard(bench.context, PATH, [DAY], bench.options, report)

    assert report.moved == {}
    assert report.failed == {
        DAY: Refusal(
            GateName.POST_SWITCH_CHECK,
            "the partition was switched, but the run ended before the check after the switch",
            "Run part_audit_info: no part of the partition may be registered in hot while State is COLD",
        )
    }


def test_a_switch_with_an_unknown_outcome() -> None:
    bench, report = Bench(), PatchedReport(PATH)
    breaking(bench)
    bench.hot_store.loses = lambda multi: any(isinstance(op, SetData) and op.data == b"COLD" for op in multi)

    with pytest.raises(EnsembleUnreachable):
        move_shard(bench.context, PATH, [DAY], bench.options, report)

    assert report.moved == {}
    assert report.failed == {
        DAY: Refusal(
            GateName.POST_SWITCH_CHECK,
            "the answer to its switch was lost, and the run ended before State was read again",
            "Run part_move again: the partition either is cold by now or is moved then. Run"
            " part_audit_info in any case",
        )
    }


def test_the_run_that_switched_reports_a_change_and_the_next_one_does_not() -> None:
    """However the first one ends: between them there is no other."""
    bench, report = Bench(), PatchedReport(PATH)
    store, context = bench.hot_store, bench.context
    breaking(bench)
    with pytest.raises(EnsembleUnreachable):
        move_shard(bench.context, PATH, [DAY], bench.options, report)
    assert (set(report.failed), report.is_changed) == ({DAY}, True)

    bench.hot_store, bench.context = store, context
    again = bench.move()
    assert (again.unchanged, again.is_changed) == ({DAY}, False)


def test_a_run_that_is_ended_before_the_answer_to_a_switch_does_not_know_of_it() -> None:
    """A signal raises an exception that no error handler catches."""

    class Ended(BaseException):
        pass

    def end() -> None:
        raise Ended

    bench, report = Bench(), PatchedReport(PATH)
    bench.after_switch(end)
    with pytest.raises(Ended):
        move_shard(bench.context, PATH, [DAY], bench.options, report)

    assert report.failed[DAY].reason.startswith("the answer to its switch was lost")
    assert (report.moved, report.is_changed) == ({}, True)
    assert bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[0] == b"COLD"


def test_a_switch_that_was_undone_is_a_change() -> None:
    bench = Bench()
    bench.after_switch(lambda: bench.servers.insert(DAY))
    report = bench.move()
    assert report.deferred[DAY].gate is GateName.LATE_INSERT
    assert report.is_changed


@pytest.mark.parametrize("killed", [False, True], ids=["this run", "a killed run"])
def test_copies_that_an_earlier_run_left_are_a_change_when_removed(killed: bool) -> None:
    bench = Bench()
    mark(bench)
    if killed:
        for replica in ("r1", "r2"):
            create_cold(f"replicas/{replica}/parts/{PART}", bench.hot.get(bench.part(replica))[0])(bench)
        bench.servers.mutate(DAY)
    else:
        bench.before_switch(lambda: bench.servers.mutate(DAY))
    report = bench.move()
    assert report.deferred[DAY].gate is GateName.MUTATIONS_APPLIED
    assert PART not in bench.cold.get_children(f"{PATH}/replicas/r1/parts")
    assert report.is_changed is killed


def test_a_run_that_binds_its_table_is_a_change_and_says_so() -> None:
    """The first run alone, also if nothing is moved by it."""
    bench = Bench()
    bench.before_switch(lambda: bench.servers.mutate(DAY))
    first, second = bench.move(), bench.move()
    assert not first.moved
    assert (first.is_bound_now, first.is_changed) == (True, True)
    assert (second.is_bound_now, second.is_changed) == (False, False)


def test_a_journal_that_cannot_be_written_hides_nothing() -> None:
    class Full:
        def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
            if event is Event.MOVED:
                raise PartMoveError("no space left")

    bench, report = Bench(), PatchedReport(PATH)
    bench.context = bench.context._replace(journal=Full())

    with pytest.raises(PartMoveError, match="no space left"):
        move_shard(bench.context, PATH, [DAY, OTHER], bench.options, report)

    assert {each: refusal.gate for each, refusal in report.failed.items()} == {
        DAY: "post_switch_check",
        OTHER: "post_switch_check",
    }


def test_what_is_reported_and_recorded() -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    create(f"block_numbers/{OTHER}/State", b"HOT")(bench)
    expected = {
        DAY: MovedPartition(DAY, "", "COLD", parts=2, znodes=6, data_bytes=248),
        OTHER: MovedPartition(OTHER, "HOT", "COLD", parts=2, znodes=6, data_bytes=248),
    }

    report = bench.move(OTHER, DAY, DAY)

    assert report == PatchedReport(PATH, moved=expected, is_bound_now=True)
    assert list(report.moved) == [DAY, OTHER]
    fields = {"shard_path": PATH, "parts": 2, "znodes": 6, "bytes": 248}
    states = [bench.hot.get(f"{PATH}/block_numbers/{each}/State")[1] for each in (DAY, OTHER)]
    assert bench.journal.of(Event.MOVED) == [
        {**fields, "partition": each, "zxid": state.mzxid} for each, state in zip_strict((DAY, OTHER), states)
    ]
    assert states[0].mzxid > 0


def test_the_journal_names_a_partition_before_its_switch() -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    create(f"block_numbers/{OTHER}/State", b"HOT")(bench)
    told: list[list[dict[str, Any]]] = []
    bench.before_switch(lambda: told.append(bench.journal.of(Event.SWITCHING)))
    parts = {
        each: [
            {
                "part": f"{each}_0_0_0",
                "digest": digest_of(bench.reader().read([each]).partitions[each].hot_parts[0].payload),
                "replicas": ["r1", "r2"],
            }
        ]
        for each in (DAY, OTHER)
    }

    bench.move(DAY, OTHER)

    common = {"shard_path": PATH, "state": "COLD", "state_before": "HOT", "state_version": 0}
    assert told == [[{**common, "partition": each, "parts": parts[each]} for each in (DAY, OTHER)]]


def test_a_partition_missing_in_the_journal_is_not_switched() -> None:
    class Full:
        def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
            if event is Event.SWITCHING:
                raise PartMoveError("no space left")

    bench, report = Bench(), PatchedReport(PATH)
    bench.context = bench.context._replace(journal=Full())

    with pytest.raises(PartMoveError, match="no space left"):
        move_shard(bench.context, PATH, [DAY], bench.options, report)

    assert (report.moved, report.failed) == ({}, {})
    assert bench.hot.exists(bench.part()) is not None


def test_a_retried_switch_is_announced_again() -> None:
    bench = Bench()
    bench.before_switch(lambda: bench.hot.set(f"{PATH}/log", b""))

    assert bench.move().moved.keys() == {DAY}

    told = [event for event, row in bench.journal.events if row.get("partition") == DAY]
    assert told == [Event.SWITCHING, Event.SWITCHING, Event.MOVED]


def test_the_transaction_of_a_switch_of_which_the_answer_was_lost() -> None:
    bench = Bench()
    switch = SetData(f"{PATH}/block_numbers/{DAY}/State", b"COLD", 0)
    lose_answer(bench.hot_store, bench.hot_ensemble, lambda multi: switch in multi)

    bench.move()

    state = bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[1]
    assert [row["zxid"] for row in bench.journal.of(Event.MOVED)] == [state.mzxid]


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

    refusal = bench.move().deferred[DAY]
    assert refusal.gate is GateName.PARTITION_EXISTS
    assert refusal.reason == f"There is no replicated table at {PATH} in the hot ensemble"


def drop_the_table(bench: Bench) -> None:
    bench.servers.drop_table()


def show_something_unknown(bench: Bench) -> None:
    create("log/log-0000000000", entry(b"explode\nnow\n"))(bench)


@pytest.mark.parametrize(
    ("act", "gate"), [(drop_the_table, "partition_exists"), (show_something_unknown, "readable")]
)
def test_copies_do_not_outlive_what_cannot_be_read_any_more(act: Callable[[Bench], None], gate: str) -> None:
    bench = Bench()
    mark(bench)
    bench.before_copy(lambda: act(bench))

    assert bench.move().deferred[DAY].gate == gate

    assert bench.cold.get_children(f"{PATH}/replicas/r1/parts") == [f"{OTHER}_0_0_0"]


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
    reader = bench.reader()
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
def test_check_mode_reports_the_same_as_the_run(arrange: Arrange) -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    arrange(bench)
    before = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()
    hot, cold = OverlayStore(bench.hot_store, bench.clock), OverlayStore(bench.cold_store, bench.clock)

    told = move_shard(make_world(hot, cold, bench.clock), PATH, [DAY, OTHER], bench.options)

    assert (bench.hot_ensemble.tree(), bench.cold_ensemble.tree()) == before
    assert told == bench.move(DAY, OTHER)


def test_a_partition_that_another_run_moved_before_the_lease_is_unchanged() -> None:
    bench = Bench()
    other = bench.beside()
    bench.before_lease(lambda: other.move(DAY))

    report = bench.move(DAY)

    assert (report.unchanged, report.open([DAY])) == ({DAY}, [])
