# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading tables lose a column before the two tables do, and get a new one after them."""

from __future__ import annotations

import pytest

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


def test_a_database_that_replaces_no_table_drops_it_first() -> None:
    bench = AlterBench()
    tables = bench.servers.tables(PATH, TwinReplica("r1", ""))
    table, _other = bench.servers.reading(tables)
    assert list(creation(table._replace(can_be_replaced=False), tables)) == [
        "DROP TABLE db.hits_all",
        AGAIN.replace("CREATE OR REPLACE", "CREATE"),
    ]
