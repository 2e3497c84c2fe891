# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marks of both tables come from two queries, and tell statements of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_marks import read_marks
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import table_of

TABLES = TwinTables(
    TwinReplica("r1", ""), "server of r1", table_of(Side.HOT, "r1"), table_of(Side.COLD, "r1")
)
CREATE = "CREATE TABLE db.{} (`a` {}) ENGINE = ReplicatedMergeTree('{}', '{{replica}}') ORDER BY a"
ENGINE = "ReplicatedMergeTree('{}', '{{replica}}') ORDER BY a"


def definition(name: str, kind: str = "UInt8") -> list[str]:
    path = "/tables/01/hits" if name == "hits" else "cold:/tables/01/hits"
    return [name, ENGINE.format(path), CREATE.format(name, kind, path)]


class Asked:
    """A client that answers the two queries."""

    label = "ClickHouse at r1"

    def __init__(self, definitions: Sequence[Sequence[str]], marks: Sequence[Sequence[str]]) -> None:
        self.answers = {"system.tables": definitions, "system.mutations": marks}
        self.queries: list[str] = []

    def rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """Answer."""
        self.queries.append(sql)
        return next(answer for text, answer in self.answers.items() if text in sql)


def client(definitions: Sequence[Sequence[str]], *marks: Sequence[str]) -> ClickHouseClient:
    return cast("ClickHouseClient", Asked(definitions, marks))


BOTH = [definition("hits"), definition("hits_cold")]


def test_both_tables_have_marks() -> None:
    marks = read_marks(
        client(
            BOTH,
            ("mutation", "hits", "0000000003", ""),
            ("patch", "hits_cold", "patch-1-p_1_1_0", ""),
            ("patch", "hits_cold", "patch-0-p_1_1_0", ""),
            ("log", "hits", "7", ""),
        ),
        TABLES,
        ["p"],
    )
    assert (marks.hot.mutation, marks.hot.patches, marks.hot.log) == ("0000000003", (), 7)
    assert (marks.cold.mutation, marks.cold.log) == ("", -1)
    assert marks.cold.patches == ("patch-0-p_1_1_0", "patch-1-p_1_1_0")
    assert marks.hot.structure == marks.cold.structure
    assert marks.queued == {}


@pytest.mark.parametrize(
    ("kind", "part", "of"),
    [
        ("DROP_RANGE", "p_0_5_999999999", "p"),
        ("MUTATE_PART", "p_1_1_0_7", "p"),
        ("MUTATE_PART", "q_1_1_0_7", None),
        ("ALTER_METADATA", "", ""),
    ],
)
def test_what_is_queued_belongs_to_a_partition_or_to_all(kind: str, part: str, of: str | None) -> None:
    queued = read_marks(client(BOTH, ("queue", "hits", kind, part)), TABLES, ["p"]).queued
    reasons = [f"the queue of hits has {kind} {part}".rstrip()]
    assert queued == ({} if of is None else {of: reasons})


def test_another_structure_has_another_mark() -> None:
    marks = read_marks(client([definition("hits"), definition("hits_cold", "UInt16")]), TABLES, ["p"])
    assert marks.hot.structure != marks.cold.structure


def test_a_table_that_is_gone_is_told() -> None:
    with pytest.raises(PartMoveError, match=r"no longer has the table db\.hits_cold"):
        read_marks(client(BOTH[:1]), TABLES, ["p"])
