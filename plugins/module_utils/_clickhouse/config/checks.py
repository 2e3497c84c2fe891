# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is refused before an edit, and after it."""

from __future__ import annotations

from ..._partmove.errors import FormatError, SameEnsemble
from .draft import Draft
from .files import Config
from .names import OTHER, tagged
from .zookeeper_element import ElementContent


def check_apart(config: Config, element: str, wanted: ElementContent) -> list[str]:
    """Refuse members that the other ensemble has as well; return why that could not be told altogether."""
    other = OTHER[element.partition("/")[0]]
    sections = config.sections(other)
    addresses = {node.address for section in sections for node in section.nodes()}
    common = {node.address for node in wanted.nodes} & addresses
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


def check_found(draft: Draft, element: str, wanted: ElementContent) -> None:
    """Refuse an edit after which a server would not find what is wanted."""
    now = draft.config()
    sections = now.sections(element)
    if not (sections and sections[0].says(wanted)):
        places = " and ".join(map(str, draft.before.pieces(element.partition("/")[0])))
        raise FormatError(
            f"The server would not find in {tagged(element)} what is wanted, because of what is in {places}",
            remedy="Take that out and run again",
        )
    if _beside(now, element) != _beside(draft.before, element):
        raise FormatError(
            f"{tagged(element)} cannot be changed without changing what is beside it",
            remedy="Edit the file by hand",
        )


def _beside(config: Config, element: str) -> list[tuple[object, ...]]:
    """What the server has in the same parent."""
    tag, _slash, name = element.partition("/")
    parents = config.sections(tag)[:1] if name else []
    return [child.content() for parent in parents for child in parent.children if child.tag != name]
