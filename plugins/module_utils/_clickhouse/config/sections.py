# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The element that a server builds from one or several files, with the places of its occurrences.

A server merges elements with the same name and the same attributes, file by file, and then resolves ``incl``
attributes. Of several remaining elements with the name, the server uses the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..._partmove.errors import FormatError
from .xml_scan import Element, is_true
from .zookeeper_element import DEFAULT_PORT, SUBSTITUTIONS, ElementContent, Node

_INCL, _OPTIONAL, _REPLACE, _REMOVE = "incl", "optional", "replace", "remove"
# The server merges two elements if all their attributes except these are equal.
_NO_IDENTITY = frozenset({_REPLACE, _REMOVE, *SUBSTITUTIONS})
_MOST_LEVELS = 50


class Document(Protocol):
    """A file of a configuration, in any format."""

    path: str

    @property
    def root_tag(self) -> str:
        """The name of the root."""

    def named(self, tag: str) -> list[Element]:
        """Return the children of the root with the tag, complete with their descendants."""

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
    occurrences: all merged occurrences, in order.
    problem: why its own content is unknown; empty if it is known. Children have problems of their own.
    """

    origin: Occurrence
    attributes: dict[str, str]
    text: str
    children: list[MergedElement]
    occurrences: list[Occurrence] = field(default_factory=list)
    problem: str = ""

    @classmethod
    def of(cls, occurrence: Occurrence, depth: int = 0) -> MergedElement:
        """Build the element from an occurrence. Raises FormatError if elements are nested too deeply."""
        if depth > _MOST_LEVELS:
            raise FormatError(
                f"{occurrence} has elements nested more than {_MOST_LEVELS} levels deep",
                remedy="Remove them, or edit the file by hand",
            )
        file, element = occurrence
        children = [cls.of(Occurrence(file, child), depth + 1) for child in element.children]
        return cls(occurrence, dict(element.attributes), element.text, children, [occurrence])

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
        # The server uses every child whose tag begins with "node", such as <node1>.
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

    def has(self, desired: ElementContent) -> bool:
        """Whether the element certainly has the desired content."""
        nodes = [child for child in self.children if child.tag.startswith("node")]
        settings = [child for name in desired.settings for child in self.named(name)[:1]]
        if self.problem or any(any(each.problems()) for each in (*nodes, *settings)):
            return False
        if sorted(self.nodes()) != sorted(desired.nodes):
            return False
        return all(self.child_text(name) == text for name, text in desired.settings.items())


def merge_elements(tag: str, files: Iterable[Document]) -> list[MergedElement]:
    """Return the elements with the tag that a server has after merging the files in their order."""
    first, *others = files
    found = _elements_of(first, tag)
    for file in others:
        _merge(found, _elements_of(file, tag))
    return found


def resolve(
    element: MergedElement, value_of: Callable[[str], SubstitutionValue], depth: int = 0
) -> MergedElement | None:
    """Resolve the substitutions of an element. Returns None for an optional element without a value.

    Raises FormatError for a substitution that refers to itself.
    """
    if depth > _MOST_LEVELS:
        raise FormatError(
            f"<{element.tag}> in {element.origin} takes its value from itself",
            remedy="Correct the attribute incl",
        )
    names = [name for name in SUBSTITUTIONS if name in element.attributes]
    problem = ""
    if names and names != [_INCL]:
        problem = (
            f"<{element.tag}> in {element.origin} has the attribute {names[0]}, which only the server can"
            " resolve"
        )
    elif names:
        found, problem = value_of(element.attributes[_INCL])
        if found is not None:
            return resolve(_with_substitution(element, MergedElement.of(found)), value_of, depth + 1)
        if not problem and _OPTIONAL in element.attributes:
            return None
    children = [resolve(child, value_of, depth + 1) for child in element.children]
    known = [child for child in children if child is not None]
    return MergedElement(
        element.origin, element.attributes, element.text, known, element.occurrences, problem
    )


def _elements_of(file: Document, tag: str) -> list[MergedElement]:
    return [MergedElement.of(Occurrence(file, element)) for element in file.named(tag)]


def _identity(element: MergedElement) -> tuple[object, ...]:
    attributes = {name: text for name, text in element.attributes.items() if name not in _NO_IDENTITY}
    return element.tag, tuple(sorted(attributes.items()))


def _merge(merged: list[MergedElement], added: Sequence[MergedElement]) -> None:
    """Merge the elements of a file into those of the files before it, as the server does."""
    unmatched: dict[tuple[object, ...], list[MergedElement]] = {}
    for each in merged:
        unmatched.setdefault(_identity(each), []).append(each)
    for each in added:
        is_removal = _REMOVE in each.attributes
        candidates = unmatched.get(_identity(each))
        if not candidates:
            merged += [] if is_removal else [each]
            continue
        match = candidates.pop(0)
        at = next(index for index, other in enumerate(merged) if other is match)
        if is_removal:
            del merged[at]
        elif _REPLACE in each.attributes:
            merged[at] = each
        else:
            match.text = each.text
            match.occurrences += each.occurrences
            _merge(match.children, each.children)


def _with_substitution(element: MergedElement, substitution: MergedElement) -> MergedElement:
    """Return the element with the substitution merged into it."""
    own = {name: text for name, text in element.attributes.items() if name not in SUBSTITUTIONS}
    text, children = element.text, element.children
    if _REPLACE in own:
        del own[_REPLACE]
        text, children = "", []
    attributes = {**own, **substitution.attributes}
    return MergedElement(
        element.origin,
        attributes,
        text + substitution.text,
        [*children, *substitution.children],
        element.occurrences,
    )
