# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Texts for messages, and durations."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.text import (
    cut,
    first_few,
    format_time,
    parse_duration,
    shortened,
    shown,
)


@pytest.mark.parametrize(
    ("items", "most", "sentence"),
    [
        ([], 3, ""),
        (["r1"], 3, "r1"),
        (["r1", "r2", "r3"], 3, "r1, r2, r3"),
        (["r1", "r2", "r3", "r4"], 3, "r1, r2, r3 and 1 more"),
        (["r1", "r2", "r3"], 1, "r1 and 2 more"),
    ],
)
def test_the_first_few_and_how_many_more(items: list[str], most: int, sentence: str) -> None:
    assert first_few(iter(items), most) == sentence


def test_first_few_shows_three_by_default() -> None:
    assert first_few("abcd") == "a, b, c and 1 more"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", "''"),
        ("it's\n", '"it\'s\\n"'),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 81, f"'{'x' * 80}...'"),
    ],
)
def test_text_is_quoted_and_cut_short(text: str, quoted: str) -> None:
    assert shown(text) == quoted


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (7, "1970-01-01T00:00:00.007Z"),
        (1_795_212_900_999, "2026-11-20T22:15:00.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_shown_in_utc_to_the_millisecond(milliseconds: int, text: str) -> None:
    assert format_time(milliseconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("36h", 129_600),
        ("1d", 86_400),
        ("2w", 1_209_600),
        ("007d", 604_800),
    ],
)
def test_seconds_of_a_duration(text: str, seconds: int) -> None:
    assert parse_duration(text, "min_age") == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "d",
        "1 d",
        "1D",
        "-1",
        "+1",
        "1.5h",
        "1d12h",
        "1y",
        "1_0",
        "\N{ARABIC-INDIC DIGIT ONE}",
        "1\n",
        "9999999999",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(
        FormatError, match=r"min_age is .*, which is no duration\. Give a whole number"
    ) as found:
        parse_duration(text, "min_age")
    assert repr(text) in found.value.message


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [("", 0, ""), ("abc", 3, "abc"), ("abcd", 3, "abc..."), ("a\nb", 2, "a\n...")],
)
def test_text_is_cut_where_it_is_too_long(text: str, most: int, kept: str) -> None:
    assert cut(text, most) == kept


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" Code: 60,\n\te.what() = x \n", "Code: 60, e.what() = x"),
        ("x" * 200, "x" * 200),
        ("x\n" * 101, "x " * 100 + "..."),
    ],
)
def test_text_of_several_lines_becomes_one_line(text: str, line: str) -> None:
    assert shortened(text) == line
