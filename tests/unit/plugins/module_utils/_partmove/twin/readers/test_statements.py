# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Policies have a name for each pair, and are created in one storage and dropped without naming it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    AlterPolicy,
    CreatePolicy,
    DropPolicy,
    PolicyStatement,
    ReadingTable,
)
from support.memory.readers import READING, tables_of

TABLES = tables_of("r1")


@pytest.mark.parametrize(
    ("statement", "sql"),
    [
        (
            CreatePolicy(TABLES, READING, "local_directory"),
            (
                "CREATE ROW POLICY IF NOT EXISTS partmove_moving_hits ON db.hits_all IN local_directory"
                " USING 1 AS RESTRICTIVE TO ALL"
            ),
        ),
        (
            AlterPolicy(TABLES, READING, "NOT (a)"),
            "ALTER ROW POLICY partmove_moving_hits ON db.hits_all USING NOT (a)",
        ),
        (DropPolicy(TABLES, READING), "DROP ROW POLICY IF EXISTS partmove_moving_hits ON db.hits_all"),
        (
            DropPolicy(
                TABLES._replace(hot=TABLES.hot._replace(name="hits-2019")), ReadingTable("db", "all-hits")
            ),
            "DROP ROW POLICY IF EXISTS `partmove_moving_hits-2019` ON db.`all-hits`",
        ),
    ],
)
def test_sql(statement: PolicyStatement, sql: str) -> None:
    assert statement.sql == sql
    assert "OR REPLACE" not in statement.sql
    assert str(READING) == "db.hits_all"
