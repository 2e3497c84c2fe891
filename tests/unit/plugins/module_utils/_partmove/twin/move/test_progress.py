# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements name a bounded number of parts, of one table, and of one partition if it is to be alone."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.progress import (
    MOST_PARTS,
    Progress,
    chunks_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import StoredRecord
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.between import record


def progress(partition_id: str, *, alone: bool = False) -> Progress:
    return Progress(partition_id, Side.COLD, None, alone=alone)


def test_parts_of_several_partitions_are_in_one_statement() -> None:
    drops = [(progress("a"), ["a_1", "a_2"]), (progress("b"), ["b_1"]), (progress("c"), ["c_1"])]
    sides = {"a": Side.HOT, "b": Side.COLD, "c": Side.HOT}
    found = [(side, [list(names) for _each, names in chunk]) for side, chunk in chunks_of(drops, sides)]
    assert found == [(Side.COLD, [["b_1"]]), (Side.HOT, [["a_1", "a_2"], ["c_1"]])]


def test_a_partition_that_is_to_be_alone_has_its_own_statement() -> None:
    drops = [(progress("a"), ["a_1"]), (progress("b", alone=True), ["b_1"]), (progress("c"), ["c_1"])]
    sides = dict.fromkeys("abc", Side.HOT)
    assert [[each.id for each, _names in chunk] for _side, chunk in chunks_of(drops, sides)] == [
        ["a"],
        ["b"],
        ["c"],
    ]


def test_a_statement_has_a_bounded_number_of_parts() -> None:
    names = [f"a_{number}" for number in range(2 * MOST_PARTS + 1)]
    drops = [(progress("a"), names), (progress("b"), names[: MOST_PARTS - 1]), (progress("c"), names[:1])]
    chunks = [chunk for _side, chunk in chunks_of(drops, dict.fromkeys("abc", Side.HOT))]
    assert [sum(len(some) for _each, some in chunk) for chunk in chunks] == [
        MOST_PARTS,
        MOST_PARTS,
        MOST_PARTS,
        1,
    ]
    dropped = [part for chunk in chunks for each, some in chunk if each.id == "a" for part in some]
    assert dropped == names


def test_a_partition_without_a_record_begins_anew() -> None:
    each = progress("a")
    each.stored, each.attached, each.attached_at = StoredRecord(record(), 3), True, 1.0
    assert each.record == record()
    each.forget_record()
    assert [each.stored, each.attached, each.attached_at] == [None, False, None]
    with pytest.raises(AssertionError, match="partition a has a record"):
        _ = each.record
