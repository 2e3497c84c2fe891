# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Policies have a name for each pair, and are created in one storage and dropped without naming it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    AlterPolicy,
    CreatePolicy,
    DropPolicy,
    LeftPolicy,
    PolicyStatement,
    ReadingTable,
    policy_name,
)
from support.memory.readers import READING, tables_of
from support.memory.twins import PATH

TABLES = tables_of("r1")


@pytest.mark.parametrize(
    ("statement", "sql"),
    [
        (
            CreatePolicy(TABLES, READING, "local_directory"),
            (
                "CREATE ROW POLICY IF NOT EXISTS `partmove_moving_/tables/01/hits` ON db.hits_all"
                " IN local_directory USING 1 AS RESTRICTIVE TO ALL"
            ),
        ),
        (
            AlterPolicy(TABLES, READING, "NOT (a)"),
            "ALTER ROW POLICY `partmove_moving_/tables/01/hits` ON db.hits_all USING NOT (a)",
        ),
        (
            DropPolicy(TABLES, LeftPolicy(policy_name(TABLES), READING)),
            "DROP ROW POLICY IF EXISTS `partmove_moving_/tables/01/hits` ON db.hits_all",
        ),
        (
            DropPolicy(TABLES, LeftPolicy("partmove_moving_a`b", ReadingTable("d.b", "all-hits"))),
            "DROP ROW POLICY IF EXISTS `partmove_moving_a\\`b` ON `d.b`.`all-hits`",
        ),
    ],
)
def test_sql(statement: PolicyStatement, sql: str) -> None:
    assert statement.sql == sql
    assert "OR REPLACE" not in statement.sql
    assert str(READING) == "db.hits_all"


def test_the_name_is_that_of_the_shard_path() -> None:
    """A table of this name in another database has another path, and a RENAME leaves the path."""
    assert TABLES.shard_path == PATH
    renamed = TABLES._replace(hot=TABLES.hot._replace(database="other", name="events"))
    assert policy_name(renamed) == policy_name(TABLES)
    elsewhere = TABLES._replace(hot=TABLES.hot._replace(path="/tables/02/hits"))
    assert policy_name(elsewhere) != policy_name(TABLES)
    # After an exchange of names the table in the auxiliary ensemble gets the inserts.
    exchanged = TABLES._replace(hot=TABLES.cold, cold=TABLES.hot, home=Side.COLD)
    assert policy_name(exchanged) == policy_name(TABLES)
