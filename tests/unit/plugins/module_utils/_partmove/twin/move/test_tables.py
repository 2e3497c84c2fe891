# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables and parts."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartsOf,
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import ModelTable, table_of


def test_each_side_has_another_side_and_its_table() -> None:
    tables = TwinTables(TwinReplica("r1", ""), "server", table_of(Side.HOT, "r1"), table_of(Side.COLD, "r1"))
    assert [side.other for side in Side] == [Side.COLD, Side.HOT]
    assert [tables.on(side).name for side in Side] == ["hits", "hits_cold"]


def test_parts_are_told_apart_by_side_and_by_being_active() -> None:
    (one,), (two,), (three,), (four,) = (
        ModelTable(parts={(number, number, 0): ("row",)}).shown() for number in range(4)
    )
    parts = PartsOf((one,), (two,), (three,), (four,))
    assert [parts.on(side) for side in Side] == [(one,), (two,)]
    assert [parts.past(side) for side in Side] == [(three,), (four,)]


def test_names_are_quoted_in_sql_and_plain_for_people() -> None:
    table = table_of(Side.HOT, "r1")._replace(database="my-db", name="it`s")
    assert table.sql_name == "`my-db`.`it\\`s`"
    assert (str(table), table.place) == ("my-db.it`s", "default:/tables/01/hits")
