# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of parts and partition ids."""

from __future__ import annotations

import calendar
import re
from functools import partial

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import (
    PartName,
    check_partition_id,
    is_covered,
    known_partition_id_of,
    parse_names,
    parse_part_name,
    partition_id_of,
)

WHERE = "/clickhouse/tables/01/t/replicas/r1/parts/x"
INT64_MAX = 2**63 - 1
UINT32_MAX = 2**32 - 1


def v1(text: str) -> PartName:
    return parse_part_name(text, 1, WHERE)


def v0(text: str) -> PartName:
    return parse_part_name(text, 0, WHERE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20191201_0_0_0", ("20191201", 0, 0, 0, None)),
        ("20191201_0_2_1_3", ("20191201", 0, 2, 1, 3)),
        ("all_0_17_4", ("all", 0, 17, 4, None)),
        ("2019-1_5_5_0", ("2019-1", 5, 5, 0, None)),
        ("2019-12_5_5_0", ("2019-12", 5, 5, 0, None)),
        ("-1-2_5_5_0", ("-1-2", 5, 5, 0, None)),
        ("2019--1_5_5_0", ("2019--1", 5, 5, 0, None)),
        ("1d4a6a3e5c9b3e7f0f5a2b1c3d4e5f60_1_1_0", ("1d4a6a3e5c9b3e7f0f5a2b1c3d4e5f60", 1, 1, 0, None)),
        ("-4_0_0_0", ("-4", 0, 0, 0, None)),
        ("1-20191201_0_0_0", ("1-20191201", 0, 0, 0, None)),
        ("20191202_0_1_999999999_1", ("20191202", 0, 1, 999_999_999, 1)),
        ("20191201_0_4_4294967295", ("20191201", 0, 4, UINT32_MAX, None)),
        ("20191203_0_0_999999999", ("20191203", 0, 0, 999_999_999, None)),
        (
            f"all_{INT64_MAX}_{INT64_MAX}_{UINT32_MAX}_{INT64_MAX}",
            ("all", INT64_MAX, INT64_MAX, UINT32_MAX, INT64_MAX),
        ),
    ],
)
def test_reads_names_of_format_version_1(text: str, expected: tuple[object, ...]) -> None:
    part = v1(text)
    assert (part.partition_id, part.min_block, part.max_block, part.level, part.mutation) == expected
    assert part.text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20191201_20191220_0_0_0", ("201912", 0, 0, 0, None)),
        ("20191201_20191231_0_5_999999999", ("201912", 0, 5, 999_999_999, None)),
        ("20191201_20191220_0_1_1_2", ("201912", 0, 1, 1, 2)),
        ("20191201_20191231_0_2_999999999_2", ("201912", 0, 2, 999_999_999, 2)),
        ("20200229_20200229_3_9_2_12", ("202002", 3, 9, 2, 12)),
        ("19700101_19700101_0_0_0", ("197001", 0, 0, 0, None)),
    ],
)
def test_reads_names_of_format_version_0(text: str, expected: tuple[object, ...]) -> None:
    part = v0(text)
    assert (part.partition_id, part.min_block, part.max_block, part.level, part.mutation) == expected


def test_a_name_of_five_fields_means_what_the_format_version_says() -> None:
    text = "20191201_20191220_20191230_20191240_7"
    assert v1(text).mutation == 7
    assert v1(text).partition_id == "20191201"
    assert v0(text).mutation is None
    assert v0(text).partition_id == "201912"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all",
        "all_0_0",
        "all_0_0_0_",
        "all_0_0_0_0",
        "all_0_0_0_1_2",
        "_0_0_0",
        "all_00_0_0",
        "all_0_0_01",
        "all_-1_0_0",
        "all_+1_1_0",
        "all_0_0_0 ",
        " all_0_0_0",
        "all_0_0_0\n",
        "all_\u0661_\u0661_0",
        "\u0430ll_0_0_0",
        "all_2_1_0",
        "a/b_0_0_0",
        "a.b_0_0_0",
        f"all_0_{INT64_MAX + 1}_0",
        f"all_0_0_{UINT32_MAX + 1}",
        f"all_0_0_0_{INT64_MAX + 1}",
        "unexpected_all_0_0_0",
        "tmp_merge_all_0_1_1",
    ],
)
def test_refuses_invalid_names_of_format_version_1(text: str) -> None:
    with pytest.raises(FormatError, match="not the name of a part in a table of data format version 1"):
        v1(text)


