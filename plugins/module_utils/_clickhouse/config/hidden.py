# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of an element that a server leaves out of its preprocessed configuration."""

from __future__ import annotations

from typing import NamedTuple

from .files import Config
from .sections import MergedElement
from .xml_scan import is_true

_MARK = "hide_in_preprocessed"
"""An attribute of any element. Servers that know it leave out such an element with all its descendants."""


class HiddenParts(NamedTuple):
    """Parts of an ensemble that the preprocessed configuration does not show.

    members: whether not every member is shown.
    settings: names of settings that are not shown.
    """

    members: bool = False
    settings: frozenset[str] = frozenset()


def hidden_parts(config: Config, element: str) -> HiddenParts:
    """Return the parts of the element ``parent/name`` that are marked as hidden in the configuration."""
    parents = config.sections(element.rpartition("/")[0])[:1]
    sections = config.sections(element)[:1]
    if any(map(_is_hidden, (*parents, *sections))):
        return HiddenParts(members=True)
    marked = [child for section in sections for child in section.children if _contains_hidden(child)]
    return HiddenParts(
        any(child.tag.startswith("node") for child in marked),
        frozenset(child.tag for child in marked if not child.tag.startswith("node")),
    )


def _is_hidden(element: MergedElement) -> bool:
    return is_true(element.attributes.get(_MARK, ""))


def _contains_hidden(element: MergedElement) -> bool:
    return _is_hidden(element) or any(map(_contains_hidden, element.children))
