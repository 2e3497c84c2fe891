# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a configuration during the edits of its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..._partmove.errors import FormatError
from .files import Config
from .sections import Document, Occurrence
from .xml_document import Splice, XmlFile
from .xml_scan import Element


class FileEdit(NamedTuple):
    """The content of a file before and after the edit; None without a file."""

    path: str
    before: bytes | None
    after: bytes | None


class Draft:
    """The edited versions of files, in the order of the first edit."""

    def __init__(self, config: Config) -> None:
        self.before = config
        self._original: dict[str, XmlFile] = {}
        self._current: dict[str, XmlFile | None] = {}
        self._removed: set[tuple[str, int]] = set()

    def editable(self, file: Document) -> XmlFile:
        """Return the current version of the file. Raises FormatError for a file that cannot be edited."""
        if not isinstance(file, XmlFile):
            raise FormatError(
                f"{file.path} is YAML, which is read here and not edited",
                remedy="Edit it by hand, or use the style drop_in for an element that does not exist yet",
            )
        return self.current(file)

    def current(self, file: XmlFile) -> XmlFile:
        """Return the current version of the file."""
        return self._current.get(file.path) or file

    def put(self, file: XmlFile, splices: Sequence[Splice], element: str) -> None:
        """Apply splices to a version of a file; all of them in children of the root called ``element``."""
        after = file.spliced(splices, element)
        if after.data != file.data:
            self._original.setdefault(file.path, file)
            self._current[file.path] = after

    def remove(self, occurrence: Occurrence) -> XmlFile:
        """Remove an element from its file, at most once; return the current version of the file.

        Of several elements with one name in a file, remove the last first.
        """
        file, element = self.editable(occurrence.file), occurrence.element
        key = (file.path, element.start)
        if key not in self._removed:
            self._removed.add(key)
            self.put(file, file.removal(_find_in(file, occurrence)), below_root(element).tag)
        return self.current(file)

    def remove_parent(self, occurrence: Occurrence, mark: bytes) -> XmlFile:
        """Remove the parent of an element if it has the mark and no other element; return as `remove`."""
        file, parent = self.editable(occurrence.file), occurrence.element.parent
        if parent is not None and parent.parent is not None:
            left = _find_in(file, Occurrence(occurrence.file, parent))
            if not left.children and mark in file.text[left.open_end : left.close_start]:
                self.put(file, file.removal(left), parent.tag)
        return self.current(file)

    def delete(self, file: XmlFile) -> None:
        """Delete the file."""
        self._original.setdefault(file.path, file)
        self._current[file.path] = None

    def edits(self) -> tuple[FileEdit, ...]:
        """Return the edits of all files."""
        edits = []
        for path, first in self._original.items():
            now = self._current[path]
            before = first.data if first.exists else None
            edits.append(FileEdit(path, before, None if now is None else now.data))
        return tuple(edits)

    def config(self) -> Config:
        """Return the configuration with the current versions."""
        return self.before.after(self._current)


def below_root(element: Element) -> Element:
    """Return the child of the root that is, or contains, the element."""
    while element.parent is not None and element.parent.parent is not None:
        element = element.parent
    return element


def _find_in(now: XmlFile, occurrence: Occurrence) -> Element:
    """Find the element in another version of its file: the same number of its namesakes comes before it."""
    parent = occurrence.element.parent
    if parent is None or parent.parent is None:
        before, current = occurrence.file.named(occurrence.element.tag), now.named(occurrence.element.tag)
    else:
        before = parent.named(occurrence.element.tag)
        current = _find_in(now, Occurrence(occurrence.file, parent)).named(occurrence.element.tag)
    return current[[each.start for each in before].index(occurrence.element.start)]
