# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A statement is executed on both tables, once, wherever runs are killed."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    Statement,
    truncate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.alters import AlterBench

TEXTS = [
    "ADD COLUMN x Int8",
    "DROP COLUMN id",
    "RENAME COLUMN id TO x",
    "MODIFY SETTING x",
    "UPDATE v = v + 1 WHERE 1",
    "MATERIALIZE COLUMN id",
    "DROP PARTITION ID 'p1'",
    "DETACH PARTITION ID 'p1'",
    "REPLACE PARTITION ID 'p1' FROM a.b",
    "RENAME TO fresh",
    truncate(),
]


def part_of(text: str | Statement) -> str:
    """What the statement for the table has, and no other statement."""
    if isinstance(text, Statement):
        return "TRUNCATE TABLE db.hits"
    return "RENAME TABLE db.hits TO" if text.startswith("RENAME TO") else "ALTER TABLE db.hits "


def outcome(bench: AlterBench) -> list[object]:
    """What both tables are like."""
    of = bench.servers.of
    return [
        *([of[side].columns, of[side].of_replica, of[side].updates, of[side].rows] for side in Side),
        *(of[side].names for side in Side),
        bench.servers.reading_columns,
        bench.servers.reading_engine,
        bench.servers.unread,
    ]


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(text: str | Statement, replaces: bool) -> None:
    """Also in a database that drops a reading table before it creates the table again."""
    whole = AlterBench(replaces=replaces)
    whole.run(text)
    moment = 0
    while True:
        bench = AlterBench(replaces=replaces)
        if not bench.run_killed(text, moment):
            break
        if bench.is_recorded:
            bench.run(None)
        else:
            # It was not begun, or is done.
            assert outcome(bench) in (outcome(AlterBench()), outcome(whole))
            continue_with = outcome(bench) != outcome(whole)
            if continue_with:
                bench.run(text)
        assert outcome(bench) == outcome(whole), moment
        assert not bench.is_recorded
        moment += 1
    assert moment > 10


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_a_run_that_is_killed_twice_is_finished(text: str | Statement, replaces: bool) -> None:
    whole = AlterBench(replaces=replaces)
    whole.run(text)
    for first in range(4, 40, 5):
        for second in range(0, 30, 6):
            bench = AlterBench(replaces=replaces)
            if not bench.run_killed(text, first) or not bench.is_recorded:
                continue
            bench.run_killed(None, second)
            bench.run(None)
            assert outcome(bench) == outcome(whole), (first, second)
            assert not bench.is_recorded


def test_the_same_statement_finishes_the_recorded_one_and_is_not_executed_again() -> None:
    bench = AlterBench()
    assert bench.run_killed("UPDATE v = v + 1 WHERE 1", 12)
    assert bench.is_recorded
    report = bench.run("UPDATE v = v + 1 WHERE 1")
    assert report.finished == "UPDATE v = v + 1 WHERE 1"
    assert [bench.servers.of[side].updates for side in Side] == [1, 1]


def test_another_statement_comes_after_the_recorded_one() -> None:
    bench = AlterBench()
    assert bench.run_killed("UPDATE v = v + 1 WHERE 1", 12)
    report = bench.run("ADD COLUMN x Int8")
    assert report.finished == "UPDATE v = v + 1 WHERE 1"
    assert [bench.servers.of[side].updates for side in Side] == [1, 1]
    assert [bench.servers.of[side].columns for side in Side] == [["day", "id", "x"]] * 2


def test_a_refused_statement_leaves_no_record() -> None:
    bench = AlterBench()
    bench.servers.refused = {"ALTER TABLE db.hits ": "no such column"}
    with pytest.raises(PartMoveError, match="no such column. Neither table was changed"):
        bench.run("UPDATE v = 1 WHERE 1")
    assert not bench.is_recorded
    assert Event.ALTERED not in [event for event, _lines in bench.journal.events]


@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_a_statement_that_was_begun_and_is_refused_leaves_no_record(text: str | Statement) -> None:
    bench = AlterBench()
    part = part_of(text)
    bench.run_killed_at(text, part, given=False)
    bench.servers.refused = {part: "no such column"}
    with pytest.raises(PartMoveError, match="Neither table was changed"):
        bench.run(None)
    assert not bench.is_recorded
    assert outcome(bench) == outcome(AlterBench())


def test_a_statement_that_only_the_twin_refuses_stays_recorded() -> None:
    bench = AlterBench()
    bench.servers.refused = {"ALTER TABLE db.hits_cold ": "too large"}
    with pytest.raises(
        PartMoveError, match="is not finished on db.hits_cold, .* too large.*DROP PARTITION ID"
    ):
        bench.run("DROP PARTITION ID 'p1'")
    assert bench.is_recorded
    bench.servers.refused = {}
    bench.run(None)
    assert [bench.servers.of[side].rows for side in Side] == [["hot 2"], ["cold 2"]]


