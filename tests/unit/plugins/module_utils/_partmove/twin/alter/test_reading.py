# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading tables lose a column before the two tables do, and get a new one after them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.reading import creation
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinReplica
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
    with pytest.raises(NotPermitted, match="tables may be hidden"):
        bench.run(None)
    assert bench.is_recorded
    bench.servers.hidden = False
    bench.run(None)
    assert (bench.is_recorded, bench.servers.reading_columns) == (False, ["day"])


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
