# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements for both tables: which kind each is, and which are refused. Trees as of 22.12 and 25.8."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    AlterKind,
    Statement,
    check_text,
    parse_alter,
    rename,
    truncate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from support.memory.alters import ModelAlters
from support.memory.twins import PATH

ID = "   Partition_ID Literal_'p' (children 1)"


TABLES = ModelAlters().tables(PATH, TwinReplica("r1", ""))


def sql_of(statement: Statement) -> list[str]:
    """The SQL for both tables."""
    return [statement.sql(TABLES, side, "x") for side in Side]


def tree_of(*commands: str, more: tuple[str, ...] = ()) -> list[str]:
    """The syntax tree of a statement, with lines below the last command."""
    lines = [f"  AlterCommand {each} (children 1)" for each in commands]
    end = [" Identifier db", " Identifier t"]
    return ["AlterQuery db t (children 3)", " ExpressionList (children 1)", *lines, *more, *end]


@pytest.mark.parametrize(
    ("text", "tree", "expected"),
    [
        (
            "ADD COLUMN x UInt8",
            tree_of("ADD_COLUMN"),
            Statement(AlterKind.STRUCTURE, "ADD COLUMN x UInt8", of_columns=True),
        ),
        (
            " DROP COLUMN `a b` ",
            tree_of("DROP_COLUMN", more=("   Identifier a b",)),
            Statement(AlterKind.STRUCTURE, "DROP COLUMN `a b`", leaving=("a b",), of_columns=True),
        ),
        (
            "RENAME COLUMN v TO w",
            tree_of("RENAME_COLUMN", more=("   Identifier v", "   Identifier w")),
            Statement(AlterKind.STRUCTURE, "RENAME COLUMN v TO w", leaving=("v",), of_columns=True),
        ),
        (
            "MODIFY SETTING a = 1",
            tree_of("MODIFY_SETTING", more=("   Set",)),
            Statement(AlterKind.STRUCTURE, "MODIFY SETTING a = 1", of_each_replica=True),
        ),
        (
            "REMOVE TTL",
            ["AlterQuery", "  AlterCommand REMOVE_TTL"],
            Statement(AlterKind.STRUCTURE, "REMOVE TTL"),
        ),
        ("CLEAR COLUMN v", tree_of("DROP_COLUMN"), Statement(AlterKind.REWRITE, "CLEAR COLUMN v")),
        ("MATERIALIZE TTL", tree_of("MATERIALIZE_TTL"), Statement(AlterKind.REWRITE, "MATERIALIZE TTL")),
        ("UPDATE v = 1 WHERE 1", tree_of("UPDATE"), Statement(AlterKind.MUTATION, "UPDATE v = 1 WHERE 1")),
        (
            "DELETE IN PARTITION ID 'p' WHERE id IN (1, 2)",
            tree_of("DELETE"),
            Statement(AlterKind.MUTATION, "DELETE IN PARTITION ID 'p' WHERE id IN (1, 2)"),
        ),
        (
            "drop partition id 'p'",
            tree_of("DROP_PARTITION", more=(ID,)),
            Statement(AlterKind.DROP, "drop partition id 'p'", "p"),
        ),
        (
            "REPLACE PARTITION ID 'p' FROM a.`b`",
            tree_of("REPLACE_PARTITION", more=(ID,)),
            Statement(AlterKind.REPLACE, "REPLACE PARTITION ID 'p' FROM a.`b`", "p"),
        ),
        (
            "ATTACH PARTITION ID 'p'",
            tree_of("ATTACH_PARTITION", more=(ID,)),
            Statement(AlterKind.ATTACH, "ATTACH PARTITION ID 'p'", "p"),
        ),
    ],
)
def test_the_kind_of_a_statement(text: str, tree: list[str], expected: Statement) -> None:
    assert parse_alter(text, tree) == expected


