# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions of elements in a file, and refused splices that change anything else."""

from __future__ import annotations

import pytest
from lxml import etree

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.xml_document import (
    Splice,
    XmlFile,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.files.configs import ENCODED, MAIN, WRITTEN, written


@pytest.mark.parametrize("encoded", ENCODED)
@pytest.mark.parametrize("name", WRITTEN)
def test_positions_are_those_of_the_elements(name: str, encoded: str) -> None:
    data = ENCODED[encoded](written(name))
    file = XmlFile(MAIN, data)
    expected = etree.fromstring(data)
    nodes = list(expected.iter("*"))
    elements = [file.root]
    for child in file.root.children:
        whole = next(each for each in file.named(child.tag) if each.start == child.start)
        elements += [whole, *whole.below()]
    assert [each.tag for each in elements] == [node.tag for node in nodes]
    for element, node in zip(elements, nodes, strict=True):
        alone = etree.fromstring(file.text[element.start : element.end])
        assert etree.tostring(alone) == etree.tostring(node, with_tail=False)
        if element is not file.root:
            assert element.text == (node.text or "") + "".join(child.tail or "" for child in node)


TEXT = b"<yandex>\n  <!-- a --><a x='1'>b</a>\n  <ours>c</ours>\n</yandex>\n<!-- end -->"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (b"b</a>", b"d</a>", "is written in a way that does not allow changing <ours> alone"),
        (b"x='1'", b"x='2'", "does not allow changing <ours> alone"),
        (b"<!-- a -->", b"", "does not allow changing <ours> alone"),
        (b"<!-- end -->", b"", "does not allow changing <ours> alone"),
        (b"<a x='1'>b</a>", b"<!-- <a x='1'>b</a> -->", "does not allow changing <ours> alone"),
        (b"<ours>", b"text<ours>", "does not allow changing <ours> alone"),
        (b"</ours>", b"", "is not well-formed XML"),
    ],
)
def test_splice_that_changes_more_is_refused(old: bytes, new: bytes, sentence: str) -> None:
    start = TEXT.index(old)
    with pytest.raises(PartMoveError, match=sentence):
        XmlFile(MAIN, TEXT).spliced([Splice(start, start + len(old), new)], "ours")


def test_splices_in_one_element_are_made_in_any_order() -> None:
    file = XmlFile(MAIN, TEXT)
    (ours,) = file.root.named("ours")
    after = file.spliced(
        [Splice(ours.end, ours.end, b"\n  <ours/>"), Splice(ours.open_end, ours.close_start, b"d")], "ours"
    )
    assert after.data == TEXT.replace(b"<ours>c</ours>", b"<ours>d</ours>\n  <ours/>")