@pytest.mark.parametrize(
    "text",
    [
        "201912_0_0_0",
        "20191201_0_0_0",
        "20191201_20191301_0_0_0",
        "20190229_20190229_0_0_0",
        "20191130_20191201_0_0_0",
        "20191220_20191201_0_0_0",
        "00000000_00000000_0_0_0",
        "20191201_20191220_1_0_0",
        "20191201_20191220_0_0",
        "20191201_20191220_0_0_0_1_2",
        "all_0_0_0",
    ],
)
def test_refuses_invalid_names_of_format_version_0(text: str) -> None:
    with pytest.raises(FormatError, match="not the name of a part in a table of data format version 0"):
        v0(text)


@pytest.mark.parametrize("format_version", [-1, 2])
def test_refuses_an_unknown_format_version(format_version: int) -> None:
    with pytest.raises(FormatError, match=f"data format version {format_version} is not known"):
        parse_part_name("all_0_0_0", format_version, WHERE)


def test_the_message_has_the_znode_the_text_and_the_remedy() -> None:
    with pytest.raises(FormatError) as caught:
        v1("leftover")
    assert WHERE in caught.value.message
    assert "'leftover'" in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("outer", "inner", "covers"),
    [
        ("all_0_5_2", "all_0_5_2", True),
        ("all_0_5_2", "all_1_3_1", True),
        ("all_0_5_2", "all_1_3_2", False),
        ("all_0_5_2", "all_0_6_1", False),
        ("all_1_5_2", "all_0_5_1", False),
        ("all_0_5_2_9", "all_0_5_2", True),
        ("all_0_5_2", "all_0_5_2_9", False),
        ("all_0_5_3_8", "all_0_4_2_9", False),
        ("all_0_5_999999999", "all_0_5_999999999", True),
        ("all_0_5_999999999", "all_2_3_999999999", True),
        ("all_0_5_4294967295", "all_0_4_7", True),
        ("2019-12_0_5_2", "2019-1_1_1_0", False),
    ],
)
def test_covers(outer: str, inner: str, covers: bool) -> None:
    assert v1(outer).covers(v1(inner)) is covers


def test_covers_compares_blocks_and_not_dates_in_format_version_0() -> None:
    assert v0("20191203_20191204_0_5_2").covers(v0("20191201_20191220_1_1_0"))


@pytest.mark.parametrize(("text", "version"), [("all_3_9_2", 3), ("all_3_9_2_12", 12)])
def test_data_version(text: str, version: int) -> None:
    assert v1(text).data_version == version


@pytest.mark.parametrize(("text", "format_version"), [("20191201_20191220_0_5_2", 0), ("2019-1_0_5_2_9", 1)])
def test_partition_id_of_a_name_equals_the_partition_id_of_the_parsed_name(
    text: str, format_version: int
) -> None:
    part = parse_part_name(text, format_version, WHERE)
    assert partition_id_of(text, format_version, WHERE) == part.partition_id
    assert known_partition_id_of(text, format_version) == part.partition_id
    with pytest.raises(FormatError, match=f"^{WHERE}: "):
        partition_id_of(f"{text}_", format_version, WHERE)


@pytest.mark.parametrize("text", ["all", "201912", "2019-1", "-1-2", "1d4a6a3e5c9b3e7f0f5a2b1c3d4e5f60"])
def test_partition_ids(text: str) -> None:
    assert check_partition_id(text, WHERE) == text


@pytest.mark.parametrize("text", ["", "a_b", "a/b", "a b", "all\n", "..", "2019,1", "\u0662\u0660"])
def test_refuses_invalid_partition_ids(text: str) -> None:
    with pytest.raises(FormatError, match="not a partition id"):
        check_partition_id(text, WHERE)


