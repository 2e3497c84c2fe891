# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL of a repair."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.statements import (
    AttachPart,
    AttachScratch,
    BuildScratch,
    DetachPart,
    DropDetached,
    DropScratch,
    ReplicaCommand,
    scratch_definition,
)
from support.memory.twins import table_of

TABLES = TwinTables(TwinReplica("r1", ""), "", table_of(Side.HOT, "r1"), table_of(Side.COLD, "r1"))


def test_statements_name_parts_and_tables() -> None:
    assert DetachPart(TABLES, Side.HOT, "p_1_1_0").sql == "ALTER TABLE db.hits DETACH PART 'p_1_1_0'"
    dropped = DropDetached(TABLES, Side.COLD, "p_1_1_0").sql
    assert dropped == "ALTER TABLE db.hits_cold DROP DETACHED PART 'p_1_1_0'"
    attached = AttachScratch(TABLES, "p-1").sql
    assert attached == "ALTER TABLE db.hits_cold ATTACH PARTITION ID 'p-1' FROM db.`hits_partmove_p-1`"
    assert AttachPart(TABLES, "p_1_1_0").sql == "ALTER TABLE db.hits_cold ATTACH PART 'p_1_1_0'"
    assert ReplicaCommand(TABLES, "RESTORE").sql == "SYSTEM RESTORE REPLICA db.hits_cold"
    assert DropScratch(TABLES, "p").sql == "DROP TABLE IF EXISTS db.hits_partmove_p SYNC"


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("(`a` UInt8) ReplicatedMergeTree() ORDER BY a", "(`a` UInt8) ENGINE = MergeTree ORDER BY a"),
        (
            "(`a)` String DEFAULT ')\\'(') ReplicatedReplacingMergeTree(v) PARTITION BY a ORDER BY a TTL d",
            "(`a)` String DEFAULT ')\\'(') ENGINE = MergeTree PARTITION BY a ORDER BY a TTL d",
        ),
        (
            "(`a` Tuple(x UInt8)) ReplicatedSummingMergeTree((a, b)) ORDER BY a SETTINGS x = 1",
            "(`a` Tuple(x UInt8)) ENGINE = MergeTree ORDER BY a SETTINGS x = 1",
        ),
        (
            "(`a` String DEFAULT encrypt('[HIDDEN]')) ReplicatedMergeTree() ORDER BY a",
            "AS db.hits ENGINE = MergeTree ORDER BY a",
        ),
    ],
)
def test_scratch_table_is_like_the_table_and_keeps_every_row(definition: str, expected: str) -> None:
    table = TABLES.hot._replace(definition=definition)
    comment = "COMMENT 'olap.partmove: scratch table of twin_repair'"
    assert scratch_definition("db.s", table) == f"CREATE TABLE db.s {expected} {comment}"


@pytest.mark.parametrize(
    "definition",
    ["", "(", "(`a` UInt8) MergeTree() ORDER BY a", "(`a` Date) ReplicatedMergeTree(a, (a), 8192)", "(a ')"],
)
def test_definition_that_is_not_understood_is_refused(definition: str) -> None:
    with pytest.raises(FormatError, match="not one for which a scratch table can be made"):
        scratch_definition("db.s", TABLES.hot._replace(definition=definition))


def test_secret_that_no_server_copies_is_refused() -> None:
    definition = "(`a` String) ReplicatedMergeTree() ORDER BY encrypt('[HIDDEN]', a)"
    with pytest.raises(FormatError, match=r"db\.hits have a secret, which the server shows as \[HIDDEN\]"):
        scratch_definition("db.s", TABLES.hot._replace(definition=definition))


def test_scratch_table_gets_each_row_as_often_as_the_table_has_it_more_often() -> None:
    definition = "(`a` UInt8) ReplicatedMergeTree() ORDER BY a"
    tables = TABLES._replace(hot=TABLES.hot._replace(definition=definition))
    create, insert = BuildScratch(tables, "p", ("h",), ("c",)).statements
    assert create.startswith("CREATE TABLE db.hits_partmove_p (`a` UInt8) ENGINE = MergeTree ")
    row = "sipHash128(formatRow('RowBinary', `a`)) AS partmove_h"
    assert insert == (
        "INSERT INTO db.hits_partmove_p (`a`) SELECT `a` FROM (SELECT `a`, partmove_h, row_number() OVER"
        f" (PARTITION BY partmove_h) AS partmove_n FROM (SELECT `a`, {row} FROM db.hits WHERE _part IN"
        f" ('h'))) AS partmove_x LEFT JOIN (SELECT {row}, count() AS partmove_c FROM db.hits_cold WHERE _part"
        " IN ('c') GROUP BY partmove_h) AS partmove_y ON partmove_x.partmove_h = partmove_y.partmove_h WHERE"
        " partmove_x.partmove_n > ifNull(partmove_y.partmove_c, 0)"
    )
