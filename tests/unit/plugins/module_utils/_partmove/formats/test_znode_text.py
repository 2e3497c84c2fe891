# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the text of a znode."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.znode_text import (
    ZnodeText,
    unescape,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.text import shown

WHERE = "/clickhouse/tables/01/t/log/log-0000000007"


def test_reads_lines_fields_numbers_and_blocks_in_order() -> None:
    text = ZnodeText(b"first\nkey: value\n-12\n9\n6\none\ntw\nlast", WHERE)
    text.exactly("first")
    assert text.optional_field("other: ") is None
    assert text.optional_field("key: ") == "value"
    assert text.number(text.line("a number")) == -12
    assert not text.optional_line("8")
    assert text.optional_line("9")
    assert text.block(text.count(text.line("a size")), "a block") == "one\ntw"
    assert text.line("the end", may_end_text=True) == "last"
    assert text.at_end
    text.end()


def test_a_block_is_counted_in_bytes() -> None:
    text = ZnodeText("\u00e9\n\u00e9\n".encode(), WHERE)
    assert text.block(5, "a block") == "\u00e9\n\u00e9"
    assert text.at_end


@pytest.mark.parametrize("size", [0, 3, 4, 9])
def test_refuses_a_block_of_another_size(size: int) -> None:
    with pytest.raises(FormatError, match=f"expected a block of {size} bytes and a newline"):
        ZnodeText(b"ab\ncd\n" if size in (0, 3, 4) else b"ab\n", WHERE).block(size, "a block")


@pytest.mark.parametrize(
    "number", ["", "01", "+1", "-0", "1 ", "0x1", "1.0", "\u0661", str(2**63), "9" * 5000]
)
def test_refuses_text_other_than_a_number(number: str) -> None:
    text = ZnodeText(f"{number}\n".encode(), WHERE)
    with pytest.raises(FormatError, match="expected a decimal number"):
        text.number(text.line("a number"))


def test_refuses_a_negative_count() -> None:
    text = ZnodeText(b"-1\n", WHERE)
    with pytest.raises(FormatError, match="expected a count"):
        text.count(text.line("a count"))


def test_the_message_has_znode_line_expected_and_actual_text() -> None:
    text = ZnodeText(b"first\nsecond\n", WHERE)
    text.exactly("first")
    with pytest.raises(FormatError) as caught:
        text.exactly("other")
    assert caught.value.message == f"{WHERE}, line 2: expected 'other', found 'second'"
    assert caught.value.remedy


def test_the_message_says_when_the_text_ends_early() -> None:
    text = ZnodeText(b"first\n", WHERE)
    text.exactly("first")
    with pytest.raises(FormatError, match=r"line 2: expected 'key: ' .* found '' \(the text ends here\)"):
        text.field("key: ")


def test_the_last_line_needs_its_newline() -> None:
    with pytest.raises(FormatError, match="and a newline, found 'first'"):
        ZnodeText(b"first", WHERE).line("a line")


def test_refuses_remaining_text() -> None:
    with pytest.raises(FormatError, match="line 1: expected the end of the text, found 'rest'"):
        ZnodeText(b"rest\n", WHERE).end()


def test_refuses_binary_data() -> None:
    with pytest.raises(FormatError, match=f"{WHERE} is not text: byte 2"):
        ZnodeText(b"ab\xff", WHERE)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("plain", "plain"),
        (r"a\tb\nc", "a\tb\nc"),
        (r"\\n", r"\n"),
        (r"it\'s", "it's"),
        (r"\0\b\f\r", "\0\b\f\r"),
    ],
)
def test_unescape(written: str, meant: str) -> None:
    assert unescape(written) == meant


def test_shown_text_is_cut_short() -> None:
    assert shown("a" * 80) == repr("a" * 80)
    assert shown("a" * 81) == repr("a" * 80 + "...")
