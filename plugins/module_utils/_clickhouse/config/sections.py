# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The element that a server builds from one or several files, with the places of its occurrences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..._partmove.errors import FormatError
from .xml_scan import Element, is_true
from .zookeeper_element import DEFAULT_PORT, ElementContent, Node

INCLUDE, MERGE = "include", "merge"
MOST_LEVELS = 50
_NODE_PARTS = ("host", "port", "secure")


class Document(Protocol):
    """A file of a configuration, in any format."""

    path: str

    @property
    def root_tag(self) -> str:
        """The name of the root."""

    def named(self, *tags: str) -> list[Element]:
        """Return the children of the root with one of the tags, complete with their descendants."""

    def uses_of(self, substitution: str) -> int:
        """Count the elements with this substitution."""

    def line_of(self, element: Element) -> int:
        """Return the number of the first line of the element."""


class Occurrence(NamedTuple):
    """An occurrence of an element: the element as it is written, and its file."""

    file: Document
    element: Element

    def __str__(self) -> str:
        return f"{self.file.path} line {self.file.line_of(self.element)}"


class SubstitutionValue(NamedTuple):
    """The value of an ``incl`` attribute.

    found: the element with the name; None if there is none.
    problem: why the value is unknown; else empty.
    """

    found: Occurrence | None = None
    problem: str = ""


@dataclass
class MergedElement:
    """An element after the merges so far.

    origin: the occurrence with its name and its attributes.
    has_content: whether there is anything between its tags, including white space and comments.
    occurrences: all merged occurrences, in order.
    problem: why its own content is unknown; empty if it is known. Children have problems of their own.
    """

    origin: Occurrence
    attributes: dict[str, str]
    text: str
    children: list[MergedElement]
    has_content: bool = False
    occurrences: list[Occurrence] = field(default_factory=list)
    problem: str = ""

    @classmethod
    def of(cls, occurrence: Occurrence, depth: int = 0) -> MergedElement:
        """Build the element from an occurrence. Raises FormatError if elements are nested too deeply."""
        if depth > MOST_LEVELS:
            raise FormatError(
                f"{occurrence} has elements nested more than {MOST_LEVELS} levels deep",
                remedy="Remove them, or edit the file by hand",
            )
        file, element = occurrence
        children = [cls.of(Occurrence(file, child), depth + 1) for child in element.children]
        has_content = bool(children or element.text) or element.open_end < element.close_start
        return cls(occurrence, dict(element.attributes), element.text, children, has_content, [occurrence])

    @property
    def tag(self) -> str:
        """The tag of the element."""
        return self.origin.element.tag

    def named(self, tag: str) -> list[MergedElement]:
        """Return the children with the tag."""
        return [child for child in self.children if child.tag == tag]

    def content(self) -> tuple[object, ...]:
        """Return the tag, attributes, text and children, wherever they are written, for comparisons."""
        children = tuple(child.content() for child in self.children)
        return self.tag, tuple(sorted(self.attributes.items())), self.text.strip(), children

    def child_text(self, tag: str, default: str = "") -> str:
        """Return the text of the first child with the tag."""
        found = self.named(tag)
        return found[0].text if found else default

    def problems(self) -> Iterator[str]:
        """Yield why the content of the element or of a descendant is unknown."""
        if self.problem:
            yield self.problem
        for child in self.children:
            yield from child.problems()

    def nodes(self) -> list[Node]:
        """Return the members of the element, as far as they are known."""
        return [
            Node(
                each.child_text("host"),
                each.child_text("port", DEFAULT_PORT),
                is_true(each.child_text("secure")),
            )
            for each in self._members()
            if not any(each.problems_of(*_NODE_PARTS))
        ]

    def problems_of_members(self) -> Iterator[str]:
        """Yield why not all members of the element are known."""
        yield from self.problems_of()
        for each in self._members():
            yield from each.problems_of(*_NODE_PARTS)

    def problems_of(self, *tags: str) -> Iterator[str]:
        """Yield why the first child with each tag may be unknown."""
        if self.problem:
            yield self.problem
        # An unresolved <include> may stand for anything.
        needed = [*self.named(INCLUDE), *(child for tag in tags for child in self.named(tag)[:1])]
        for child in needed:
            yield from child.problems()

    def has(self, desired: ElementContent) -> bool:
        """Whether the element certainly has the desired content."""
        if any(self.problems_of_members()) or any(self.problems_of(*desired.settings)):
            return False
        if sorted(self.nodes()) != sorted(desired.nodes):
            return False
        return all(self.child_text(name) == text for name, text in desired.settings.items())

    def _members(self) -> list[MergedElement]:
        # The server uses every child whose tag begins with "node", such as <node1>.
        return [child for child in self.children if child.tag.startswith("node")]