@pytest.mark.parametrize("takes_effect", [True, False])
@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_a_statement_without_an_answer_counts_once_its_effect_shows(
    text: str | Statement, takes_effect: bool
) -> None:
    whole, bench = AlterBench(), AlterBench()
    whole.run(text)
    part = part_of(text)
    bench.servers.silent = {part: takes_effect}
    with suppress(PartMoveError):
        bench.run(text)
    bench.servers.silent = {}
    bench.run(None)
    assert not bench.is_recorded
    assert outcome(bench) == outcome(whole)


def test_the_twin_is_changed_only_after_the_table() -> None:
    bench = AlterBench()
    statements = bench.run("DROP PARTITION ID 'p1'").statements
    assert [each.split()[2] for each in statements] == ["db.hits", "db.hits_cold"]


def test_nothing_is_executed_on_a_table_without_the_partition() -> None:
    bench = AlterBench()
    bench.servers.of[Side.COLD].drop("p1")
    assert [each.split()[2] for each in bench.run("DROP PARTITION ID 'p1'").statements] == ["db.hits"]
    assert bench.run("DROP PARTITION ID 'p1'").statements == []


def test_a_replaced_partition_is_the_one_of_the_table_alone() -> None:
    bench = AlterBench()
    bench.run("REPLACE PARTITION ID 'p1' FROM a.b")
    assert [bench.servers.of[side].rows for side in Side] == [["hot 2", "replaced"], ["cold 2"]]


@pytest.mark.parametrize("given", [True, False])
def test_a_replace_of_a_killed_run_is_not_repeated_over_later_inserts(given: bool) -> None:
    bench = AlterBench()
    bench.servers.of[Side.HOT].drop("p1")
    bench.run_killed_at("REPLACE PARTITION ID 'p1' FROM a.b", "db.hits ", given=given)
    bench.servers.of[Side.HOT].insert("p1", "later")
    with pytest.raises(PartMoveError, match="may be of the REPLACE or of later inserts") as caught:
        bench.run(None)
    assert caught.value.remedy.startswith("Find out which. If db.hits is as it should be, DROP PARTITION ID")
    assert "later" in bench.servers.of[Side.HOT].rows


def test_readers_find_both_tables_amid_a_rename() -> None:
    bench = AlterBench()
    bench.run_killed_at("RENAME TO fresh", "RENAME TABLE db.hits_cold", given=False)
    wide = "Merge('db', '^(hits|hits_cold|fresh|fresh_cold)$')"
    assert set(bench.servers.reading_engine.values()) == {wide}
    bench.run(None)
    assert set(bench.servers.reading_engine.values()) == {"Merge('db', '^(fresh|fresh_cold)$')"}


def test_readers_get_a_dropped_table_back_before_anything_else() -> None:
    bench = AlterBench(replaces=False)
    bench.run_killed_at("RENAME TO fresh", "DROP TABLE db.hits_all", given=True)
    bench.servers.refused = {"RENAME TABLE": "Table db.fresh already exists"}
    with pytest.raises(PartMoveError, match="Neither table was changed"):
        bench.run(None)
    assert outcome(bench) == outcome(AlterBench())


def test_a_refused_rename_leaves_the_reading_table_as_it_was() -> None:
    bench = AlterBench()
    bench.servers.refused = {"RENAME TABLE": "Table db.fresh already exists"}
    with pytest.raises(PartMoveError, match="Neither table was changed"):
        bench.run("RENAME TO fresh")
    assert outcome(bench) == outcome(AlterBench())


def test_a_partition_is_attached_in_both_tables() -> None:
    bench = AlterBench()
    bench.run("DETACH PARTITION ID 'p1'")
    assert [bench.servers.of[side].rows for side in Side] == [["hot 2"], ["cold 2"]]
    assert len(bench.run("ATTACH PARTITION ID 'p1'").statements) == 2
    assert [bench.servers.of[side].rows for side in Side] == [["hot 1", "hot 2"], ["cold 1", "cold 2"]]


def test_tables_that_differ_afterwards_are_named() -> None:
    bench = AlterBench()
    bench.run_killed_at("ADD COLUMN x Int8", " db.hits_cold ", given=True)
    bench.servers.of[Side.COLD].columns.append("by_hand")
    with pytest.raises(PartMoveError, match="executed on both tables, and they differ"):
        bench.run(None)
    assert bench.is_recorded
