# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Columns leave a reading table with all that is computed from them, in an order that a server accepts."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.dependents import (
    leaving_columns,
    names_in,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.servers import ReadingTable


def leaving(columns: dict[str, str], *dropped: str) -> tuple[str, ...]:
    """``columns``: name → expression."""
    names = tuple(columns)
    return leaving_columns(
        ReadingTable("db.t", "Merge", names, names, True, tuple(columns.values())), dropped
    )


@pytest.mark.parametrize(
    ("columns", "dropped", "expected"),
    [
        ({"id": "", "text": "toString(id)", "v": "1"}, ["id"], ("text", "id")),
        ({"id": "", "text": "toString(id)"}, ["text"], ("text",)),
        ({"id": "", "text": "toString(id)"}, ["id", "text"], ("text", "id")),
        ({"id": "", "text": "toString(id)"}, ["text", "id"], ("text", "id")),
        ({"id": "", "text": "toString(id)"}, ["other"], ()),
        ({"id": "", "b": "id + 1", "c": "b + 1", "d": "c + id"}, ["id"], ("d", "c", "b", "id")),
        ({"n.a": "", "n.b": "", "s": "length(n.a)"}, ["n"], ("s", "n.a", "n.b")),
        ({"n.a": "", "n.b": "", "s": "length(n.a)"}, ["n.b"], ("n.b",)),
        ({"t": "", "s": "t.1 + t.x"}, ["t"], ("s", "t")),
        ({"a b": "", "s": "length(`a b`)"}, ["a b"], ("s", "a b")),
        ({"id": "", "s": "'id'"}, ["id"], ("id",)),
        ({"hour": "", "at": "", "s": "hour(at)"}, ["hour"], ("hour",)),
        ({"id": "", "idle": "", "s": "idle + 1"}, ["id"], ("id",)),
        # Names of arguments that other columns have, too.
        ({"a": "", "b": "arrayMap(c -> c, a)", "c": "arrayMap(b -> b, a)"}, ["a"], ("c", "b", "a")),
    ],
)
def test_dependent_columns_leave_first(
    columns: dict[str, str], dropped: list[str], expected: tuple[str, ...]
) -> None:
    assert leaving(columns, *dropped) == expected


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", []),
        ("'it\\'s' || a", ["a"]),
        ("'a''b' || c", ["c"]),
        ("if(a = 'b', `c`, \"d\")", ["a", "c", "d"]),
        ("`a.b` + `n`.`c`", ["a.b", "n.c"]),
        ("toDate(day) + 1e5", ["day"]),
        ("'an open quote", ["an", "open", "quote"]),
    ],
)
def test_names_are_found_outside_of_texts(expression: str, names: list[str]) -> None:
    assert list(names_in(expression)) == names
