# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks before and after an edit of a configuration."""

from __future__ import annotations

from ..._partmove.errors import FormatError, SameEnsemble
from .draft import Draft
from .files import Config
from .names import OTHER_ELEMENT, tagged
from .zookeeper_element import ElementContent


def check_disjoint(config: Config, element: str, desired: ElementContent) -> list[str]:
    """Raise SameEnsemble if hot and cold share a member; return why some members could not be compared."""
    other = OTHER_ELEMENT[element.partition("/")[0]]
    sections = config.sections(other)
    addresses = {node.address for section in sections for node in section.nodes()}
    common = {node.address for node in desired.nodes} & addresses
    if common:
        raise SameEnsemble(
            f"{min(common)} is to be in {tagged(element)} and is in <{other}> already",
            remedy="Hot and cold must be two ensembles: name the members of the right one",
        )
    problems = [problem for section in sections for problem in section.problems()]
    return [
        f"Not every member of <{other}> was compared with those of {tagged(element)}: {each}."
        for each in problems
    ]


def check_effective(draft: Draft, element: str, desired: ElementContent) -> None:
    """Raise FormatError for an edit after which a server would not find the desired element."""
    after = draft.config()
    sections = after.sections(element)
    if not (sections and sections[0].has(desired)):
        places = " and ".join(map(str, draft.before.occurrences(element.partition("/")[0])))
        raise FormatError(
            f"The server would not find the desired {tagged(element)}, because of {places}",
            remedy="Remove that and run again",
        )
    if _siblings(after, element) != _siblings(draft.before, element):
        raise FormatError(
            f"{tagged(element)} cannot be changed without changing its siblings",
            remedy="Edit the file by hand",
        )


def _siblings(config: Config, element: str) -> list[tuple[object, ...]]:
    """Return the contents of the siblings of the element, as the server sees them."""
    tag, _slash, name = element.partition("/")
    parents = config.sections(tag)[:1] if name else []
    return [child.content() for parent in parents for child in parent.children if child.tag != name]
