# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An XML file that is edited by splicing: what nobody asked to change stays as it is, byte for byte.

Expat tells where each element begins and ends, lxml what it says. Both read each version of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..._partmove.aligned import aligned
from ..._partmove.errors import FormatError, PartMoveError
from .xml_scan import Element, scan
from .xml_text import decode

try:
    from lxml import etree
except ImportError as error:
    LXML_IMPORT_ERROR: ImportError | None = error
else:
    LXML_IMPORT_ERROR = None

ROOTS = ("yandex", "clickhouse")
_DEFAULT_UNIT = b"    "
_SPACE = b" \t\r\n"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_COMMENT_ON_LINE = re.compile(rb"[ \t]*<!--(?:(?!-->)[^\r\n])*-->")
# The mark of a root that was written as <yandex/> before something was put in.
_WAS_EMPTY = b" >"


class Splice(NamedTuple):
    """Bytes to put in place of those from ``start`` to ``end`` of the text."""

    start: int
    end: int
    put: bytes


class XmlFile:
    """One version of a configuration file; ``exists`` says whether there is such a file.

    Raises FormatError when it is not one: not well-formed, with entities of its own, or with an unknown root.
    """

    def __init__(self, path: str, data: bytes, *, exists: bool = True) -> None:
        self.path = path
        self.data = data
        self.exists = exists
        self.text, self._encoding = decode(data, path)
        elements = scan(self.text, path)
        self._tree = _parse(self.text, path)
        self.root = elements[0]
        _understand(elements, list(self._tree.iter("*")), path)
        if self.root.tag not in ROOTS:
            raise FormatError(
                f"{path} has the root element <{self.root.tag}>",
                remedy="Give a configuration of ClickHouse: its root is <yandex> or <clickhouse>",
            )
        found = _LINE_END.search(self.text)
        self.line_end = found[0] if found else b"\n"

    def indent_of(self, element: Element) -> bytes | None:
        """The white space before the element on its line; None when something else is there too."""
        begin = max(self.text.rfind(end, 0, element.start) for end in (b"\r", b"\n")) + 1
        line = self.text[begin : element.start]
        return line if not line.strip(b" \t") else None

    def child_indent(self, parent: Element) -> bytes:
        """How far children of the element are indented, or would be."""
        found = (self.indent_of(child) for child in parent.children)
        first = next((indent for indent in found if indent is not None), None)
        if first is not None:
            return first
        own = self.indent_of(parent)
        return self.unit() if parent is self.root else (own or b"") + self.unit()

    def unit(self, near: Element | None = None) -> bytes:
        """How much deeper a child is than its parent, as the first one is written that has a line to itself.

        The children of ``near`` are asked first.
        """
        for element in (*(near.below() if near is not None else ()), *self.root.below()):
            parent = element.parent
            inner, outer = self.indent_of(element), None if parent is None else self.indent_of(parent)
            if inner and outer is not None and inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
        return _DEFAULT_UNIT

    def insertion(
        self, lines: Sequence[bytes], parent: Element, after: Element | None = None
    ) -> list[Splice]:
        """Put lines of text into the element, by default as its last; ``removal`` undoes it to the byte."""
        indent = self.child_indent(parent)
        text = b"".join(self.line_end + indent + line for line in lines)
        if after is not None:
            comment = _COMMENT_ON_LINE.match(self.text, after.end)
            at = comment.end() if comment else after.end
            return [Splice(at, at, text)]
        if parent.is_empty_tag:
            return self._into_empty_tag(parent, text)
        content = self.text[parent.open_end : parent.close_start]
        if parent is not self.root and not content:
            text += self.line_end + (self.indent_of(parent) or b"")
        if parent is self.root and not content.strip(_SPACE) and self._was_empty_tag:
            raise FormatError(
                f"{self.path} is empty but for </{parent.tag}{_WAS_EMPTY.decode()}",
                remedy=f"Write </{parent.tag}> without white space in it",
            )
        at = parent.open_end + len(content.rstrip(_SPACE))
        return [Splice(at, at, text)]

    def _into_empty_tag(self, parent: Element, text: bytes) -> list[Splice]:
        end = self.line_end + (self.indent_of(parent) or b"") + b"</" + parent.tag.encode()
        end += _WAS_EMPTY if parent is self.root else b">"
        return [Splice(parent.open_end - len(b"/>"), parent.end, b">" + text + end)]

    def removal(self, element: Element) -> list[Splice]:
        """Take the element out, with the line that it has for itself."""
        before = self.text[: element.start]
        indented = before.rstrip(b" \t")
        line_end = re.search(rb"(\r\n|\n|\r)\Z", indented)
        start = line_end.start() if line_end else element.start
        root = self.root
        rest = self.text[root.open_end : start] + self.text[element.end : root.close_start]
        if element.parent is root and self._was_empty_tag and rest == self.line_end:
            return [Splice(root.open_end - 1, root.end, b"/>")]
        return [Splice(start, element.end, b"")]

    @property
    def _was_empty_tag(self) -> bool:
        return self.text[self.root.close_start : self.root.end].endswith(_WAS_EMPTY)

    def spliced(self, splices: Sequence[Splice], changing: str) -> XmlFile:
        """The file after the splices; all of them lie in children of the root that are called ``changing``.

        Raises PartMoveError when the result is not the same file in all other respects.
        """
        text, at = [], 0
        for start, end, put in sorted(splices, key=lambda splice: splice[:2]):
            text += [self.text[at:start], put]
            at = end
        text.append(self.text[at:])
        after = XmlFile(self.path, self._encoding.encode(b"".join(text)))
        if self.all_but(changing) != after.all_but(changing):
            raise PartMoveError(
                f"{self.path} is written in a way that does not allow changing <{changing}> alone",
                remedy=f"Give <{changing}> a line of its own, or edit the file by hand",
            )
        return after

    def all_but(self, tag: str) -> list[str]:
        """What the file says, without the children of the root that have the name; for comparing."""
        root = self._tree
        prolog = [etree.tostring(node, encoding="unicode", with_tail=False) for node in _siblings(root)]
        said = [*prolog, root.tag, repr(sorted(root.attrib.items()))]
        texts = [root.text or ""]
        for child in root:
            texts.append(child.tail or "")
            if _name_as_written(child) != tag:
                said.append(etree.tostring(child, encoding="unicode", with_tail=False))
        return [*said, "".join("".join(texts).split())]


