# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict on a partition with a record follows from the parts that the record names.

`test_judge.py` has the states of a move, and what may be dropped by hand.
"""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    RecordZnode,
    TwinPartitionRead,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.recorded import (
    equal_parts,
    judge_recorded,
    names_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Parts,
    PartsOf,
    Side,
    TwinPart,
)
from support.memory.ledgers import tables_of_replicas
from support.memory.twins import DAY, content_of

TABLES = tables_of_replicas()[0]


def part(block: int, *rows: str) -> TwinPart:
    return TwinPart(f"{DAY}_{block}_{block}_0", content_of(rows))


TWO: Parts = (part(2, "c"), part(1, "a", "b"))
RECORD = TwinRecord(
    Side.COLD, TABLES.hot.place, TABLES.cold.place, contents(TWO), {}, clones={}, dropping=(), began=0
)


def judged(record: TwinRecord, hot: Parts, cold: Parts = ()) -> TwinVerdict:
    znode = RecordZnode("/a/record", record)
    read = TwinPartitionRead(DAY, [PartsOf(hot, cold)], znode)
    return judge_recorded(TABLES, read, znode, record)


def test_each_part_equals_one_other_part() -> None:
    twins = (part(5, "a", "b"), part(6, "x"))
    assert equal_parts((*TWO, part(3, "a", "b")), twins) == [part(1, "a", "b")]
    assert equal_parts(TWO, ()) == []


def test_names_are_sorted() -> None:
    assert names_of(TWO) == (f"{DAY}_1_1_0", f"{DAY}_2_2_0")


def test_record_of_other_tables_comes_first() -> None:
    found = judged(RECORD._replace(cold="cold:/elsewhere"), ())
    assert (found.kind, found.record) == (TwinKind.RECORD_ELSEWHERE, "/a/record")
    assert "cold:/elsewhere" in found.reason


def test_states_of_a_record() -> None:
    assert judged(RECORD, TWO)[:2] == (TwinKind.RECORDED, names_of(TWO))
    assert judged(RECORD, TWO[:1]).kind is TwinKind.STALE
    assert judged(RECORD, ()).kind is TwinKind.WITHOUT_PARTS
    assert judged(RECORD, TWO, (part(5, "c"), part(6, "a", "b"))).kind is TwinKind.CLONED


def test_unknown_partition_has_a_check_by_hand() -> None:
    found = judged(RECORD, TWO, (part(5, "x"),))
    assert found.kind is TwinKind.UNKNOWN
    assert found.manual_check is not None
    assert found.manual_check.drop == ((Side.COLD, f"{DAY}_5_5_0"),)