@pytest.mark.parametrize(
    ("text", "tree", "says"),
    [
        (
            "MOVE PARTITION ID 'p' TO TABLE o",
            tree_of("MOVE_PARTITION"),
            "MOVE PARTITION is no kind of statement",
        ),
        ("ATTACH PARTITION ID 'p' FROM a.b", tree_of("REPLACE_PARTITION"), "not written as DROP, DETACH"),
        ("REPLACE PARTITION ID 'p' FROM b", tree_of("REPLACE_PARTITION"), "not written as DROP, DETACH"),
        ("DROP PART 'p'", tree_of("DROP_PARTITION"), "not written as DROP, DETACH or ATTACH PARTITION ID"),
        (
            "DROP PARTITION 'p'",
            tree_of("DROP_PARTITION"),
            "not written as DROP, DETACH or ATTACH PARTITION ID",
        ),
        (
            "DROP PARTITION ALL",
            tree_of("DROP_PARTITION"),
            "not written as DROP, DETACH or ATTACH PARTITION ID",
        ),
        ("DROP PARTITION ID 'a b'", tree_of("DROP_PARTITION"), "not written as DROP, DETACH or ATTACH"),
        (
            "DROP PARTITION ID 'p', DROP PARTITION ID 'q'",
            tree_of(*["DROP_PARTITION"] * 2),
            "not executed together",
        ),
        ("UPDATE a = 1 WHERE 1, DELETE WHERE 1", tree_of("UPDATE", "DELETE"), "not executed together"),
        ("ADD COLUMN a Int8, DELETE WHERE 1", tree_of("ADD_COLUMN", "DELETE"), "not executed together"),
        ("CLEAR COLUMN a, DROP COLUMN b", tree_of(*["DROP_COLUMN"] * 2), "CLEAR beside other commands"),
        (
            "COMMENT COLUMN a 'b', ADD COLUMN c Int8",
            tree_of("COMMENT_COLUMN", "ADD_COLUMN"),
            "Only some of COMMENT_COLUMN, ADD_COLUMN are replicated",
        ),
        (
            "DELETE WHERE id IN (SELECT 1)",
            tree_of("DELETE", more=("      Subquery (children 1)",)),
            "another table",
        ),
        ("DELETE WHERE id IN other", tree_of("DELETE"), "reads another table"),
        ("DELETE WHERE (id IN `o`)", tree_of("DELETE"), "reads another table"),
        ("UPDATE a = 1", tree_of("UPDATE"), "has no WHERE, or several"),
        (
            "DROP COLUMN a SETTINGS b = 1",
            [*tree_of("DROP_COLUMN"), " Set"],
            "ends in clauses of its own: Set",
        ),
        (
            "DROP COLUMN a FORMAT Null",
            [*tree_of("DROP_COLUMN"), " Identifier Null"],
            "ends in clauses of its own: Identifier Null",
        ),
        ("ON CLUSTER c DROP COLUMN a", tree_of("DROP_COLUMN"), "begins with ON"),
        ("(CLEAR COLUMN a)", tree_of("DROP_COLUMN"), r"begins with \("),
        ("nothing", ["AlterQuery"], "which are not executed together"),
        ("", ["AlterQuery"], "The statement is empty"),
    ],
)
def test_other_statements_are_refused(text: str, tree: list[str], says: str) -> None:
    with pytest.raises(FormatError, match=says):
        parse_alter(text, tree)


def test_a_text_is_checked_before_a_server_sees_it() -> None:
    check_text("DROP COLUMN a")
    for text in ("DROP COLUMN a; DROP TABLE b", "ON CLUSTER c DROP COLUMN a", ""):
        with pytest.raises(FormatError):
            check_text(text)


def test_the_sql_of_a_statement() -> None:
    assert sql_of(truncate()) == ["TRUNCATE TABLE db.hits", "TRUNCATE TABLE db.hits_cold"]
    assert sql_of(Statement(AlterKind.STRUCTURE, "REMOVE TTL"))[1] == "ALTER TABLE db.hits_cold REMOVE TTL"
    assert sql_of(Statement(AlterKind.REPLACE, "REPLACE PARTITION ID 'p' FROM a.b", "p")) == [
        "ALTER TABLE db.hits REPLACE PARTITION ID 'p' FROM a.b",
        "ALTER TABLE db.hits_cold DROP PARTITION ID 'p'",
    ]
    assert sql_of(rename(TABLES, "a b", "a b_cold")) == [
        "RENAME TABLE db.hits TO db.`a b`",
        "RENAME TABLE db.hits_cold TO db.`a b_cold`",
    ]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("DELETE WHERE a OR b", "DELETE WHERE (a OR b) AND 'olap.partmove x' != ''"),
        (
            "UPDATE w = ' WHERE ', v = (1) WHERE a = 'WHERE'",
            "UPDATE w = ' WHERE ', v = (1) WHERE (a = 'WHERE') AND 'olap.partmove x' != ''",
        ),
    ],
)
def test_the_mark_of_a_mutation_changes_no_condition(text: str, marked: str) -> None:
    assert sql_of(Statement(AlterKind.MUTATION, text))[0] == f"ALTER TABLE db.hits {marked}"
