# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removes elements from a configuration; elements of this collection leave no trace."""

from __future__ import annotations

from collections.abc import Sequence

from ..._partmove.errors import FormatError
from .draft import Draft
from .sections import Occurrence, SubstitutionValue
from .xml_document import XmlFile

# Every added element contains this comment, so that exactly the added bytes are removed later.
MARK = "<!-- Added by olap.partmove.clickhouse_config -->"
_NEW_FILE = '<?xml version="1.0"?>\n<!-- Made by olap.partmove.clickhouse_config -->\n<{root}>\n</{root}>\n'


def new_file(path: str, root: str) -> XmlFile:
    """Return a new file with an empty root."""
    return XmlFile(path, _NEW_FILE.format(root=root).encode(), exists=False)


def remove_element(draft: Draft, occurrence: Occurrence, occurrences: Sequence[Occurrence]) -> None:
    """Remove an occurrence of an element, and its substitution."""
    config, element = draft.before, occurrence.element
    name = element.attributes.get("incl", "")
    value = config.value_of(name) if name else SubstitutionValue()
    # A reference that somebody wrote before the substitution existed stays as it is.
    stays = (
        bool(name) and not value.problem and "optional" in element.attributes and not _is_added(occurrence)
    )
    if not stays:
        _remove(draft, occurrence)
    if value.found is None:
        return
    own_uses = sum(each.element.attributes.get("incl") == name for each in occurrences)
    is_shared = config.uses_of(name) > own_uses
    if stays and is_shared:
        raise FormatError(
            f"<{element.tag}> in {occurrence} takes its value from {name}, which another element uses as"
            " well",
            remedy="Remove the reference by hand",
        )
    # A substitution that somebody else wrote stays: without the reference it has no effect.
    if not is_shared and not (_is_added(occurrence) and not _is_added(value.found)):
        _remove(draft, value.found)


def remove_leftover(draft: Draft, name: str) -> None:
    """Remove a substitution of this collection that no element uses."""
    file = draft.before.substitutions()
    if file is None or draft.before.uses_of(name):
        return
    marked = [
        occurrence
        for occurrence in (Occurrence(file, each) for each in file.named(name))
        if _is_added(occurrence)
    ]
    if marked:
        _remove(draft, marked[0])


def _remove(draft: Draft, occurrence: Occurrence) -> None:
    """Remove an element from its file; also its parent and the file if they were created for the element."""
    draft.remove(occurrence)
    left = draft.remove_parent(occurrence, MARK.encode())
    if left.data == new_file(left.path, left.root_tag).data:
        draft.delete(left)


def _is_added(occurrence: Occurrence) -> bool:
    """Whether this collection wrote the element, as a reference or as a substitution."""
    file, element = occurrence
    return isinstance(file, XmlFile) and MARK.encode() in file.text[element.start : element.end]
