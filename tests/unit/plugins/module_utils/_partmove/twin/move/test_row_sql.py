# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of columns in queries of rows; tests/integration/test_twin_repair.py has real tables with them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.row_sql import (
    free_name,
    in_parts,
    name_problem,
    row_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.twins import table_of

TABLE = table_of(Side.HOT, "r1")


def test_columns_are_always_in_back_quotes() -> None:
    assert row_of(("day", "null", "a`b", "n.a")) == "`day`, `null`, `a\\`b`, `n.a`"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ((), "h"),
        (("a", "H", "hits", "a.h"), "h"),
        (("h",), "h_"),
        (("h_", "h"), "h__"),
        (("h.a",), "h_"),
        (("h", "h_.a"), "h__"),
    ],
)
def test_alias_is_no_column(columns: Sequence[str], expected: str) -> None:
    assert free_name("h", TABLE._replace(columns=tuple(columns))) == expected


def test_alias_is_a_column_of_none_of_the_tables() -> None:
    tables = [TABLE._replace(columns=columns) for columns in (("h",), ("h_",))]
    assert free_name("h", *tables) == "h__"


def test_parts_are_named_by_the_virtual_column() -> None:
    assert in_parts(TABLE, ["a_1_1_0"]) == "_part IN ('a_1_1_0')"
    assert name_problem(TABLE) == ""


def test_table_with_a_column_in_place_of_a_virtual_one_is_refused() -> None:
    with pytest.raises(NotPermitted, match=r"db\.hits has a column .*\(_part\).* Rename the column in both"):
        in_parts(TABLE._replace(virtual_names=("_part",)), ["a_1_1_0"])
