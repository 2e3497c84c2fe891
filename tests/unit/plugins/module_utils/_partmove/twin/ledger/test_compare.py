# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merges and mutations keep what an entry says; a lost part, a skipped part or other rows do not."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.compare import (
    Blocks,
    covered,
    entry_of,
    has_same_contents,
    has_ttl,
    missing_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import (
    MOST_RANGES,
    BlockRange,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Parts, TwinPart
from support.memory.twins import DAY, content_of

PLAIN = "(`d` Date) ReplicatedMergeTree() ORDER BY d"


def parts(**rows: str) -> Parts:
    """Parts by first block, last block and level, such as b1_2_1, with a letter for each row."""
    return tuple(TwinPart(f"{DAY}_{name[1:]}", content_of(tuple(text))) for name, text in rows.items())


THREE = parts(b0_0_0="ab", b1_3_1="cde", b7_7_0="f")
ENTRY = entry_of(THREE, DAY, Blocks(4, 5))


def missing(now: Parts, definition: str = PLAIN) -> str:
    return missing_of(ENTRY, now, DAY, definition)


def test_an_entry_has_the_blocks_of_all_parts() -> None:
    assert (ENTRY.rows, ENTRY.ranges, ENTRY.mutation) == (6, (BlockRange(0, 3), BlockRange(7, 7)), 0)
    assert (ENTRY.cold_blocks, ENTRY.hot_blocks) == (8, 4)
    assert entry_of(THREE, DAY, Blocks(4, 11)).cold_blocks == 11
    assert entry_of(parts(b0_2_1_9="a", b3_3_0_4="b"), DAY, Blocks()).mutation == 9


def test_ranges_with_other_expiries_stay_apart() -> None:
    expiries = {f"{DAY}_0_0_0": 100, f"{DAY}_7_7_0": 100}
    ranges = entry_of(THREE, DAY, Blocks(), expiries).ranges
    assert ranges == (BlockRange(0, 0, 100), BlockRange(1, 3), BlockRange(7, 7, 100))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["b0_9_1"], (BlockRange(2, 5, 8), BlockRange(7, 7))),
        (["b0_2_1", "b3_3_0", "b5_7_1"], (BlockRange(2, 3, 8), BlockRange(5, 5, 8), BlockRange(7, 7))),
        (["b6_6_0"], ()),
        ([], ()),
    ],
)
def test_the_blocks_of_an_entry_that_parts_have(names: list[str], expected: tuple[BlockRange, ...]) -> None:
    found = parse_names((f"{DAY}_{name[1:]}" for name in names), DAY, "a test")
    assert covered([BlockRange(2, 5, 8), BlockRange(7, 7)], found) == expected


def test_an_entry_of_many_ranges_is_bounded() -> None:
    many = tuple(TwinPart(f"{DAY}_{2 * number}_{2 * number}_0", content_of(("a",))) for number in range(500))
    entry = entry_of(many, DAY, Blocks())
    assert (len(entry.ranges), entry.rows) == (MOST_RANGES, 500)
    assert not missing_of(entry, many, DAY, PLAIN)
    assert missing_of(entry, many[:-1], DAY, PLAIN)


@pytest.mark.parametrize(
    "now",
    [
        THREE,
        parts(b0_3_2="abcde", b7_7_0="f"),
        parts(b0_7_2="abcdef"),
        parts(b0_9_3="abcdefgh"),
        parts(b0_0_0_9="ab", b1_3_1_9="cde", b7_7_0_9="f"),
        parts(b20_20_0="cde", b21_21_0="f", b22_22_0="ab"),
        parts(b0_0_0="ab", b1_3_1="cde", b7_7_0="f", b8_8_0="x"),
    ],
    ids=["same", "merged", "merged into one", "merged with later", "mutated", "attached again", "more"],
)
def test_lineage_explains_other_names(now: Parts) -> None:
    assert missing(now) == ""


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (THREE[:2], "no part has the blocks 7; 5 rows of 6 are there"),
        (THREE[1:], "no part has the blocks 0-3; 4 rows of 6 are there"),
        (parts(b0_0_0="ab", b2_3_1="cdx", b7_7_0="f"), "no part has the blocks 0-3; 6 rows of 6 are there"),
        ((), "no part has the blocks 0-3, 7; 0 rows of 6 are there"),
        (parts(b0_7_2="abcde"), "5 rows of 6 are there, and no mutation or TTL explains it"),
        (parts(b0_0_0="ab", b1_3_1="cdx", b7_7_0="f"), "its parts have the names of then and other rows"),
    ],
)
def test_what_is_missing_is_named(now: Parts, reason: str) -> None:
    assert missing(now) == reason


@pytest.mark.parametrize(
    ("now", "definition"),
    [
        (parts(b0_7_2="abc"), f"{PLAIN} TTL d + toIntervalDay(1)"),
        (parts(b0_7_2="abc"), PLAIN.replace("ReplicatedMergeTree", "ReplicatedReplacingMergeTree")),
        (parts(b0_7_2="abc"), PLAIN.replace("ReplicatedMergeTree", "ReplicatedSummingMergeTree")),
        (parts(b0_7_2_9="abc"), PLAIN),
    ],
)
def test_fewer_rows_after_a_merge_need_a_cause(now: Parts, definition: str) -> None:
    assert missing(now, definition) == ""


def test_a_mutation_of_before_explains_no_missing_rows() -> None:
    entry = entry_of(parts(b0_0_0_9="ab", b1_1_0_9="c"), DAY, Blocks())
    assert missing_of(entry, parts(b0_1_1_9="ab"), DAY, PLAIN)


def test_equal_contents_are_the_same_rows_whatever_their_names() -> None:
    assert has_same_contents(ENTRY, parts(b20_20_0="cde", b21_21_0="f", b22_22_0="ab"))
    assert not has_same_contents(ENTRY, parts(b0_7_1="abcdef"))
    assert not has_same_contents(ENTRY, (*THREE, *THREE[:1]))


def test_a_ttl_is_found_in_a_definition() -> None:
    assert has_ttl(f"{PLAIN} TTL d + toIntervalDay(1)")
    assert not has_ttl(PLAIN.replace("d", "TTLS"))
