# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a server makes of an element that is in one file or in several, and where each piece of it is written.

A server merges elements of the same name and the same attributes, file by file, and then puts what is named
by ``incl`` in place. Of several elements with the name that are left, it takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..._partmove.errors import FormatError
from .xml_scan import Element, is_true
from .zookeeper_element import DEFAULT_PORT, SUBSTITUTIONS, ElementContent, Node

_INCL, _OPTIONAL, _REPLACE, _REMOVE = "incl", "optional", "replace", "remove"
# What tells the server that two elements are one is all of their attributes but these.
_NO_IDENTITY = frozenset({_REPLACE, _REMOVE, *SUBSTITUTIONS})
_DEEPEST = 50


class Document(Protocol):
    """One file of a configuration, in any format."""

    path: str

    @property
    def root_tag(self) -> str:
        """The name of the root."""

    def named(self, tag: str) -> list[Element]:
        """The children of the root with that name, with all that is in them."""

    def uses_of(self, substitution: str) -> int:
        """How many elements take their value from the substitution."""

    def line_of(self, element: Element) -> int:
        """The number of the line that the element begins in."""


class Piece(NamedTuple):
    """An element as it is written, and where."""

    file: Document
    element: Element

    def __str__(self) -> str:
        return f"{self.file.path} line {self.file.line_of(self.element)}"


class Meaning(NamedTuple):
    """What the name in ``incl`` stands for.

    found: the element of that name; None when there is none.
    problem: why that is not known; empty when it is.
    """

    found: Piece | None = None
    problem: str = ""


@dataclass
class Said:
    """What an element says, as far as this has come.

    origin: the piece that its name and its attributes are from.
    pieces: all that has gone into it, in the order of merging.
    problem: why it is not known what it says; empty when it is, but for its children.
    """

    origin: Piece
    attributes: dict[str, str]
    text: str
    children: list[Said]
    pieces: list[Piece] = field(default_factory=list)
    problem: str = ""

    @classmethod
    def of(cls, piece: Piece, depth: int = 0) -> Said:
        """What the piece says by itself; raises FormatError when it is nested as nobody would write it."""
        if depth > _DEEPEST:
            raise FormatError(
                f"{piece} has elements in each other more than {_DEEPEST} levels deep",
                remedy="Remove them, or edit the file by hand",
            )
        file, element = piece
        children = [cls.of(Piece(file, child), depth + 1) for child in element.children]
        return cls(piece, dict(element.attributes), element.text, children, [piece])

    @property
    def tag(self) -> str:
        """Its name."""
        return self.origin.element.tag

    def named(self, tag: str) -> list[Said]:
        """Its children with that name."""
        return [child for child in self.children if child.tag == tag]

    def content(self) -> tuple[object, ...]:
        """All that it says, wherever that is written, for comparing."""
        children = tuple(child.content() for child in self.children)
        return self.tag, tuple(sorted(self.attributes.items())), self.text.strip(), children

    def child_text(self, tag: str, default: str = "") -> str:
        """The text of the first child with that name."""
        found = self.named(tag)
        return found[0].text if found else default

    def problems(self) -> Iterator[str]:
        """Why it is not known what it says, or what is in it says."""
        if self.problem:
            yield self.problem
        for child in self.children:
            yield from child.problems()

    def nodes(self) -> list[Node]:
        """The members that it names, as far as that is known."""
        # The server takes every child whose name begins with it, such as <node1>.
        named = [child for child in self.children if child.tag.startswith("node")]
        return [
            Node(
                each.child_text("host"),
                each.child_text("port", DEFAULT_PORT),
                is_true(each.child_text("secure")),
            )
            for each in named
            if not any(each.problems())
        ]

    def says(self, wanted: ElementContent) -> bool:
        """Whether that is certainly what is wanted."""
        nodes = [child for child in self.children if child.tag.startswith("node")]
        settings = [child for name in wanted.settings for child in self.named(name)[:1]]
        if self.problem or any(any(each.problems()) for each in (*nodes, *settings)):
            return False
        if sorted(self.nodes()) != sorted(wanted.nodes):
            return False
        return all(self.child_text(name) == text for name, text in wanted.settings.items())


def merged(tag: str, files: Iterable[Document]) -> list[Said]:
    """The elements with that name that a server has once it has merged the files, in their order."""
    first, *others = files
    found = _said_in(first, tag)
    for file in others:
        _merge(found, _said_in(file, tag))
    return found


def resolved(said: Said, look_up: Callable[[str], Meaning], depth: int = 0) -> Said | None:
    """The element with what its substitutions stand for; None when it is optional and they stand for nothing.

    Raises FormatError when they stand for themselves.
    """
    if depth > _DEEPEST:
        raise FormatError(
            f"<{said.tag}> in {said.origin} takes its value from itself", remedy="Correct the attribute incl"
        )
    given = [name for name in SUBSTITUTIONS if name in said.attributes]
    problem = ""
    if given and given != [_INCL]:
        problem = (
            f"<{said.tag}> in {said.origin} has the attribute {given[0]}, which only the server can resolve"
        )
    elif given:
        found, problem = look_up(said.attributes[_INCL])
        if found is not None:
            return resolved(_included(said, Said.of(found)), look_up, depth + 1)
        if not problem and _OPTIONAL in said.attributes:
            return None
    children = [resolved(child, look_up, depth + 1) for child in said.children]
    known = [child for child in children if child is not None]
    return Said(said.origin, said.attributes, said.text, known, said.pieces, problem)


def _said_in(file: Document, tag: str) -> list[Said]:
    return [Said.of(Piece(file, element)) for element in file.named(tag)]


def _identity(said: Said) -> tuple[object, ...]:
    attributes = {name: text for name, text in said.attributes.items() if name not in _NO_IDENTITY}
    return said.tag, tuple(sorted(attributes.items()))


def _merge(ours: list[Said], theirs: Sequence[Said]) -> None:
    """Merge elements of a file into those of the files before it, as the server does."""
    free: dict[tuple[object, ...], list[Said]] = {}
    for each in ours:
        free.setdefault(_identity(each), []).append(each)
    for each in theirs:
        is_removal = _REMOVE in each.attributes
        twins = free.get(_identity(each))
        if not twins:
            ours += [] if is_removal else [each]
            continue
        twin = twins.pop(0)
        at = next(index for index, other in enumerate(ours) if other is twin)
        if is_removal:
            del ours[at]
        elif _REPLACE in each.attributes:
            ours[at] = each
        else:
            twin.text = each.text
            twin.pieces += each.pieces
            _merge(twin.children, each.children)


def _included(said: Said, meaning: Said) -> Said:
    """The element with what it refers to put into it."""
    own = {name: text for name, text in said.attributes.items() if name not in SUBSTITUTIONS}
    text, children = said.text, said.children
    if _REPLACE in own:
        del own[_REPLACE]
        text, children = "", []
    attributes = {**own, **meaning.attributes}
    return Said(said.origin, attributes, text + meaning.text, [*children, *meaning.children], said.pieces)
