# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements as SQL: names and ids are quoted wherever ClickHouse needs it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
    DropParts,
    SetMerges,
    Statement,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import table_of

TABLES = TwinTables(
    TwinReplica("r1", ""),
    "server of r1",
    table_of(Side.HOT, "r1")._replace(name="hits-2019"),
    table_of(Side.COLD, "r1"),
)


@pytest.mark.parametrize(
    ("statement", "sql"),
    [
        (
            AttachPartitions(TABLES, Side.COLD, ("it's",)),
            r"ALTER TABLE db.hits_cold ATTACH PARTITION ID 'it\'s' FROM db.`hits-2019`",
        ),
        (
            AttachPartitions(TABLES, Side.HOT, ("201912", "202001")),
            (
                "ALTER TABLE db.`hits-2019` ATTACH PARTITION ID '201912' FROM db.hits_cold,"
                " ATTACH PARTITION ID '202001' FROM db.hits_cold"
            ),
        ),
        (
            DropParts(TABLES, Side.HOT, ("it's_1_1_0", "b_2_2_0")),
            r"ALTER TABLE db.`hits-2019` DROP PART 'it\'s_1_1_0', DROP PART 'b_2_2_0'",
        ),
        (SetMerges(TABLES, Side.HOT, allowed=False), "SYSTEM STOP MERGES db.`hits-2019`"),
        (SetMerges(TABLES, Side.COLD, allowed=True), "SYSTEM START MERGES db.hits_cold"),
    ],
)
def test_a_statement_can_be_pasted(statement: Statement, sql: str) -> None:
    assert statement.sql == sql
