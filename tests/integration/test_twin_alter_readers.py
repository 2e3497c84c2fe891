# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading tables with columns that are computed from others follow a statement on real servers."""

from __future__ import annotations

import pytest

from support.ansible.dying_servers import run_until_killed
from support.ansible.twin_alters import Altered, DyingAlters
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]

COMPUTED = (
    "ADD COLUMN text String ALIAS toString(v)",
    "ADD COLUMN twice UInt32 DEFAULT v * 2",
    "ADD COLUMN `three times` UInt32 MATERIALIZED twice + v",
    "ADD COLUMN last String ALIAS concat(text, toString(`three times`))",
)
ALL = ["day", "id", "v", "w", "text", "twice", "three times", "last"]
LAST = [["1030"], ["1030"], ["1030"]]


@pytest.fixture
def altered(modern: ModernShard, hot: Ensemble, base: str) -> Altered:
    altered = Altered(modern, hot, base)
    for text in COMPUTED:
        answer = altered.alter(text)
        assert not answer["failed"], answer
    assert altered.columns(altered.reading) == [ALL, ALL]
    return altered


def check_readers(altered: Altered, columns: list[str]) -> None:
    """All tables have the columns, and readers get the values."""
    tables = (altered.name, altered.cold, altered.reading)
    assert [altered.columns(each) for each in tables] == [[columns, columns]] * 3
    assert [read[2] for read in altered.rows("last")] == [LAST, LAST]
    assert altered.moved("hot")["counts"]["moved"] == 1
    assert altered.moved()["counts"]["moved"] == 1


def test_a_column_is_renamed_together_with_what_is_computed_from_it(altered: Altered) -> None:
    foretold = altered.alter("RENAME COLUMN v TO x", check=True)["altered"][0]["statements"]
    answer = altered.alter("RENAME COLUMN v TO x")
    assert not answer["failed"], answer
    assert answer["altered"][0]["statements"] == foretold
    check_readers(altered, ["x" if each == "v" else each for each in ALL])


@pytest.mark.parametrize("text", ["DROP COLUMN v", "DROP COLUMN v, DROP COLUMN twice"])
def test_a_column_that_others_need_stays_and_readers_get_it_back(altered: Altered, text: str) -> None:
    answer = altered.alter(text)
    assert answer["failed"]
    assert "Neither table was changed" in answer["msg"]
    check_readers(altered, ALL)
    assert altered.alter("ADD COLUMN more UInt8")["changed"]


def test_columns_leave_together(altered: Altered) -> None:
    answer = altered.alter("DROP COLUMN last, DROP COLUMN `three times`, DROP COLUMN twice")
    assert not answer["failed"], answer
    left = ["day", "id", "v", "w", "text"]
    tables = (altered.name, altered.cold, altered.reading)
    assert [altered.columns(each) for each in tables] == [[left, left]] * 3


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("statements", range(6))
def test_a_killed_run_is_finished(altered: Altered, statements: int, given: bool) -> None:
    text = "RENAME COLUMN v TO x"
    run_until_killed(lambda: altered.alter_here(text, DyingAlters(altered, statements, given=given)))
    answer = altered.alter()
    assert not answer["failed"], answer
    check_readers(altered, ["x" if each == "v" else each for each in ALL])


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("statements", range(2))
def test_a_killed_run_of_a_statement_that_the_table_refuses_leaves_nothing(
    altered: Altered, statements: int, given: bool
) -> None:
    run_until_killed(
        lambda: altered.alter_here("DROP COLUMN v", DyingAlters(altered, statements, given=given))
    )
    answer = altered.alter()
    assert answer["failed"]
    assert "Neither table was changed" in answer["msg"]
    check_readers(altered, ALL)


@pytest.mark.parametrize("text", ["DROP COLUMN w", "RENAME COLUMN w TO x"])
def test_a_column_that_a_view_reads_from_the_reading_table_stays(altered: Altered, text: str) -> None:
    altered.first.execute(
        f"CREATE MATERIALIZED VIEW {altered.name}_view ENGINE = MergeTree ORDER BY id"
        f" AS SELECT id, w FROM {altered.reading}"
    )
    answer = altered.alter(text)
    assert answer["failed"]
    assert "Neither table was changed" in answer["msg"]
    assert f"{altered.name}_view" in answer["msg"]
    check_readers(altered, ALL)
    altered.first.execute(f"DROP TABLE {altered.name}_view SYNC")
    assert altered.alter(text)["changed"]


def test_a_nested_column_leaves_with_each_of_its_columns(altered: Altered) -> None:
    assert altered.alter("ADD COLUMN n Nested(a UInt8, b UInt8)")["changed"]
    assert altered.columns(altered.reading) == [[*ALL, "n.a", "n.b"]] * 2
    answer = altered.alter("DROP COLUMN n")
    assert not answer["failed"], answer
    first = answer["altered"][0]["statements"][0]
    assert first.endswith(f"{altered.reading} DROP COLUMN `n.a`, DROP COLUMN `n.b`"), first
    check_readers(altered, ALL)
