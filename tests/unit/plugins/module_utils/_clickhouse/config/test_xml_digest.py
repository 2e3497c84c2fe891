# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Digests of XML texts: two parsers agree, and differences change the digest."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_digest import Digest
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import XmlFile
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_scan import scan

TEXT = "<!--p--><a x='1'>t<b c='2'>u<d/></b><!--i--><?y z?><e/></a><!--q-->"


def digest(text: str) -> Digest:
    return scan(text.encode(), "f").digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p", "P"),
        ("x='1'", "x='2'"),
        ("x='1'", ""),
        (">t<", ">T<"),
        ("c='2'", "c='3'"),
        (">u<", ">v<"),
        (">u<", ">&lt;u<"),
        ("<d/>", "<d></d><d/>"),
        ("<d/>", ""),
        ("<!--i-->", ""),
        ("y z", "y w"),
        ("<e/>", "<f/>"),
        ("q", "Q"),
    ],
)
def test_differences_change_the_digest(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(TEXT).without("other") != digest(TEXT.replace(old, new, 1)).without("other")
    assert not digest(TEXT).equals(digest(TEXT.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<e/>", "<e></e>"),
        (">u<", "><![CDATA[u]]><"),
        (">t<", ">\n t\n<"),
        ("c='2'", ' c="2" '),
        ("u", "&#117;"),
    ],
)
def test_equal_content_has_an_equal_digest(old: str, new: str) -> None:
    assert digest(TEXT).equals(digest(TEXT.replace(old, new)))


def test_one_name_can_be_left_out() -> None:
    other = TEXT.replace("<e/>", "").replace("t", "")
    assert digest(TEXT.replace("t", "")).without("e") == digest(other).without("e")
    assert digest(TEXT).without("b") != digest(other).without("b")


def test_both_parsers_agree_on_names_with_prefixes() -> None:
    """Otherwise the file would be refused because two parsers read it differently."""
    text = "<a xmlns='u' xmlns:x='v' x:y='&amp;&#10;&lt;'><x:b z='\n'>&gt;\r\n<!-- < --></x:b></a>"
    assert XmlFile("f", text.encode()).root.children[0].tag == "x:b"


def test_text_may_come_in_any_pieces() -> None:
    one, other = Digest(), Digest()
    for each in (one, other):
        each.start("a", {})
        each.start("b", {})
    one.data("x<y z")
    for part in ("x", "<", "y z"):
        other.data(part)
    for each in (one, other):
        each.end("b")
        each.end("a")
    assert one.equals(other.close())
