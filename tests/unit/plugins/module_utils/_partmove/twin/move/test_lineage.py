# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clones are recognised in a merged part only if it certainly contains exactly these clones."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.lineage import (
    is_made_of,
    resolve_merged,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartContent,
    Parts,
    PartsOf,
    Side,
    TwinPart,
)
from support.memory.twins import DAY, content_of


def parts(**rows: str) -> Parts:
    """Parts by first block, last block and level, such as b1_2_1, with a letter for each row."""
    return tuple(TwinPart(f"{DAY}_{name[1:]}", content_of(tuple(text))) for name, text in rows.items())


SOURCE = parts(b1_1_0="ab", b2_2_0="c", b3_3_0="d")
HELD = parts(b4_4_0="x")
CLONES = parts(b5_5_0="ab", b6_6_0="c", b7_7_0="d")
RECORD = TwinRecord(Side.COLD, "h", "c", contents(SOURCE), contents(HELD), {}, (), 0)


def came(new: Parts, past: Parts, held: Parts = HELD) -> tuple[list[str], list[str]]:
    """Return the names of clones, as they were cloned, and of other new parts."""
    current = PartsOf(SOURCE, (*held, *new), (), past)
    record = RECORD._replace(held=contents(held))
    both = resolve_merged(record, current, new, DAY, frozenset(RECORD.parts.values()))
    clones, others = ([part.name.removeprefix(f"{DAY}_") for part in found] for found in both)
    return clones, others


def test_clones_are_recognised_in_a_merged_part() -> None:
    assert came(parts(b5_7_1="abcd"), CLONES) == (["5_5_0", "6_6_0", "7_7_0"], [])
    assert came((*parts(b5_6_1="abc"), CLONES[2]), CLONES[:2]) == (["5_5_0", "6_6_0", "7_7_0"], [])


def test_clones_are_recognised_after_two_merges() -> None:
    assert came(parts(b5_7_2="abcd"), (*CLONES, *parts(b5_6_1="abc"))) == (["5_5_0", "6_6_0", "7_7_0"], [])


@pytest.mark.parametrize(
    ("new", "past"),
    [
        (parts(b5_7_1="abcd"), CLONES[:2]),
        (parts(b5_7_1="abcd"), ()),
        # A clone was dropped, and the merge skipped over it.
        (parts(b5_7_1="abd"), CLONES),
        # An earlier part is inside, or a part without a record.
        (parts(b4_7_1="xabcd"), (*CLONES, *HELD)),
        (parts(b5_8_1="abcde"), (*CLONES, *parts(b8_8_0="e"))),
        (parts(b5_8_1="abcde"), CLONES),
        (parts(b5_8_1="abde"), CLONES),
        # A mutation made other rows of them.
        (parts(b5_7_1_8="abcd"), CLONES),
        # Two parts are said to have been in the same block.
        (parts(b5_7_2="abcd"), (*CLONES, *parts(b5_5_1="c"))),
    ],
)
def test_an_uncertain_part_is_no_clone(new: Parts, past: Parts) -> None:
    assert came(new, past) == ([], [part.name.removeprefix(f"{DAY}_") for part in new])


@pytest.mark.parametrize("rows", ["ab", "abcd"])
def test_a_part_with_earlier_rows_of_the_destination_is_no_clone(rows: str) -> None:
    """The part was merged from parts equal to recorded parts and from others, or equals a recorded part."""
    had = parts(b3_4_1="cd")
    past = (*had, *parts(b3_3_0="c", b4_4_0="d", b5_5_0="ab"))
    assert came(parts(b3_5_2=rows), past, had) == ([], ["3_5_2"])


def test_a_part_equal_to_a_recorded_part_is_its_clone() -> None:
    assert came(parts(b5_5_1="ab"), CLONES[:1]) == (["5_5_1"], [])


def test_hashes_of_inactive_parts_count() -> None:
    other = TwinPart(f"{DAY}_6_6_0", PartContent(1, "another", "hash"))
    assert came(parts(b5_6_1="abc"), (CLONES[0], other)) == ([], ["5_6_1"])


@pytest.mark.parametrize(
    ("part", "others", "made"),
    [
        ("5_7_1", "5_5_0 6_6_0 7_7_0", True),
        ("5_7_2", "5_6_1 7_7_0 8_8_0", True),
        ("5_7_1", "5_5_0 7_7_0", False),
        ("4_6_1", "5_5_0 6_6_0", False),
        # A mutation made other rows of them.
        ("5_6_1_8", "5_5_0 6_6_0", False),
    ],
)
def test_a_part_is_made_of_the_parts_with_all_its_blocks(part: str, others: str, *, made: bool) -> None:
    known = parse_names([f"{DAY}_{each}" for each in [part, *others.split()]], DAY, "here")
    assert is_made_of(known[0], known[1:]) is made
