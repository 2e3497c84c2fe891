# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading tables lose a column before the two tables do, and get a new one after them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NotPermitted,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.dependents import (
    leaving_columns,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.reading import creation
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from support.memory.alters import AlterBench
from support.memory.twins import PATH

HOT, COLD, READING = "ALTER TABLE db.hits ", "ALTER TABLE db.hits_cold ", "ALTER TABLE db.hits_all "
AGAIN = "CREATE OR REPLACE TABLE db.hits_all AS db.hits ENGINE = Merge('db', '^(hits|hits_cold)$')"


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("ADD COLUMN x Int8", [f"{HOT}ADD COLUMN x Int8", f"{COLD}ADD COLUMN x Int8", AGAIN]),
        (
            "RENAME COLUMN id TO x",
            [
                f"{READING}DROP COLUMN id",
                f"{HOT}RENAME COLUMN id TO x",
                f"{COLD}RENAME COLUMN id TO x",
                AGAIN,
            ],
        ),
        ("DROP COLUMN id", [f"{READING}DROP COLUMN id", f"{HOT}DROP COLUMN id", f"{COLD}DROP COLUMN id"]),
    ],
)
def test_the_order_of_the_statements(text: str, statements: list[str]) -> None:
    bench = AlterBench()
    assert bench.run(text).statements == statements
    assert bench.servers.reading_columns == bench.servers.of[next(iter(bench.servers.of))].columns


def test_without_a_reading_table_only_the_two_tables_are_changed() -> None:
    bench = AlterBench()
    bench.servers.reading_columns = None
    assert bench.run("DROP COLUMN id").statements == [f"{HOT}DROP COLUMN id", f"{COLD}DROP COLUMN id"]


def test_a_refused_statement_gives_the_reading_table_its_column_back() -> None:
    bench = AlterBench()
    bench.servers.refused = {HOT: "column id is needed"}
    with pytest.raises(Exception, match="Neither table was changed"):
        bench.run("DROP COLUMN id")
    assert bench.servers.reading_columns == ["day", "id"]


def computed() -> AlterBench:
    """Tables with a column that is computed from another one."""
    bench = AlterBench()
    for side in Side:
        bench.servers.of[side].columns = ["day", "id", "text"]
    bench.servers.reading_columns = ["day", "id", "text"]
    bench.servers.expressions = {"text": "id"}
    return bench


def test_a_column_leaves_readers_together_with_those_that_are_computed_from_it() -> None:
    bench = computed()
    assert bench.run("RENAME COLUMN id TO x").statements == [
        f"{READING}DROP COLUMN text, DROP COLUMN id",
        f"{HOT}RENAME COLUMN id TO x",
        f"{COLD}RENAME COLUMN id TO x",
        AGAIN,
    ]
    assert bench.servers.reading_columns == ["day", "x", "text"]


def test_a_column_that_the_table_must_keep_comes_back_to_readers() -> None:
    bench = computed()
    with pytest.raises(PartMoveError, match="column text depends on it. Neither table was changed"):
        bench.run("DROP COLUMN id")
    assert (bench.is_recorded, bench.servers.reading_columns) == (False, ["day", "id", "text"])


@pytest.mark.parametrize("text", ["DROP COLUMN id", "RENAME COLUMN id TO x"])
def test_nothing_is_left_if_the_reading_table_keeps_the_column(text: str) -> None:
    bench = AlterBench()
    bench.servers.refused = {READING: "a materialized view reads id"}
    with pytest.raises(PartMoveError, match="a materialized view reads id. Neither table was changed"):
        bench.run(text)
    assert (bench.is_recorded, bench.servers.executed) == (False, [])
    bench.servers.refused = {}
    assert bench.run("ADD COLUMN more Int8").statements[-1] == AGAIN


def test_a_reading_table_of_a_replica_gets_its_names_back_if_another_one_refuses_new_ones() -> None:
    bench = AlterBench()
    wide = []

    def refuse_second(sql: str) -> None:
        wide.append(sql)
        if len(wide) > 2:
            bench.servers.refused = {"fresh": "no right"}

    bench.servers.on = refuse_second
    with pytest.raises(PartMoveError, match="no right. Neither table was changed"):
        bench.run("RENAME TO fresh")
    assert not bench.is_recorded
    assert set(bench.servers.reading_engine.values()) == {"Merge('db', '^(hits|hits_cold)$')"}


LEFT = "the statement is not finished, as a table that reads both tables cannot follow"


