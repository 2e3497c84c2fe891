# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a configuration while they are edited, one element after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..._partmove.errors import FormatError
from .files import Config
from .sections import Document, Piece
from .xml_document import Splice, XmlFile
from .xml_scan import Element


class FileEdit(NamedTuple):
    """What becomes of a file; None stands for no file."""

    path: str
    before: bytes | None
    after: bytes | None


class Draft:
    """Versions of files; those that were edited first come first."""

    def __init__(self, config: Config) -> None:
        self.before = config
        self._first: dict[str, XmlFile] = {}
        self._now: dict[str, XmlFile | None] = {}
        self._removed: set[tuple[str, int]] = set()

    def editable(self, file: Document) -> XmlFile:
        """The present version of the file; raises FormatError for one that is not edited here."""
        if not isinstance(file, XmlFile):
            raise FormatError(
                f"{file.path} is YAML, which is read here and not edited",
                remedy="Edit it by hand, or use the style drop_in for an element that is not there yet",
            )
        return self.now(file)

    def now(self, file: XmlFile) -> XmlFile:
        """The present version of the file."""
        return self._now.get(file.path) or file

    def put(self, file: XmlFile, splices: Sequence[Splice], element: str) -> None:
        """Splice the present version of a file, in children of the root that are called ``element``."""
        after = file.spliced(splices, element)
        if after.data != file.data:
            self._first.setdefault(file.path, file)
            self._now[file.path] = after

    def remove(self, piece: Piece) -> XmlFile:
        """Take an element out of its file, once, and return what the file is then.

        Of elements of one name in a file the last has to go first.
        """
        file, element = self.editable(piece.file), piece.element
        key = (file.path, element.start)
        if key not in self._removed:
            self._removed.add(key)
            self.put(file, file.removal(_same_in(file, piece)), below_root(element).tag)
        return self.now(file)

    def remove_parent(self, piece: Piece, mark: bytes) -> XmlFile:
        """Take out what the element was in, where that has the mark and no other element; as `remove`."""
        file, parent = self.editable(piece.file), piece.element.parent
        if parent is not None and parent.parent is not None:
            left = _same_in(file, Piece(piece.file, parent))
            if not left.children and mark in file.text[left.open_end : left.close_start]:
                self.put(file, file.removal(left), parent.tag)
        return self.now(file)

    def delete(self, file: XmlFile) -> None:
        """Let there be no such file."""
        self._first.setdefault(file.path, file)
        self._now[file.path] = None

    def edits(self) -> tuple[FileEdit, ...]:
        """What becomes of the files."""
        edits = []
        for path, first in self._first.items():
            now = self._now[path]
            before = first.data if first.exists else None
            edits.append(FileEdit(path, before, None if now is None else now.data))
        return tuple(edits)

    def config(self) -> Config:
        """The configuration with the present versions."""
        return self.before.after(self._now)


def below_root(element: Element) -> Element:
    """The child of the root that the element is, or is in."""
    while element.parent is not None and element.parent.parent is not None:
        element = element.parent
    return element


def _same_in(now: XmlFile, piece: Piece) -> Element:
    """The element in another version of its file, where as many of its name come before it."""
    parent = piece.element.parent
    if parent is None or parent.parent is None:
        ours, theirs = piece.file.named(piece.element.tag), now.named(piece.element.tag)
    else:
        ours = parent.named(piece.element.tag)
        theirs = _same_in(now, Piece(piece.file, parent)).named(piece.element.tag)
    return theirs[[each.start for each in ours].index(piece.element.start)]
