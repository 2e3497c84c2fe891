# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole table moves to the other ensemble and back under its name, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    LeaseLost,
    NotPermitted,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.exchange_record import (
    ServerMoment,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.older_inserts import (
    InsertsInProgress,
)
from support.memory.interleaving import Script
from support.memory.pairs import PairBench, Silent
from support.memory.twins import DAY, PATH, REPLICAS, content_of


@pytest.fixture
def bench() -> PairBench:
    return PairBench(("a", "b"), ("c",))


def test_a_table_moves_there_and_back(bench: PairBench) -> None:
    for side, place in ((Side.COLD, f"cold:{PATH}_cold"), (Side.HOT, f"default:{PATH}")):
        report = bench.move(side)
        assert [each.replica for each in report.exchanged] == list(REPLICAS)
        assert [(each.with_name.rows, each.without_name.rows) for each in report.final_counts] == [(3, 0)] * 2
        assert bench.is_at(side)
        assert not bench.records
        events = bench.journal.of(Event.EXCHANGING)[-2:]
        assert [(each["replica"], each["table"], each["place"]) for each in events] == [
            (replica, "db.hits", place) for replica in REPLICAS
        ]
        bench.servers.statements.clear()
        assert (bench.move(side).exchanged, bench.servers.statements) == ([], [])


def test_check_mode_lists_the_exchange_and_executes_nothing(bench: PairBench) -> None:
    report = bench.move(Side.COLD, check_mode=True)
    assert len(report.exchanged) == 2
    assert report.before is not None
    assert set(report.before.moved) == {DAY}
    assert bench.is_at(Side.HOT)
    assert bench.servers.statements == []


def test_a_young_partition_is_moved_after_the_exchange(bench: PairBench) -> None:
    bench.servers.modified = bench.servers.now - 10
    report = bench.move(Side.COLD, min_age=3600)
    assert report.before is not None
    assert report.after is not None
    assert (set(report.before.deferred), set(report.after.moved)) == ({DAY}, {DAY})
    assert bench.servers.statements[0] == "exchange on r1"
    assert bench.is_at(Side.COLD)


def test_inserts_between_the_exchanges_of_the_replicas_are_moved(bench: PairBench) -> None:
    """The first replica has exchanged its names, and the second replica has not."""
    bench.pairs.on_exchange = lambda replica: bench.insert("r2", f"late {replica}")
    report = bench.move(Side.COLD)
    assert report.after is not None
    assert report.after.moved[DAY].rows == 2
    assert bench.is_at(Side.COLD)


@pytest.mark.parametrize("desired", Side)
def test_a_run_in_either_direction_continues_after_a_failed_exchange(bench: PairBench, desired: Side) -> None:
    def fail(replica: str) -> None:
        if replica == "r2":
            raise Silent("no answer")

    bench.pairs.on_exchange = fail
    with pytest.raises(PartMoveError, match="exchanged on 1 of 2 replicas.*no answer"):
        bench.move(Side.COLD)
    assert list(bench.pairs.at.values()) == [Side.COLD, Side.HOT]
    bench.pairs.on_exchange = lambda _replica: None
    bench.insert("r1", "x")
    bench.insert("r2", "y")
    report = bench.move(desired)
    assert [each.replica for each in report.exchanged] == ["r2" if desired is Side.COLD else "r1"]
    assert report.before is None
    assert bench.is_at(desired)


def test_an_exchange_with_a_lost_answer_is_not_repeated(bench: PairBench) -> None:
    """A repeated statement would exchange the names back."""

    def lose(replica: str) -> None:
        bench.pairs.at[replica] = Side.COLD
        raise Silent("no answer")

    bench.pairs.on_exchange = lose
    with pytest.raises(PartMoveError, match="did not exchange it or did not confirm"):
        bench.move(Side.COLD)
    bench.pairs.on_exchange = lambda _replica: None
    assert [each.replica for each in bench.move(Side.COLD).exchanged] == ["r2"]
    assert bench.is_at(Side.COLD)


def test_an_exchange_without_effect_is_an_error(bench: PairBench) -> None:
    def undo(replica: str) -> None:
        bench.pairs.at[replica] = bench.pairs.at[replica].other

    bench.pairs.on_exchange = undo
    with pytest.raises(PartMoveError, match="its names have not changed"):
        bench.move(Side.COLD)


def test_a_run_without_its_lease_exchanges_nothing_more(bench: PairBench) -> None:
    bench.pairs.on_exchange = lambda _replica: bench.session.expire()
    with pytest.raises(LeaseLost):
        bench.move(Side.COLD)
    assert list(bench.pairs.at.values()) == [Side.COLD, Side.HOT]


def test_a_lease_that_ends_while_a_server_answers_exchanges_nothing(bench: PairBench) -> None:
    """Right before the statement: another run may move partitions by then."""
    bench.pairs.on_queued_inserts = lambda _replica: bench.session.expire()
    with pytest.raises(LeaseLost):
        bench.move(Side.COLD)
    assert list(bench.pairs.at.values()) == [Side.HOT, Side.HOT]


def test_names_stay_while_a_partition_is_between_the_tables(bench: PairBench) -> None:
    bench.servers.silent_after = lambda statement: statement.startswith("attach")
    with pytest.raises(PartMoveError, match=f"partition {DAY} of {PATH} cannot be moved: no answer"):
        bench.move(Side.COLD)
    # Its record keeps the names also where nobody has looked at the partition.
    whole = bench.whole(Side.COLD)
    assert whole.find_tables()
    with pytest.raises(
        PartMoveError,
        match=f"{PATH} and its twin are not exchanged, as partition {DAY} is between the two, says /partmove",
    ):
        whole.exchange()
    assert set(bench.pairs.at.values()) == {Side.HOT}
    bench.servers.silent_after = lambda _statement: False
    bench.move(Side.COLD)
    assert bench.is_at(Side.COLD)


def test_names_stay_while_a_partition_can_never_be_moved() -> None:
    bench = PairBench(("a",), ("a",))
    with pytest.raises(PartMoveError, match="ATTACH clones only one of them"):
        bench.move(Side.COLD)
    assert set(bench.pairs.at.values()) == {Side.HOT}


def test_names_stay_during_activity_that_depends_on_names(bench: PairBench) -> None:
    bench.pairs.hindered = ["mutation 1 of hits is not done"]
    with pytest.raises(PartMoveError, match="the names are not exchanged, as mutation 1 of hits"):
        bench.move(Side.COLD)
    assert set(bench.pairs.at.values()) == {Side.HOT}
    assert len(bench.move(Side.COLD, check_mode=True).exchanged) == 2


def test_a_missing_twin_may_be_created_unless_another_twin_has_the_name(bench: PairBench) -> None:
    bench.pairs.lacking = {"r2"}
    whole = bench.whole(Side.COLD)
    assert not whole.find_tables()
    assert whole.report.name == "db.hits"
    with pytest.raises(PartMoveError, match="has no twin of db.hits at its place"):
        whole.exchange()
    bench.pairs.at["r1"] = Side.COLD
    with pytest.raises(PartMoveError, match="server of r2 has no table at cold:"):
        bench.whole(Side.COLD).find_tables()
    bench.pairs.database_engine = "Ordinary"
    with pytest.raises(PartMoveError, match="of the engine Ordinary"):
        bench.whole(Side.COLD).find_tables()


def test_the_run_waits_for_lagging_replicas_and_then_reports_them(bench: PairBench) -> None:
    bench.pairs.uneven_looks = 3
    assert bench.move(Side.COLD).differing == ""
    bench.pairs.uneven_looks = 1000
    report = bench.move(Side.COLD)
    assert report.differing.startswith("db.hits_cold has 0 parts")


def test_a_table_that_never_comes_to_rest_is_finished(bench: PairBench) -> None:
    """Steady inserts and merges let no look find the same parts on all replicas."""
    bench.move(Side.COLD)
    bench.pairs.uneven_looks = 1000
    report = bench.move(Side.HOT)
    assert report.differing.startswith("db.hits has 2 parts")
    assert (report.is_finished, report.unfinished) == (True, "")


def test_a_record_that_stays_keeps_the_move_unfinished(bench: PairBench) -> None:
    whole = bench.whole(Side.COLD)
    assert whole.find_tables()
    whole.exchange()
    whole.await_older_inserts(0)
    ensure_path(bench.hot.open(), f"/partmove/twins/{quote(PATH, safe='')}/{DAY}")
    bench.twins.tables[Side.HOT].parts.clear()
    whole.record_final_counts()
    assert whole.report.unfinished == f"partition {DAY} of {PATH} is between the two tables by its record"


def test_earlier_contents_are_reported(bench: PairBench) -> None:
    (first, _second) = bench.move(Side.COLD).final_counts
    assert first.before is not None
    assert [each.rows for each in first.before] == [3, 0]
    (first, _second) = bench.move(Side.COLD).final_counts
    assert (first.before, first.older_inserts) == (None, ())


def statement_of(*replicas: str) -> Callable[[str, ServerMoment], InsertsInProgress]:
    """A statement that began before the exchange runs on these replicas."""
    return lambda replica, _since: InsertsInProgress(
        {"q1": "INSERT q1"} if replica in replicas else {}, {}, {}
    )


def test_no_run_is_finished_while_an_older_insert_runs(bench: PairBench) -> None:
    """Not even one that exchanges nothing, and that finds the other table empty."""
    bench.pairs.in_progress = statement_of("r2")
    for _run in range(2):
        report = bench.move(Side.COLD)
        assert [each.older_inserts for each in report.final_counts] == [(), ["INSERT q1"]]
        assert not report.is_finished
        assert report.unfinished == "on server of r2 there began before the exchange: INSERT q1"
    bench.twins.insert(Side.HOT, ("late",))
    bench.pairs.in_progress = statement_of()
    report = bench.move(Side.COLD)
    assert report.is_finished
    assert bench.is_at(Side.COLD)


def test_a_run_waits_for_older_inserts_and_moves_their_rows(bench: PairBench) -> None:
    looks = []

    def in_progress(replica: str, since: ServerMoment) -> InsertsInProgress:
        looks.append(replica)
        if looks == ["r1", "r2", "r1"]:
            bench.twins.insert(Side.HOT, ("late",))
        return statement_of(*(["r1"] if len(looks) < 4 else []))(replica, since)

    bench.pairs.in_progress = in_progress
    report = bench.move(Side.COLD, insert_wait=10)
    assert (looks, report.is_finished) == (["r1", "r2", "r1", "r1"], True)
    assert bench.is_at(Side.COLD)


def test_what_was_proven_is_not_asked_again(bench: PairBench) -> None:
    assert bench.move(Side.COLD).is_finished
    bench.pairs.in_progress = statement_of("r1", "r2")
    assert bench.move(Side.COLD).is_finished
    # Another exchange is another moment.
    assert not bench.move(Side.HOT).is_finished


def test_a_run_that_is_killed_after_an_exchange_takes_a_later_moment(bench: PairBench) -> None:
    """So that everything that runs at the next run counts as older, and not only what ran at another time."""
    bench.move(Side.COLD)
    asked: list[ServerMoment] = []

    def lose(replica: str) -> None:
        bench.pairs.at[replica] = Side.HOT
        raise Silent("no answer")

    bench.pairs.on_exchange = lose
    with pytest.raises(PartMoveError):
        bench.move(Side.HOT)
    bench.pairs.on_exchange = lambda _replica: None
    bench.pairs.uptime["r1"] = 5000
    bench.pairs.in_progress = lambda replica, since: asked.append(since) or statement_of()(replica, since)  # type: ignore[func-returns-value]
    assert bench.move(Side.HOT).is_finished
    assert asked[0].uptime > 5000


def test_a_second_exchange_in_one_direction_forgets_the_first_moment(bench: PairBench) -> None:
    """The run is lost right after it, so that nothing else tells that the first moment is too early."""
    bench.move(Side.COLD)
    for replica in REPLICAS:
        bench.pairs.at[replica] = Side.HOT

    def lose(replica: str) -> None:
        bench.pairs.at[replica] = Side.COLD
        raise Silent("no answer")

    bench.pairs.on_exchange = lose
    with pytest.raises(PartMoveError):
        bench.move(Side.COLD)
    bench.pairs.on_exchange = lambda _replica: None
    bench.pairs.in_progress = statement_of("r1")
    assert not bench.move(Side.COLD).is_finished


def test_names_that_were_exchanged_by_hand_prove_nothing(bench: PairBench) -> None:
    for replica in REPLICAS:
        bench.pairs.at[replica] = Side.COLD
    bench.pairs.in_progress = statement_of("r1")
    assert not bench.move(Side.COLD).is_finished


def test_names_stay_while_asynchronous_inserts_are_queued(bench: PairBench) -> None:
    """They keep the table: real servers refuse them after an exchange, or write them into the other table."""
    # It is queued after the other hindrances were read.
    bench.pairs.queued = ["the asynchronous insert q1 into hits is queued"]
    with pytest.raises(PartMoveError, match="the names are not exchanged, as the asynchronous insert q1"):
        bench.move(Side.COLD)
    assert set(bench.pairs.at.values()) == {Side.HOT}


def test_nothing_is_changed_without_all_rights(bench: PairBench) -> None:
    bench.pairs.forbidden = {"r2"}
    with pytest.raises(NotPermitted):
        bench.move(Side.COLD)
    assert bench.servers.statements == []


def test_inner_tables_of_views_are_refused(bench: PairBench) -> None:
    bench.pairs.lacking = set(REPLICAS)
    bench.pairs.alter = lambda found: found._replace(home=found.home._replace(name=".inner_id.1"))
    with pytest.raises(PartMoveError, match="server of r1: db..inner_id.1 is the inner table of a view"):
        bench.whole(Side.COLD).find_tables()


def test_check_mode_knows_no_older_inserts_before_the_exchange(bench: PairBench) -> None:
    report = bench.move(Side.COLD, check_mode=True)
    assert {each.older_inserts for each in report.final_counts} == {None}
    assert not report.is_finished
    bench.move(Side.COLD)
    bench.pairs.in_progress = statement_of("r1")
    assert bench.move(Side.COLD, check_mode=True, insert_wait=1000).is_finished


def test_contents_follow_the_rows(bench: PairBench) -> None:
    bench.move(Side.COLD)
    assert {part.content for part in bench.twins.tables[Side.COLD].shown()} == {
        content_of(("a", "b")),
        content_of(("c",)),
    }


class Killed(BaseException):
    """The process of the run was killed."""


class KillingScript(Script):
    """Lets a run live for a number of steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._left = steps

    def step(self, operation: str) -> int:
        """Take one."""
        if not self._left:
            raise Killed(operation)
        self._left -= 1
        return super().step(operation)


@pytest.mark.parametrize("then", Side)
def test_a_run_in_either_direction_continues_after_a_kill_anywhere(then: Side) -> None:
    ends = set()
    for steps in range(1000):
        bench = PairBench(("a", "b"), ("c",))
        bench.pairs.script = KillingScript(steps)
        try:
            bench.move(Side.COLD)
            break
        except Killed as killed:
            ends.add(str(killed))
        bench.session.expire()
        bench.pairs.script = Script()
        for replica in REPLICAS:
            bench.insert(replica, f"late {replica}")
        report = bench.move(then)
        assert report.is_finished
        # What came to the twin of a replica that had exchanged is moved by its partition.
        assert bench.is_at(then), steps
        bench.twins.check_nothing_lost()
    assert {"servers attach", "servers drop hot", "servers exchange", "servers exchanged"} <= ends
