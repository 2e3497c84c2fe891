# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks before and after an edit of a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from ..._partmove.errors import FormatError, PartMoveError, SameEnsemble
from .draft import Draft, below_root
from .ensembles import cold_ensembles, hot_ensembles
from .files import Config
from .names import (
    AUXILIARY_ELEMENT,
    ENSEMBLE_ELEMENTS,
    HOT_ELEMENT,
    KEEPER_ELEMENT,
    tagged,
)
from .sections import INCLUDE, Occurrence
from .view import View
from .zookeeper_element import ElementContent, Node


def check_disjoint(config: Config, element: str, desired: ElementContent) -> list[str]:
    """Raise SameEnsemble if hot and cold share a member; return why some members could not be compared.

    Of auxiliary ensembles, of which any may be the hot one under another root, only new members of the hot
    ensemble are refused.
    """
    problems: list[str] = []
    for view in config.views():
        hot = hot_ensembles(view)
        present = {address for each in hot for address in _addresses(each.nodes)}
        others = cold_ensembles(view) if element == HOT_ELEMENT else hot
        for other in others:
            exempt = present if other.element.startswith(AUXILIARY_ELEMENT) else set()
            common = _addresses(desired.nodes) & _addresses((*other.nodes, *other.aliases)) - exempt
            if common:
                raise SameEnsemble(
                    f"{min(common)} is to be in {tagged(element)} and is in {other} already",
                    remedy="Hot and cold must be two ensembles: name the members of the right one",
                )
            problems += [
                f"Not every member of {other} was compared with those of {tagged(element)}: {each}."
                for each in other.problems
            ]
    return list(dict.fromkeys(problems))


def check_hot_element(config: Config, element: str, desired: ElementContent) -> None:
    """Raise PartMoveError if <zookeeper> would not be, or would replace, the hot ensemble of the server."""
    if element != HOT_ELEMENT:
        return
    for view in config.views():
        for keeper in view.sections(KEEPER_ELEMENT)[:1]:
            raise PartMoveError(
                f"<{KEEPER_ELEMENT}> in {keeper.origin} has the hot ensemble, and a server that also has"
                f" <{HOT_ELEMENT}> does not start",
                remedy=f"Edit <{KEEPER_ELEMENT}> by hand, or rename it to <{HOT_ELEMENT}> first",
            )
        if not view.sections(HOT_ELEMENT):
            _check_replaces_nothing(view, desired)


def _check_replaces_nothing(view: View, desired: ElementContent) -> None:
    """Raise PartMoveError if a first <zookeeper> would replace an ensemble with other members."""
    for unknown in view.unknown(KEEPER_ELEMENT):
        raise PartMoveError(
            f"Whether the server has another hot ensemble is unknown: {unknown}",
            remedy=f"Write <{HOT_ELEMENT}> by hand if it has none",
        )
    for other in hot_ensembles(view):
        if other.problems or _addresses(other.nodes) != _addresses(desired.nodes):
            raise PartMoveError(
                f"The hot ensemble is {other}, which <{HOT_ELEMENT}> with other members would replace",
                remedy="Name the members of this ensemble, or set use_cluster in it to false first",
            )


def check_editable(config: Config, occurrence: Occurrence) -> None:
    """Raise FormatError for an element that has a source outside of its file, or that others use as well."""
    file, element = occurrence
    unmanaged = {"from_zk", "from_env"} & set(element.attributes)
    if unmanaged:
        raise FormatError(
            f"<{element.tag}> in {occurrence} has the attribute {min(unmanaged)}, which this module does"
            " not manage",
            remedy="Write the element without it, or edit it by hand",
        )
    if any(child.tag == INCLUDE for child in element.children):
        raise FormatError(
            f"<{element.tag}> in {occurrence} has <{INCLUDE}>, which this module does not manage",
            remedy="Write its members into the element, or edit their source by hand",
        )
    name = below_root(element).tag
    if file is config.substitutions() and config.uses_of(name) > 1:
        raise FormatError(
            f"<{element.tag}> in {occurrence} is in the substitution {name}, which is used several times",
            remedy="Edit it by hand",
        )


def check_effective(draft: Draft, element: str, desired: ElementContent) -> None:
    """Raise FormatError for an edit after which a server would not find the desired element."""
    after = draft.config()
    for view in reversed(after.views()):
        found = view.candidates(element)
        if not (found and found[0].has(desired)):
            would_not = f"{_servers(view, after)} would not find the desired {tagged(element)}"
            if found and found[0].tag == INCLUDE:
                # With the lines of the files as they are.
                before = draft.before.view(view.dialect).unknown(element)
                raise FormatError(
                    f"{would_not} if the value has another one: {(before or [found[0].problem])[0]}",
                    remedy=f"Move this <{INCLUDE}> behind all else, or write the element before it by hand",
                )
            raise FormatError(
                f"{would_not}, because of {_places(draft, element)}", remedy="Remove that and run again"
            )
    _check_others(draft.before.views(), after.views(), element)


def check_gone(draft: Draft, element: str) -> list[str]:
    """Raise FormatError if a server would still find the element; return why this is unknown."""
    after = draft.config()
    unknown: list[str] = []
    for view in reversed(after.views()):
        for section in view.sections(element):
            raise FormatError(
                f"{_servers(view, after)} would still find {tagged(element)} in {section.origin}",
                remedy="Remove it by hand",
            )
        unknown += [
            f"Whether {tagged(element)} is gone is unknown: {each}." for each in view.unknown(element)
        ]
    _check_others(draft.before.views(), after.views(), element)
    return list(dict.fromkeys(unknown))


def _check_others(before: Sequence[View], after: Sequence[View], element: str) -> None:
    """Raise FormatError if another ensemble changes, or one beside the element in its parent."""
    for first, second in zip(before, after):
        if _siblings(first, element) != _siblings(second, element):
            raise FormatError(
                f"{tagged(element)} cannot be changed without changing its siblings",
                remedy="Edit the file by hand",
            )
        for other in ENSEMBLE_ELEMENTS:
            if other != element.partition("/")[0] and _contents(first, other) != _contents(second, other):
                raise FormatError(
                    f"{tagged(element)} cannot be changed without changing <{other}>",
                    remedy="Edit the file by hand",
                )


def _siblings(view: View, element: str) -> list[tuple[object, ...]]:
    """Return the contents of the siblings of the element, as the server sees them."""
    tag, _slash, name = element.partition("/")
    parents = view.sections(tag)[:1] if name else []
    return [child.content() for parent in parents for child in parent.children if child.tag != name]


def _contents(view: View, element: str) -> list[tuple[object, ...]]:
    return [each.content() for each in view.sections(element)]


def _addresses(nodes: Sequence[Node]) -> set[str]:
    return {node.address for node in nodes}


def _servers(view: View, config: Config) -> str:
    """Return the servers of a view, as the subject of a sentence."""
    if view.dialect == config.newest.dialect:
        return "The server"
    return f"A server of {view.dialect.versions}"


def _places(draft: Draft, element: str) -> str:
    """Return the places that decide about the element."""
    tag = element.partition("/")[0]
    after = draft.config()
    found = draft.before.occurrences(tag) or after.occurrences(tag)
    included = [section.origin for section in after.newest.sections(tag)]
    return " and ".join(dict.fromkeys(map(str, found or included)))
