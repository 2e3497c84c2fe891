# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where each element of an XML text begins and ends, as expat sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ..._partmove.errors import FormatError

_TRUE = frozenset({"1", "true", "yes", "on"})


def is_true(text: str) -> bool:
    """Whether ClickHouse takes the text of an element for true."""
    return text.strip().lower() in _TRUE


@dataclass
class Element:
    """One element; the positions are those of bytes in the text.

    tag: as it is written, with its prefix.
    start, open_end: where the start tag begins, and where it ends.
    close_start, end: the same of the end tag; for ``<a/>`` both are ``open_end``.
    """

    tag: str
    start: int
    parent: Element | None
    open_end: int = -1
    close_start: int = -1
    end: int = -1
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[Element] = field(default_factory=list)

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as ``<a/>``."""
        return self.open_end == self.end

    def named(self, tag: str) -> list[Element]:
        """Its children with that name."""
        return [child for child in self.children if child.tag == tag]

    def below(self) -> Iterator[Element]:
        """All elements in it, in their order."""
        for child in self.children:
            yield child
            yield from child.below()


def scan(text: bytes, path: str) -> list[Element]:
    """All elements in the order of their start tags, with their positions."""
    parser = expat.ParserCreate("UTF-8")
    scanner = _Scanner(parser, text, path)
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise FormatError(
            f"{path} is not well-formed XML: line {error.lineno}: {expat.ErrorString(error.code)}",
            remedy="Correct it first; ClickHouse would not start with it either",
        ) from error
    return scanner.elements


class _Scanner:
    """Listens to expat; everything that has no handler of its own goes to ``_other``."""

    def __init__(self, parser: expat.XMLParserType, text: bytes, path: str) -> None:
        self.elements: list[Element] = []
        self._parser = parser
        self._text = text
        self._path = path
        self._open: list[Element] = []
        self._has_subset = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.DefaultHandler = self._other
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EndDoctypeDeclHandler = self._end_of_doctype
        parser.EntityDeclHandler = self._entity

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        self._other()
        parent = self._open[-1] if self._open else None
        element = Element(tag, self._parser.CurrentByteIndex, parent)
        if parent is not None:
            parent.children.append(element)
        self.elements.append(element)
        self._open.append(element)

    def _other(self, _data: str = "") -> None:
        """Whatever comes first after a start tag tells where that has ended."""
        if self._open and self._open[-1].open_end < 0:
            self._open[-1].open_end = self._parser.CurrentByteIndex

    def _end(self, _tag: str) -> None:
        is_first = self._open[-1].open_end < 0
        self._other()
        element = self._open.pop()
        at = element.close_start = self._parser.CurrentByteIndex
        is_empty_tag = is_first and self._text[:at].endswith(b"/>")
        element.end = at if is_empty_tag else self._text.index(b">", at) + 1

    def _doctype(self, _name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        if system or public:
            raise self._refused("refers to a document type definition outside of it")
        self._has_subset = has_subset

    def _end_of_doctype(self) -> None:
        if self._has_subset:
            raise self._refused("declares a document type of its own")

    def _entity(self, name: str, *_declaration: object) -> None:
        raise self._refused(f"declares the entity {name}")

    def _refused(self, what: str) -> FormatError:
        return FormatError(
            f"{self._path} {what}, which can stand for other files or for endless text, so it is not read",
            remedy="Write what it stands for into the file itself",
        )