def _siblings(root: etree._Element) -> Iterator[etree._Element]:
    yield from root.itersiblings(preceding=True)
    yield from root.itersiblings()


def _name_as_written(node: etree._Element) -> str:
    """The name of an element with its prefix, as ClickHouse looks for it; empty for comments and the like."""
    if isinstance(node, (etree._Comment, etree._ProcessingInstruction, etree._Entity)):
        return ""
    local = etree.QName(node).localname
    return f"{node.prefix}:{local}" if node.prefix else local


def _parse(text: bytes, path: str) -> etree._Element:
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=False,
        remove_pis=False,
        strip_cdata=False,
    )
    try:
        return etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        raise FormatError(
            f"{path} is not well-formed XML: {error.msg}",
            remedy="Correct it first; ClickHouse would not start with it either",
        ) from error


def _understand(elements: Sequence[Element], nodes: Sequence[etree._Element], path: str) -> None:
    """Give each element what lxml has read of it."""
    if len(elements) != len(nodes):
        raise FormatError(
            f"{path} is read differently by two XML parsers", remedy="Look for unusual declarations in it"
        )
    for element, node in aligned(elements, nodes):
        element.attributes = {str(name): str(value) for name, value in node.attrib.items()}
        element.text = (node.text or "") + "".join(child.tail or "" for child in node)
