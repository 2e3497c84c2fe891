# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a ClickHouse configuration.

A server reads config.xml, merges the files of config.d and conf.d into it, and then resolves ``incl``
attributes from the file that <include_from> names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Protocol

from ..._partmove.errors import FormatError, PartMoveError
from .dialects import DIALECTS, MERGED_SUFFIXES, ROOTS, Dialect, is_yaml
from .sections import Document, MergedElement, Occurrence, SubstitutionValue
from .view import IncludeFrom, View
from .xml_document import XmlFile
from .xml_scan import Element
from .yaml_document import YamlFile

_OLD_ROOT = ROOTS[0]


class ConfigSource(Protocol):
    """Reads the files of a configuration."""

    main: str
    """Path of config.xml."""

    def drop_ins(self) -> list[str]:
        """Return the paths of the files that are merged into config.xml, in the order of merging."""

    def read(self, path: str) -> bytes | None:
        """Return the content of the file; None if it does not exist. Raises PartMoveError."""


class Config:
    """A configuration, read once.

    Raises PartMoveError for a missing file, and FormatError for a file that cannot be parsed.
    """

    def __init__(self, source: ConfigSource, known: Mapping[str, XmlFile | None] | None = None) -> None:
        """Read the files. ``known``: files that are not read again, by path; None for a missing file."""
        self._source = source
        self._known = dict(known or {})
        main = self._file(source.main)
        if main is None:
            raise PartMoveError(
                f"{source.main} does not exist", remedy="Give the path of the config.xml of the server"
            )
        self.main = main
        self.drop_ins = [self._merged(path) for path in self._drop_in_paths()]
        self._views: tuple[View, ...] | None = None

    @property
    def merged(self) -> list[Document]:
        """config.xml and the files that are merged into it."""
        return [self.main, *self.drop_ins]

    def paths(self) -> list[str]:
        """Return the known paths of all files of the configuration."""
        include_from = self.include_from().path
        return [*(file.path for file in self.merged), *([include_from] if include_from else [])]

    def after(self, edited: Mapping[str, XmlFile | None]) -> Config:
        """Return the configuration with edited files; None stands for a deleted file."""
        known = {file.path: file for file in self.merged if isinstance(file, XmlFile)}
        return Config(self._source, {**self._known, **known, **edited})

    def views(self) -> tuple[View, ...]:
        """Return the configuration as each range of server versions reads it, newest last.

        Versions that do not load it are left out. Raises FormatError if no version loads it.
        """
        if self._views is None:
            views = [
                self.view(dialect)
                for dialect in DIALECTS
                if dialect.may_load(self.main.path, self.main.root_tag)
            ]
            loading = tuple(view for view in views if not view.problem)
            if not loading:
                raise FormatError(views[-1].problem, remedy="Give both files the same root")
            self._views = loading
        return self._views

    def view(self, dialect: Dialect) -> View:
        """Return the configuration as the servers of the dialect read it."""
        return View(dialect, self.main, self.drop_ins, self._xml)

    @property
    def newest(self) -> View:
        """The configuration as the newest servers that load it read it."""
        return self.views()[-1]

    def sections(self, element: str) -> list[MergedElement]:
        """Return the elements of the newest servers, as `View.sections` does."""
        return self.newest.sections(element)

    def occurrences(self, element: str) -> list[Occurrence]:
        """Return all elements called ``element`` or ``parent/element``, as they are written in the files."""
        tag, _slash, name = element.partition("/")
        found = [Occurrence(file, each) for file in self.merged for each in file.named(tag)]
        if not name:
            return found
        parents = dict.fromkeys(
            each for occurrence in found for each in (occurrence, self._value_of_incl(occurrence)) if each
        )
        return [Occurrence(file, child) for file, parent in parents for child in parent.named(name)]

    def _value_of_incl(self, occurrence: Occurrence) -> Occurrence | None:
        """Return the substitution of an element; None without ``incl``."""
        name = occurrence.element.attributes.get("incl", "")
        return self.value_of(name).found if name else None

    def include_from(self) -> IncludeFrom:
        """Return the file with the values of ``incl`` attributes."""
        return self.newest.include_from()

    def substitutions(self) -> XmlFile | None:
        """Return the file with the values of ``incl`` attributes; None if unknown or missing."""
        return self.newest.substitutions()

    def value_of(self, substitution: str) -> SubstitutionValue:
        """Return the value of the substitution."""
        return self.newest.value_of(substitution)

    def supports_substitutions(self) -> bool:
        """Whether every server version would find a substitution written by this collection."""
        file = self.substitutions()
        roots = {self.main.root_tag, _OLD_ROOT if file is None else file.root_tag}
        return isinstance(self.main, XmlFile) and roots == {_OLD_ROOT} and bool(self.include_from().path)

    def uses_of(self, substitution: str) -> int:
        """Count the elements with this substitution."""
        return sum(file.uses_of(substitution) for file in self.merged)

    def _drop_in_paths(self) -> list[str]:
        found = set(self._source.drop_ins())
        folder = PurePosixPath(self._source.main).with_suffix(".d")
        for path, file in self._known.items():
            if file is None:
                found.discard(path)
            elif PurePosixPath(path).parent == folder and path.lower().endswith(MERGED_SUFFIXES):
                found.add(path)
        return sorted(found, key=os.fsencode)

    def _merged(self, path: str) -> Document:
        file = self._file(path)
        if file is None:
            raise PartMoveError(f"{path} was there a moment ago and is gone", remedy="Run again")
        return file

    def _file(self, path: str) -> Document | None:
        if path in self._known or not is_yaml(path):
            return self._xml(path)
        data = self._source.read(path)
        return None if data is None else YamlFile(path, data)

    def _xml(self, path: str) -> XmlFile | None:
        if path not in self._known:
            data = self._source.read(path)
            self._known[path] = None if data is None else XmlFile(path, data)
        return self._known[path]


def only_child(file: XmlFile, name: str) -> Element | None:
    """Return the child of the root with the name, or None. Raises FormatError if there are several."""
    found = file.named(name)
    if len(found) > 1:
        lines = " and ".join(str(file.line_of(each)) for each in found)
        raise FormatError(
            f"{file.path} has <{name}> {len(found)} times, in lines {lines}",
            remedy="Keep the one that counts and run again",
        )
    return found[0] if found else None
