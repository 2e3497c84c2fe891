# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records alone decide which parts readers do not see, so that each row is seen once."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import TwinRecord
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartContent,
    Side,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.hidden import (
    Blocks,
    Hidden,
    hidden_by,
    policy_condition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.between import name, record
from support.memory.readers import tables_of
from support.memory.twins import DAY

PART = PartContent(1, "a", "b")


def is_shown(each: TwinRecord, side: Side, part: str) -> bool:
    """Whether readers see a part, by its name without the partition."""
    (parsed,) = parse_names([name(part)], DAY, "a test")
    return not any(
        hidden.side is side and first <= parsed.min_block and (last is None or parsed.max_block <= last)
        for hidden in hidden_by({DAY: each})
        for first, last in hidden.blocks
    )


@pytest.mark.parametrize("to", list(Side))
def test_until_the_clones_are_recorded_new_parts_of_the_destination_are_hidden(to: Side) -> None:
    each = record(to)
    for part in ("1_1_0", "2_2_0", "3_3_0"):
        assert is_shown(each, to.other, part)
    assert is_shown(each, to, "4_4_0")
    for part in ("5_5_0", "6_6_0", "5_6_1"):
        assert not is_shown(each, to, part)
    # No row is missing after a merge of a clone with rows that were there.
    assert is_shown(each, to, "4_5_1")
    assert not is_shown(each._replace(held={}), to, "0_0_0")


@pytest.mark.parametrize("dropping", ["", "1_1_0", "1_1_0 2_2_0"])
@pytest.mark.parametrize("to", list(Side))
def test_from_then_on_recorded_parts_of_the_source_are_hidden(to: Side, dropping: str) -> None:
    each = record(to, clones=True, dropping=dropping)
    for part in ("1_1_0", "2_2_0", "1_2_1", "0_2_2"):
        assert not is_shown(each, to.other, part)
    assert is_shown(each, to.other, "3_3_0")
    for part in ("4_4_0", "5_5_0", "6_6_0"):
        assert is_shown(each, to, part)


@pytest.mark.parametrize("undoing", ["5_5_0 6_6_0", "5_6_1"])
def test_while_an_attach_is_undone_the_source_is_shown(undoing: str) -> None:
    names = tuple(name(each) for each in undoing.split())
    for each in (record(clones=True), record()):
        undone = each._replace(undoing=names)
        assert is_shown(undone, Side.HOT, "1_1_0")
        assert is_shown(undone, Side.COLD, "4_4_0")
        for part in ("5_5_0", "6_6_0", "5_6_1"):
            assert not is_shown(undone, Side.COLD, part)


def test_while_one_clone_is_dropped_again_its_source_alone_is_shown() -> None:
    each = record(clones=True)._replace(undoing=(name("5_5_0"),))
    assert hidden_by({DAY: each}) == (
        Hidden(Side.COLD, DAY, 1, (Blocks(5, 5),)),
        Hidden(Side.HOT, DAY, 1, (Blocks(2, 2),)),
    )


def test_parts_that_a_record_has_released_are_shown() -> None:
    parts = dict.fromkeys([name("3_3_0"), name("4_4_0")], PART)
    clones = dict(zip_strict(list(parts), [name("7_7_0"), name("8_8_0")]))
    each = record()._replace(parts=parts, clones=clones)
    assert not is_shown(each, Side.HOT, "1_2_1")
    released = each._replace(released=(name("1_1_0"), name("2_2_0")))
    assert is_shown(released, Side.HOT, "1_2_1")
    for part in ("3_3_0", "4_4_0", "3_4_1"):
        assert not is_shown(released, Side.HOT, part)


def test_ranges_without_a_gap_are_joined() -> None:
    parts = dict.fromkeys([name("1_3_1"), name("4_6_1"), name("8_8_0"), name("10_10_0")], PART)
    clones = {each: name(f"{20 + number}_{20 + number}_0") for number, each in enumerate(parts)}
    each = record()._replace(parts=parts, clones=clones, undoing=(clones[name("10_10_0")],))
    _cold, hot = hidden_by({DAY: each})
    assert hot.blocks == (Blocks(1, 6), Blocks(8, 8))


def test_condition_names_tables_partitions_and_blocks() -> None:
    tables = tables_of("r1")
    coming, going = record(), record(clones=True)
    assert policy_condition((), tables) == "1"
    assert policy_condition(hidden_by({DAY: coming}), tables) == (
        f"NOT ((_table = 'hits_cold' AND _partition_id = '{DAY}'"
        " AND toInt64(splitByChar('_', _part)[2]) >= 5))"
    )
    both = {DAY: going, "20191202": going._replace(parts={"20191202_1_1_0": PART}, clones={}, held={})}
    assert policy_condition(hidden_by(both), tables) == (
        "NOT ((_table = 'hits_cold' AND _partition_id = '20191202'"
        " AND toInt64(splitByChar('_', _part)[2]) >= 0)"
        f" OR (_table = 'hits' AND _partition_id = '{DAY}' AND toInt64(splitByChar('_', _part)[3]) <= 2))"
    )


def test_names_of_months_have_the_blocks_behind_two_dates() -> None:
    part, clone = "20191201_20191220_1_1_0", "20191201_20191220_7_7_0"
    each = record()._replace(parts={part: PART}, held={}, clones={part: clone})
    other = each._replace(parts={part: PART, "20191202_20191203_2_2_0": PART}, undoing=(clone,))
    assert policy_condition(hidden_by({"201912": each}), tables_of("r1")).endswith("[4]) <= 1))")
    condition = policy_condition(hidden_by({"201912": other}), tables_of("r1"))
    low, high = (f"toInt64(splitByChar('_', _part)[{field}])" for field in (3, 4))
    assert f"({low} >= 2 AND {high} <= 2)" in condition
    assert f"({low} >= 7 AND {high} <= 7)" in condition


@pytest.mark.parametrize("to", list(Side))
def test_nothing_is_hidden_once_a_repair_changes_the_tables(to: Side) -> None:
    for each in (record(to), record(to, clones=True), record(to, clones=True, dropping="1_1_0")):
        assert hidden_by({DAY: each})
        assert hidden_by({DAY: each._replace(repairing=True)}) == ()
