# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Only parts that may hold rows of both tables are doubtful."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import TwinRecord
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartContent,
    PartsOf,
    Side,
    TwinPart,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.doubtful import (
    Doubtful,
    doubtful_with_record,
    doubtful_without_record,
)


def content(rows: str) -> PartContent:
    return PartContent(len(rows), rows, rows)


def part(name: str, rows: str) -> TwinPart:
    return TwinPart(f"p_{name}", content(rows))


def record(destination: Side, parts: dict[str, str], held: dict[str, str], *dropping: str) -> TwinRecord:
    of_parts, of_held = (
        {f"p_{name}": content(rows) for name, rows in each.items()} for each in (parts, held)
    )
    return TwinRecord(destination, "", "", of_parts, of_held, {}, tuple(f"p_{each}" for each in dropping), 0)


def test_without_a_record_all_parts_are_doubtful_or_the_equal_ones() -> None:
    parts = PartsOf((part("1_1_0", "a"), part("2_2_0", "b")), (part("0_0_0", "a"),))
    assert doubtful_without_record(parts) == Doubtful(("p_1_1_0", "p_2_2_0"), ("p_0_0_0",))
    assert doubtful_without_record(parts, ["p_1_1_0"]) == Doubtful(("p_1_1_0",), ("p_0_0_0",))


def test_a_part_inserted_since_is_not_doubtful_nor_one_that_the_twin_had() -> None:
    given = record(Side.COLD, {"1_1_0": "a", "2_2_0": "bc"}, {"0_0_0": "x"})
    hot = (part("1_2_1", "abc"), part("3_3_0", "a"))
    parts = PartsOf(hot, (part("0_0_0", "x"), part("1_1_0", "a")))
    found = doubtful_with_record(given, parts, "p")
    assert found == Doubtful(("p_1_2_1",), ("p_1_1_0",), are_clones=True, most=3)


def test_new_parts_of_the_twin_are_no_clones_once_older_parts_are_inside() -> None:
    given = record(Side.COLD, {"1_1_0": "a"}, {"0_0_0": "x"})
    parts = PartsOf((part("1_1_0", "a"),), (part("0_1_1", "xa"),))
    assert not doubtful_with_record(given, parts, "p").are_clones


def test_new_parts_of_the_twin_are_no_clones_alone_once_the_source_has_lost_a_part() -> None:
    given = record(Side.COLD, {"1_1_0": "a", "2_2_0": "b"}, {})
    parts = PartsOf((part("1_1_0", "a"),), (part("1_1_0", "a"), part("2_2_0", "b")))
    for each in (given, given._replace(dropping=("p_2_2_0",))):
        assert not doubtful_with_record(each, parts, "p").are_clones
    assert not doubtful_with_record(given, parts, "p", ["p_2_2_0"]).are_clones
    whole = parts._replace(hot=(*parts.hot, part("2_2_0", "b")))
    assert doubtful_with_record(given, whole, "p", ["p_0_0_0"]).are_clones


def test_all_parts_are_doubtful_if_a_recorded_part_left_otherwise() -> None:
    given = record(Side.COLD, {"1_1_0": "a", "2_2_0": "b"}, {})
    parts = PartsOf((part("1_1_0", "a"), part("3_3_0", "c")), ())
    assert doubtful_with_record(given, parts, "p").hot == ("p_1_1_0", "p_3_3_0")
    assert doubtful_with_record(given, parts, "p").most is None
    # A run or a repair took it out.
    for known in (
        doubtful_with_record(given._replace(dropping=("p_2_2_0",)), parts, "p"),
        doubtful_with_record(given, parts, "p", ["p_2_2_0"]),
    ):
        assert (known.hot, known.most) == (("p_1_1_0",), 1)


def test_all_parts_are_doubtful_if_a_part_of_the_name_has_other_rows() -> None:
    given = record(Side.COLD, {"1_1_0": "a"}, {})
    parts = PartsOf((part("1_1_0", "b"), part("2_2_0", "c")), (part("0_0_0", "a"),))
    assert doubtful_with_record(given, parts, "p").hot == ("p_1_1_0", "p_2_2_0")


def test_twin_with_more_rows_than_the_record_explains_is_a_problem() -> None:
    given = record(Side.COLD, {"1_1_0": "a"}, {"0_0_0": "x"}, "1_1_0")
    cold = (part("0_0_0", "x"), part("1_1_0", "a"), part("2_2_0", "a"))
    problem = doubtful_with_record(given, PartsOf((), cold), "p").problem
    assert problem.startswith("the twin has 3 rows of it, and its record explains only 2")
    assert not doubtful_with_record(given, PartsOf((), cold), "p", added=1).problem
    assert not doubtful_with_record(given, PartsOf((), cold[:2]), "p").problem


def test_rows_that_a_repair_added_may_be_in_both_tables_too() -> None:
    given = record(Side.COLD, {"1_1_0": "a"}, {})
    parts = PartsOf((part("1_2_1", "ab"),), (part("0_0_0", "a"), part("1_1_0", "b")))
    assert doubtful_with_record(given, parts, "p", added=1).most == 2


def test_on_the_way_to_hot_an_insert_is_not_doubtful() -> None:
    given = record(Side.HOT, {"1_1_0": "a"}, {"5_5_0": "x"})
    hot = (part("5_5_0", "x"), part("6_6_0", "a"), part("7_7_0", "c"), part("8_9_1", "de"))
    found = doubtful_with_record(given, PartsOf(hot, (part("1_1_0", "a"),)), "p")
    assert found == Doubtful(("p_6_6_0", "p_8_9_1"), ("p_1_1_0",))


def test_mutation_of_one_table_is_seen() -> None:
    given = record(Side.COLD, {"1_1_0": "a"}, {})
    clone = (part("5_5_0", "a"),)
    assert not doubtful_with_record(given, PartsOf((part("1_1_0", "a"),), clone), "p").is_mutated
    assert doubtful_with_record(given, PartsOf((part("1_1_0_7", "b"),), clone), "p").is_mutated
    mutated = (part("5_5_0_7", "b"),)
    assert doubtful_with_record(given, PartsOf((part("1_1_0", "a"),), mutated), "p").is_mutated