PARTITION_IDS = st.from_regex(r"[0-9A-Za-z-]+", fullmatch=True)
SMALL_IDS = st.sampled_from(["all", "2019-1", "2019-12"])


@st.composite
def names(draw: st.DrawFn, ids: st.SearchStrategy[str] = PARTITION_IDS, top: int = INT64_MAX) -> str:
    first, last = sorted(draw(st.tuples(st.integers(0, top), st.integers(0, top))))
    level = draw(st.integers(0, min(top, UINT32_MAX)))
    mutation = draw(st.none() | st.integers(1, top))
    suffix = "" if mutation is None else f"_{mutation}"
    return f"{draw(ids)}_{first}_{last}_{level}{suffix}"


@given(names())
def test_a_name_can_be_put_together_again(text: str) -> None:
    part = v1(text)
    fields: list[object] = [part.partition_id, part.min_block, part.max_block, part.level]
    if part.mutation is not None:
        fields.append(part.mutation)
    assert "_".join(map(str, fields)) == text


@given(st.integers(1970, 2105), st.integers(1, 12), names(ids=st.just("x")), st.data())
def test_the_month_of_both_days_is_the_partition_id(
    year: int, month: int, tail: str, data: st.DataObject
) -> None:
    length = calendar.monthrange(year, month)[1]
    first, last = sorted(data.draw(st.tuples(st.integers(1, length), st.integers(1, length))))
    prefix = f"{year}{month:02}"
    part = v0(f"{prefix}{first:02}_{prefix}{last:02}" + tail.removeprefix("x"))
    assert part.partition_id == prefix


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for format_version in (0, 1):
        try:
            part = parse_part_name(text, format_version, WHERE)
        except FormatError:
            continue
        assert part.text == text


SMALL_PARTS = names(ids=SMALL_IDS, top=4).map(v1)


@given(SMALL_PARTS, SMALL_PARTS, SMALL_PARTS)
def test_covers_is_a_partial_order(first: PartName, second: PartName, third: PartName) -> None:
    assert first.covers(first)
    if first.covers(second) and second.covers(first):
        assert first == second
    if first.covers(second) and second.covers(third):
        assert first.covers(third)


@pytest.mark.parametrize(
    ("others", "covered"),
    [
        ((), False),
        (("all_1_2_1",), True),
        (("all_0_0_0", "all_1_2_1"), True),
        (("all_1_2_2",), True),
        (("all_0_4_2",), True),
        (("all_1_2_1_7",), True),
        (("all_1_1_0", "all_2_2_0"), False),
        (("all_0_1_9",), False),
        (("1_1_2_2",), False),
    ],
)
def test_a_part_is_covered_by_itself_or_its_successors(others: tuple[str, ...], covered: bool) -> None:
    assert is_covered(v1("all_1_2_1"), map(v1, others)) is covered


def test_a_source_does_not_cover_the_merged_part() -> None:
    """Not even a single source, with the same blocks as the merged part."""
    source, merged = parse_names(["all_0_5_1", "all_0_5_2"], "all", "a table")
    assert merged.covers(source)
    assert not source.covers(merged)


FIELDS = (
    *("0", "1", "2", "9", "10", "01", "-1", "+1", "", "\u00b2", "\u0663", "\u00e9", "x y", "1\n"),
    *(
        "a-b",
        "--",
        "20191201",
        "1" + "0" * 19,
        *map(str, (INT64_MAX, INT64_MAX + 1, UINT32_MAX, UINT32_MAX + 1)),
    ),
)


@given(st.lists(st.sampled_from(FIELDS), min_size=3, max_size=6))
def test_the_partition_id_alone_is_read_as_the_whole_name(fields: list[str]) -> None:
    """Most names are read without the pattern."""
    text = "_".join(fields)
    for format_version in (0, 1):
        read = partial(partition_id_of, text, format_version, WHERE)
        try:
            expected = parse_part_name(text, format_version, WHERE).partition_id
        except FormatError as error:
            with pytest.raises(FormatError, match=re.escape(error.message)):
                read()
        else:
            assert read() == expected
