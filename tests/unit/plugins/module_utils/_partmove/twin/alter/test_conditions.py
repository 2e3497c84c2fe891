# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conditions that read another table, which may give other answers for the two tables. Trees as of 25.8."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.conditions import reads_table
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.words import words_of


def condition(function: str, values: str, *more: str) -> list[str]:
    """The syntax tree of a DELETE with two conditions, one of which is this function of the column id."""
    return [
        "AlterQuery db t (children 3)",
        " ExpressionList (children 1)",
        "  AlterCommand DELETE (children 1)",
        "   Function and (children 1)",
        "    ExpressionList (children 2)",
        f"     Function {function} (children 1)",
        "      ExpressionList (children 2)",
        "       Identifier id",
        f"       {values}",
        *more,
        "     Identifier flag",
        " Identifier db",
        " Identifier t",
    ]


TUPLE = ("        ExpressionList (children 2)", "         Identifier v", "         Identifier w")


@pytest.mark.parametrize(
    ("text", "tree", "reads"),
    [
        ("DELETE WHERE id IN (1) AND flag", condition("in", "Literal UInt64_1"), False),
        ("DELETE WHERE id IN (1, 2) AND flag", condition("in", "Literal Tuple_(UInt64_1, UInt64_2)"), False),
        (
            "DELETE WHERE id IN (v, w) AND flag",
            condition("in", "Function tuple (children 1)", *TUPLE),
            False,
        ),
        ("DELETE WHERE min2(id, v) AND flag", condition("min2", "Identifier v"), False),
        ("DELETE WHERE id = v AND flag", condition("equals", "Identifier v"), False),
        ("DELETE IN PARTITION ID 'p' WHERE id = 1", condition("equals", "Literal UInt64_1"), False),
        ("DELETE WHERE id IN other", condition("equals", ""), True),
        ("DELETE WHERE id IN numbers(9)", condition("in", "Function numbers (children 1)"), True),
        ("DELETE WHERE id IN (other) AND flag", condition("in", "Identifier other"), True),
        ("DELETE WHERE id IN ((db.other)) AND flag", condition("in", "Identifier db.other"), True),
        ("DELETE WHERE id NOT IN (o) AND flag", condition("notIn", "TableIdentifier o"), True),
        ("DELETE WHERE in(id, o) AND flag", condition("in", "Identifier o"), True),
        ("DELETE WHERE globalNotNullIn(id, o)", condition("globalNotNullIn", "Identifier o"), True),
        ("DELETE WHERE id IN (SELECT 1)", condition("in", "Subquery (children 1)"), True),
    ],
)
def test_a_name_alone_is_a_table_among_the_values_of_in(text: str, tree: list[str], *, reads: bool) -> None:
    assert reads_table(words_of(text), tree) is reads
