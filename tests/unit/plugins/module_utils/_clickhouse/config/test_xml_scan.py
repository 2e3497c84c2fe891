# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where elements begin and end in the bytes of an XML text."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_scan import is_true, scan
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError

TEXT = b"<a x='>'><!-- <b> -->\n <b/><b ></b\t><c><![CDATA[</c>]]></c>end</a>"


def test_positions_of_tags() -> None:
    found = [
        (each.tag, TEXT[each.start : each.open_end], TEXT[each.close_start : each.end])
        for each in scan(TEXT, "f")
    ]
    assert found == [
        ("a", b"<a x='>'>", b"</a>"),
        ("b", b"<b/>", b""),
        ("b", b"<b >", b"</b\t>"),
        ("c", b"<c>", b"</c>"),
    ]


def test_which_element_is_in_which() -> None:
    root, *inner = scan(b"<a><b><c/></b><b/></a>", "f")
    assert root.parent is None
    assert [each.parent.tag for each in inner if each.parent is not None] == ["a", "b", "a"]
    assert root.children == [inner[0], inner[2]]
    assert root.named("b") == [inner[0], inner[2]]
    assert root.named("c") == []
    assert list(root.below()) == inner
    assert [each.is_empty_tag for each in (root, *inner)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "f is not well-formed XML: line 1: no element found"),
        (b"<a>\n<b></a>", "f is not well-formed XML: line 2: mismatched tag"),
        (b"<!DOCTYPE a SYSTEM 'a.dtd'><a/>", "f refers to a document type definition outside of it"),
        (b"<!DOCTYPE a PUBLIC 'x' 'a.dtd'><a/>", "f refers to a document type definition outside of it"),
        (b"<!DOCTYPE a [<!ELEMENT a ANY>]><a/>", "f declares a document type of its own"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "f declares the entity b"),
    ],
)
def test_what_can_stand_for_other_text_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(FormatError) as refusal:
        scan(text, "f")
    assert refusal.value.message.startswith(message)
    assert refusal.value.remedy


def test_a_plain_document_type_is_no_reason_to_refuse() -> None:
    assert [each.tag for each in scan(b"<!DOCTYPE a><a/>", "f")] == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", True), (" Yes\n", True), ("on", True), ("TRUE", True), ("", False), ("0", False), ("2", False)],
)
def test_what_counts_as_true(text: str, expected: bool) -> None:
    assert is_true(text) is expected
