# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merges elements of several files and resolves their substitutions, as a server does.

A server merges elements with the same name and the same attributes, file by file, and then resolves the
attributes ``incl``, ``from_env`` and ``from_zk``. An <include> with such an attribute stands for the children
of its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ..._partmove.errors import FormatError
from .dialects import NEWEST, Dialect
from .sections import INCLUDE, MERGE, MOST_LEVELS, Document, MergedElement, Occurrence, SubstitutionValue
from .zookeeper_element import SUBSTITUTIONS

_INCL, _OPTIONAL, _REPLACE, _REMOVE = "incl", "optional", "replace", "remove"
_ENCRYPTED = "encrypted_by"
_REFERENCE = "${"
# The server merges two elements if all their attributes except these are equal.
_NO_IDENTITY = frozenset({_REPLACE, _REMOVE, *SUBSTITUTIONS})

ValueOf = Callable[[str], SubstitutionValue]


def merge_elements(tag: str, files: Iterable[Document], dialect: Dialect = NEWEST) -> list[MergedElement]:
    """Return the elements with the tag, and every <include>, after the merge of the files in their order."""
    tags = (tag,) if dialect.only_yandex else (tag, INCLUDE)
    first, *others = files
    found = _elements_of(first, tags)
    for file in others:
        _merge(found, _elements_of(file, tags), dialect)
    return found


def resolve_all(
    elements: Sequence[MergedElement], value_of: ValueOf, dialect: Dialect = NEWEST, depth: int = 0
) -> list[MergedElement]:
    """Resolve the substitutions of siblings.

    An <include> becomes the children of its value, which the server does not resolve any further. One with
    an unknown value stays, with a problem: there may be any elements in its place.

    Raises FormatError for a substitution that refers to itself.
    """
    resolved: list[MergedElement] = []
    for each in elements:
        if each.tag == INCLUDE and not dialect.only_yandex:
            resolved += _included(each, value_of)
        else:
            element = resolve(each, value_of, dialect, depth)
            resolved += [] if element is None else [element]
    return resolved


def resolve(
    element: MergedElement, value_of: ValueOf, dialect: Dialect = NEWEST, depth: int = 0
) -> MergedElement | None:
    """Resolve the substitutions of an element. Returns None for an optional element without a value.

    Raises FormatError for a substitution that refers to itself.
    """
    if depth > MOST_LEVELS:
        raise FormatError(
            f"<{element.tag}> in {element.origin} takes its value from itself",
            remedy="Correct the attribute incl",
        )
    problem = _problem_of(element)
    if not problem and _INCL in element.attributes:
        found, problem = value_of(element.attributes[_INCL])
        if found is not None:
            included = _with_substitution(element, MergedElement.of(found))
            return resolve(included, value_of, dialect, depth + 1)
        if not problem and _OPTIONAL in element.attributes:
            return None
    children = resolve_all(element.children, value_of, dialect, depth + 1)
    return replace(element, children=children, problem=problem)


def _problem_of(element: MergedElement) -> str:
    """Return why only a running server knows the text and the children of the element; else empty."""
    named = [name for name in SUBSTITUTIONS if name in element.attributes]
    if _ENCRYPTED in element.attributes:
        named.append(_ENCRYPTED)
    if named and named != [_INCL]:
        return (
            f"<{element.tag}> in {element.origin} has the attribute {named[0]}, which only the server can"
            " resolve"
        )
    if _REFERENCE in element.text:
        return (
            f"<{element.tag}> in {element.origin} refers to another setting with {_REFERENCE}…}}, which only"
            " the server can resolve"
        )
    return ""


def _included(include: MergedElement, value_of: ValueOf) -> list[MergedElement]:
    """Return the elements in place of an <include>, or the element itself if they are unknown."""
    problem = _problem_of(include)
    if not problem and MERGE in include.attributes:
        problem = f"<{INCLUDE}> in {include.origin} has the attribute {MERGE}, which is not followed here"
    if not problem:
        found, problem = value_of(include.attributes.get(_INCL, ""))
        if not problem:
            return [] if found is None else MergedElement.of(found).children
    return [replace(include, problem=problem)]


def _elements_of(file: Document, tags: tuple[str, ...]) -> list[MergedElement]:
    return [MergedElement.of(Occurrence(file, element)) for element in file.named(*tags)]


def _identity(element: MergedElement) -> tuple[object, ...]:
    attributes = {name: text for name, text in element.attributes.items() if name not in _NO_IDENTITY}
    return element.tag, tuple(sorted(attributes.items()))


def _merge(merged: list[MergedElement], added: Sequence[MergedElement], dialect: Dialect) -> None:
    """Merge the elements of a file into those of the files before it, as the server does."""
    unmatched: dict[tuple[object, ...], list[MergedElement]] = {}
    for each in merged:
        unmatched.setdefault(_identity(each), []).append(each)
    for each in added:
        is_removal = _REMOVE in each.attributes
        candidates = unmatched.get(_identity(each))
        if not candidates:
            merged += [] if is_removal else [_pasted(each, dialect)]
            continue
        match = candidates.pop(0)
        at = next(index for index, other in enumerate(merged) if other is match)
        if is_removal:
            del merged[at]
        elif _REPLACE in each.attributes:
            merged[at] = each if dialect.merges_attributes else _without(each, _REPLACE)
        else:
            _merge_into(match, each, dialect)


def _merge_into(match: MergedElement, added: MergedElement, dialect: Dialect) -> None:
    if dialect.merges_attributes:
        if added.has_content:
            match.attributes = {
                name: text for name, text in match.attributes.items() if name not in SUBSTITUTIONS
            }
        match.attributes.update(added.attributes)
    match.text = added.text
    match.has_content = match.has_content or added.has_content
    match.occurrences += added.occurrences
    _merge(match.children, added.children, dialect)


def _pasted(element: MergedElement, dialect: Dialect) -> MergedElement:
    """Return an element without a counterpart in the files before it."""
    if dialect.only_yandex:
        return element
    kept = [child for child in element.children if _REMOVE not in child.attributes]
    children = [_pasted(_without(child, _REPLACE), dialect) for child in kept]
    return replace(element, children=children)


def _without(element: MergedElement, attribute: str) -> MergedElement:
    attributes = {name: text for name, text in element.attributes.items() if name != attribute}
    return replace(element, attributes=attributes)


def _with_substitution(element: MergedElement, substitution: MergedElement) -> MergedElement:
    """Return the element with the substitution merged into it."""
    own = {name: text for name, text in element.attributes.items() if name not in SUBSTITUTIONS}
    text, children = element.text, element.children
    if _REPLACE in own:
        del own[_REPLACE]
        text, children = "", []
    return replace(
        element,
        attributes={**own, **substitution.attributes},
        text=text + substitution.text,
        children=[*children, *substitution.children],
        has_content=True,
    )
