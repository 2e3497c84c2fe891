# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Positions of elements in the bytes of an XML text."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_scan import (
    Element,
    indent_at,
    is_true,
    scan,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError

TEXT = b"<a x='>'><!-- <b> -->\n <b/><b ></b\t><c><![CDATA[</c>]]></c>end</a>"


def elements(text: bytes) -> list[Element]:
    root = scan(text, "f").root
    return [root, *root.below()]


def test_positions_of_tags() -> None:
    found = [
        (each.tag, TEXT[each.start : each.open_end], TEXT[each.close_start : each.end])
        for each in elements(TEXT)
    ]
    assert found == [
        ("a", b"<a x='>'>", b"</a>"),
        ("b", b"<b/>", b""),
        ("b", b"<b >", b"</b\t>"),
        ("c", b"<c>", b"</c>"),
    ]


def test_which_element_is_in_which() -> None:
    root, *inner = elements(b"<a><b><c/></b><b/></a>")
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
def test_entities_and_external_types_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(FormatError) as refusal:
        scan(text, "f")
    assert refusal.value.message.startswith(message)
    assert refusal.value.remedy


def test_a_plain_document_type_is_no_reason_to_refuse() -> None:
    assert [each.tag for each in elements(b"<!DOCTYPE a><a/>")] == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", True), (" Yes\n", True), ("on", True), ("TRUE", True), ("", False), ("0", False), ("2", False)],
)
def test_what_counts_as_true(text: str, expected: bool) -> None:
    assert is_true(text) is expected


def test_only_so_many_levels_are_kept() -> None:
    found = scan(b"<a>x<b>y<c>z</c></b></a>", "f", 1)
    assert [each.tag for each in found.root.below()] == ["b"]
    assert [(each.tag, each.text) for each in elements(b"<a>x<b>y<c>z</c></b></a>")] == [
        ("a", "x"),
        ("b", "y"),
        ("c", "z"),
    ]


def test_uses_of_substitutions_are_counted_at_any_depth() -> None:
    found = scan(b"<a incl='x'><b><c incl='x'/><d incl='y'/></b></a>", "f", 1)
    assert dict(found.uses) == {"x": 2, "y": 1}


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (b"<a>\n\t<b/></a>", b"\t"),
        (b"<a><b/>\n<c>\n   <d/></c></a>", b"   "),
        (b"<a> <b/></a>", b""),
        (b"  <a>\n <b/></a>", b""),
    ],
)
def test_how_much_deeper_the_first_child_with_a_line_of_its_own_is(text: bytes, unit: bytes) -> None:
    assert scan(text, "f", 1).unit == unit


@pytest.mark.parametrize(
    ("before", "indent"),
    [(b"", b""), (b"  ", b"  "), (b"x\n\t ", b"\t "), (b"x\r ", b" "), (b"x ", None), (b"\nx", None)],
)
def test_white_space_before_an_element_on_its_line(before: bytes, indent: bytes | None) -> None:
    assert indent_at(before + b"<a/>", len(before)) == indent


def test_prefixes_stay_as_they_are_written() -> None:
    (child,) = scan(b"<a xmlns='u' xmlns:x='v'><x:b x:c='1' d='2'/></a>", "f").root.children
    assert (child.tag, child.attributes) == ("x:b", {"x:c": "1", "d": "2"})
    with pytest.raises(FormatError, match="^f is not well-formed XML: line 1: unbound prefix"):
        scan(b"<x:a/>", "f")
    assert scan(b"<x:a/>", "f", fragment=True).root.tag == "x:a"


def test_elements_in_each_other_may_be_as_deep_as_a_server_reads_them() -> None:
    assert len(elements(b"<a>" * 3000 + b"</a>" * 3000)) == 3000


class CountedBytes(bytes):
    """Bytes that count how many of them were copied."""

    copied = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        self.copied += len(found) if isinstance(found, bytes) else 0
        return found


def test_the_scanned_bytes_do_not_grow_with_the_text_before() -> None:
    text = CountedBytes(b"<r>" + b"<a/>" * 1000 + b"<b>" + b"\r\n <a/>" * 1000 + b"</b></r>")
    assert scan(text, "f", 1).root.end == len(text)
    assert text.copied <= len(text)