def test_the_record_stays_if_the_reading_table_refuses_amid_the_statement() -> None:
    """As when somebody created a view meanwhile, and gave the reading table its column back."""
    bench = AlterBench()
    bench.run_killed_at("DROP COLUMN id", HOT, given=True)
    bench.servers.reading_columns = ["day", "id"]
    bench.servers.refused = {READING: "a materialized view reads id"}
    with pytest.raises(PartMoveError, match=f"{LEFT}.*: a materialized view reads id") as caught:
        bench.run(None)
    assert "run twin_alter without a statement" in caught.value.remedy
    assert bench.is_recorded
    bench.servers.refused = {}


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(
    "text", ["ADD COLUMN x Int8", "DROP COLUMN id", "RENAME COLUMN id TO x", "RENAME TO new"]
)
def test_a_reading_table_may_be_hidden_from_the_user(text: str, *, check_mode: bool) -> None:
    """Then nothing is begun: a column would stay in it, or it would not find the tables any more."""
    bench = AlterBench()
    bench.servers.hidden = True
    with pytest.raises(NotPermitted, match="tables may be hidden"):
        bench.run(text, check_mode=check_mode)
    assert (bench.is_recorded, bench.servers.executed) == (False, [])


def test_a_reading_table_that_is_hidden_from_the_next_run_keeps_the_statement_unfinished() -> None:
    bench = AlterBench()
    bench.run_killed_at("DROP COLUMN id", HOT, given=True)
    bench.servers.hidden = True
    with pytest.raises(
        PartMoveError, match="the statement is not finished, .* tables may be hidden"
    ) as error:
        bench.run(None)
    assert error.value.remedy.startswith(
        "GRANT SHOW TABLES ON db.* to the user, and run twin_alter without a"
    )
    assert bench.is_recorded
    bench.servers.hidden = False
    bench.run(None)
    assert (bench.is_recorded, bench.servers.reading_columns) == (False, ["day"])


@pytest.mark.parametrize("refuses", ["DROP COLUMN id", "ADD COLUMN x Int8"])
def test_the_record_stays_if_the_reading_table_is_not_created_again(refuses: str) -> None:
    bench = AlterBench()
    bench.servers.refused = {AGAIN: "no right", **({HOT: "no"} if refuses.startswith("DROP") else {})}
    with pytest.raises(PartMoveError, match=f"{LEFT}.*: no right"):
        bench.run(refuses)
    assert bench.is_recorded
    bench.servers.refused = {}
    bench.run(None)
    assert not bench.is_recorded


def test_the_record_stays_if_a_dropped_reading_table_is_not_created() -> None:
    bench = AlterBench(replaces=False)
    bench.run_killed_at("ADD COLUMN x Int8", "DROP TABLE db.hits_all", given=True)
    bench.servers.refused = {"CREATE TABLE": "no right"}
    with pytest.raises(PartMoveError, match=f"{LEFT}.*: no right"):
        bench.run(None)
    assert bench.is_recorded


def test_without_an_answer_of_the_reading_table_the_next_run_continues() -> None:
    bench = AlterBench()
    bench.servers.silent = {READING: True}
    with pytest.raises(PartMoveError, match=f"{LEFT}.*: no answer within 30 s"):
        bench.run("DROP COLUMN id")
    bench.servers.silent = {}
    assert bench.run(None).statements == [f"{HOT}DROP COLUMN id", f"{COLD}DROP COLUMN id"]


def test_a_nested_column_leaves_readers_with_each_of_its_columns() -> None:
    bench = AlterBench()
    for side in Side:
        bench.servers.of[side].columns = ["day", "n.a", "n.b", "nothing"]
    bench.servers.reading_columns = ["day", "n.a", "n.b", "nothing"]
    tables = bench.servers.tables(PATH, TwinReplica("r1", ""))
    table, _other = bench.servers.reading(tables)
    assert leaving_columns(table, ["n"]) == ("n.a", "n.b")
    assert leaving_columns(table, ["n.b"]) == ("n.b",)


def test_statements_that_no_reader_sees_need_no_reading_table() -> None:
    bench = AlterBench()
    bench.servers.hidden = True
    for text in ("DELETE WHERE id = 1", "MODIFY SETTING a"):
        assert bench.run(text).statements
    assert not bench.is_recorded


def test_a_reading_table_without_columns_is_one_whose_columns_are_hidden() -> None:
    bench = AlterBench()
    bench.servers.reading_columns = []
    with pytest.raises(
        NotPermitted, match="shows the user no column of the reading table db.hits_all"
    ) as error:
        bench.run("DROP COLUMN id")
    assert error.value.remedy == "GRANT SHOW COLUMNS ON db.hits_all to the user"
    assert (bench.is_recorded, bench.servers.executed) == (False, [])


def test_a_database_that_replaces_no_table_drops_it_first() -> None:
    bench = AlterBench()
    tables = bench.servers.tables(PATH, TwinReplica("r1", ""))
    table, _other = bench.servers.reading(tables)
    assert list(creation(table._replace(can_be_replaced=False), tables)) == [
        "DROP TABLE db.hits_all",
        AGAIN.replace("CREATE OR REPLACE", "CREATE"),
    ]
