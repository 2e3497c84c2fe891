# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the positions of the elements of an XML text with expat."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from xml.parsers import expat

from ..._partmove.errors import FormatError
from .xml_digest import Digest

_TRUE = frozenset({"1", "true", "yes", "on"})
_BLANKS = b" \t"
_LINE_ENDS = b"\r\n"
_INCL = "incl"
# Separates the parts of a name that expat has resolved. No XML text can contain this character.
_PARTS = "\x01"
_NO_ATTRIBUTES: Mapping[str, str] = {}


def is_true(text: str) -> bool:
    """Whether ClickHouse reads the text of an element as true."""
    return text.strip().lower() in _TRUE


def indent_at(text: bytes, start: int) -> bytes | None:
    """Return the white space on the line before ``start``; None if the line has other text before it."""
    begin = start
    while begin and text[begin - 1] in _BLANKS:
        begin -= 1
    return text[begin:start] if not begin or text[begin - 1] in _LINE_ENDS else None


class Element:
    """One element. Positions are byte offsets in the text.

    tag: as written, with its prefix.
    start, open_end: beginning and end of the start tag.
    close_start, end: beginning and end of the end tag; for ``<a/>`` both equal ``open_end``.
    text: its own text, without that of its children.
    """

    # A large file has millions of elements.
    __slots__ = ("attributes", "children", "close_start", "end", "open_end", "parent", "start", "tag", "text")

    def __init__(
        self, tag: str, start: int, parent: Element | None, attributes: Mapping[str, str] | None = None
    ) -> None:
        self.tag = tag
        self.start = start
        self.parent = parent
        self.open_end = self.close_start = self.end = -1
        self.attributes = _NO_ATTRIBUTES if attributes is None else attributes
        self.text = ""
        self.children: list[Element] = []

    @property
    def is_empty_tag(self) -> bool:
        """Whether the element is written as ``<a/>``."""
        return self.open_end == self.end

    def named(self, tag: str) -> list[Element]:
        """Return the children with the tag."""
        return [child for child in self.children if child.tag == tag]

    def below(self) -> Iterator[Element]:
        """Yield all descendants in document order."""
        pending = self.children[::-1]
        while pending:
            element = pending.pop()
            yield element
            pending += element.children[::-1]


class Scan:
    """The results of one pass over a text.

    root: the root, with the requested number of levels below it.
    unit: additional indentation of the first element that has a line of its own, as its parent has; else
        empty.
    uses: value of ``incl`` → number of elements with the value.
    digest: digest of the content, for comparisons.
    """

    def __init__(self) -> None:
        self.root = Element("", 0, None)
        self.unit = b""
        self.uses: Counter[str] = Counter()
        self.digest = Digest()


def scan(text: bytes, path: str, levels: int = sys.maxsize, *, fragment: bool = False) -> Scan:
    """Find the elements with their positions.

    levels: how many levels below the root are kept, the last one without texts. A file may be large, and most
        of it is irrelevant.
    fragment: whether prefixes may be bound outside of the text.

    Raises FormatError if the text is not well-formed or declares entities.
    """
    parser = expat.ParserCreate("UTF-8", None if fragment else _PARTS)
    if not fragment:
        parser.namespace_prefixes = True
    scanner = _Scanner(parser, text, path, levels)
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise FormatError(
            f"{path} is not well-formed XML: line {error.lineno}: {expat.ErrorString(error.code)}",
            remedy="Correct it first; ClickHouse would not start with it either",
        ) from error
    return scanner.found


class _Scanner:
    """The expat handlers; ``_other`` handles every event without a handler of its own."""

    def __init__(self, parser: expat.XMLParserType, text: bytes, path: str, levels: int) -> None:
        self.found = Scan()
        self._parser = parser
        self._text = text
        self._path = path
        self._levels = levels
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        self._has_subset = False
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.DefaultHandler = self._other
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EndDoctypeDeclHandler = self._end_of_doctype
        parser.EntityDeclHandler = self._entity

    def _start(self, name: str, named: dict[str, str]) -> None:
        self._other()
        tag = _qualified(name)
        attributes = {_qualified(each): text for each, text in named.items()} if named else _NO_ATTRIBUTES
        found, depth = self.found, len(self._open)
        parent = self._open[-1] if depth else None
        element = Element(tag, self._parser.CurrentByteIndex, parent, attributes)
        if parent is None:
            found.root = element
        elif depth <= self._levels:
            parent.children.append(element)
        if parent is not None and not found.unit:
            found.unit = unit_between(self._text, parent, element)
        if _INCL in attributes:
            found.uses[attributes[_INCL]] += 1
        self._open.append(element)
        self._texts.append([])
        found.digest.start(tag, attributes)

    def _characters(self, data: str) -> None:
        self._other()
        if len(self._open) < self._levels:
            self._texts[-1].append(data)
        self.found.digest.data(data)

    def _comment(self, data: str) -> None:
        self._other()
        self.found.digest.comment(data)

    def _instruction(self, target: str, data: str) -> None:
        self._other()
        self.found.digest.pi(target, data)

    def _other(self, _data: str = "") -> None:
        """Set the end of a start tag, which is where the next event begins."""
        if self._open and self._open[-1].open_end < 0:
            self._open[-1].open_end = self._parser.CurrentByteIndex

    def _end(self, _name: str) -> None:
        is_first = self._open[-1].open_end < 0
        self._other()
        element = self._open.pop()
        element.text = "".join(self._texts.pop())
        at = element.close_start = self._parser.CurrentByteIndex
        is_empty_tag = is_first and self._text.endswith(b"/>", 0, at)
        element.end = at if is_empty_tag else self._text.index(b">", at) + 1
        self.found.digest.end(element.tag)

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
            f"{self._path} {what}. It could refer to other files or to endless text, so the file is not read",
            remedy="Write the value into the file itself",
        )


def _qualified(name: str) -> str:
    """Return the name with its prefix and without its namespace."""
    if _PARTS not in name:
        return name
    _namespace, local, *prefix = name.split(_PARTS)
    return ":".join([*prefix, local])


def unit_between(text: bytes, parent: Element, child: Element) -> bytes:
    """Return the additional indentation of the child; b"" unless both have lines of their own."""
    inner = indent_at(text, child.start)
    if not inner:
        return b""
    outer = indent_at(text, parent.start)
    return inner[len(outer) :] if outer is not None and inner.startswith(outer) else b""
