# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where each element of an XML text begins and ends, as expat sees it."""

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
# Between the parts of a name that expat has resolved; no XML text can have it.
_PARTS = "\x01"
_NO_ATTRIBUTES: Mapping[str, str] = {}


def is_true(text: str) -> bool:
    """Whether ClickHouse takes the text of an element for true."""
    return text.strip().lower() in _TRUE


def indent_at(text: bytes, start: int) -> bytes | None:
    """The white space on the line before ``start``; None when something else is there too."""
    begin = start
    while begin and text[begin - 1] in _BLANKS:
        begin -= 1
    return text[begin:start] if not begin or text[begin - 1] in _LINE_ENDS else None


class Element:
    """One element; the positions are those of bytes in the text.

    tag: as it is written, with its prefix.
    start, open_end: where the start tag begins, and where it ends.
    close_start, end: the same of the end tag; for ``<a/>`` both are ``open_end``.
    text: what it says itself, without its children.
    """

    # A large file has millions of them.
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
        """Whether it is written as ``<a/>``."""
        return self.open_end == self.end

    def named(self, tag: str) -> list[Element]:
        """Its children with that name."""
        return [child for child in self.children if child.tag == tag]

    def below(self) -> Iterator[Element]:
        """All elements in it, in their order."""
        waiting = self.children[::-1]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += element.children[::-1]


class Scan:
    """What one pass over a text finds.

    root: the root, with as many levels of elements below it as were asked for.
    unit: how much deeper the first element is than its parent, of those where both have a line to themselves;
        empty when there is none.
    uses: how many elements have the attribute ``incl`` with that value.
    digest: what the text says, for comparing.
    """

    def __init__(self) -> None:
        self.root = Element("", 0, None)
        self.unit = b""
        self.uses: Counter[str] = Counter()
        self.digest = Digest()


def scan(text: bytes, path: str, levels: int = sys.maxsize, *, fragment: bool = False) -> Scan:
    """Find the elements with their positions.

    With ``levels``, only those at most so many below the root are kept, the last of these without their text:
    a file may be large, and most of it concerns nobody here. A ``fragment`` may have prefixes that are bound
    around it.

    Raises FormatError: it is not well-formed, or has entities of its own.
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
    """Listens to expat; everything that has no handler of its own goes to ``_other``."""

    def __init__(self, parser: expat.XMLParserType, text: bytes, path: str, levels: int) -> None:
        self.found = Scan()
        self._parser = parser
        self._text = text
        self._path = path
        self._levels = levels
        self._open: list[Element] = []
        self._said: list[list[str]] = []
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
        tag = _as_written(name)
        attributes = {_as_written(each): text for each, text in named.items()} if named else _NO_ATTRIBUTES
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
        self._said.append([])
        found.digest.start(tag, attributes)

    def _characters(self, data: str) -> None:
        self._other()
        if len(self._open) < self._levels:
            self._said[-1].append(data)
        self.found.digest.data(data)

    def _comment(self, data: str) -> None:
        self._other()
        self.found.digest.comment(data)

    def _instruction(self, target: str, data: str) -> None:
        self._other()
        self.found.digest.pi(target, data)

    def _other(self, _data: str = "") -> None:
        """Whatever comes first after a start tag tells where that has ended."""
        if self._open and self._open[-1].open_end < 0:
            self._open[-1].open_end = self._parser.CurrentByteIndex

    def _end(self, _name: str) -> None:
        is_first = self._open[-1].open_end < 0
        self._other()
        element = self._open.pop()
        element.text = "".join(self._said.pop())
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
            f"{self._path} {what}, which can stand for other files or for endless text, so it is not read",
            remedy="Write what it stands for into the file itself",
        )


def _as_written(name: str) -> str:
    """The name with its prefix, of one with its namespace, or of one that has none."""
    if _PARTS not in name:
        return name
    _namespace, local, *prefix = name.split(_PARTS)
    return ":".join([*prefix, local])


def unit_between(text: bytes, parent: Element, child: Element) -> bytes:
    """How much deeper the child is indented; empty unless both have a line to themselves and it is deeper."""
    inner = indent_at(text, child.start)
    if not inner:
        return b""
    outer = indent_at(text, parent.start)
    return inner[len(outer) :] if outer is not None and inner.startswith(outer) else b""
