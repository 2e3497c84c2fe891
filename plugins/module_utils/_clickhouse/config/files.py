# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files that a configuration of ClickHouse is made of.

A server reads config.xml, merges the files of config.d and conf.d beside it into that, and then puts
what is named by ``incl`` in place, from the file that <include_from> names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

from ..._partmove.errors import FormatError, PartMoveError
from .sections import Document, Meaning, Piece, Said, merged, resolved
from .xml_document import XmlFile
from .xml_scan import Element
from .yaml_document import YamlFile, is_yaml
from .zookeeper_element import SUBSTITUTIONS

DEFAULT_SUBSTITUTIONS_PATH = "/etc/metrika.xml"
ROOTS = ("yandex", "clickhouse")
_OLD_ROOT = ROOTS[0]
_INCLUDE_FROM = "include_from"


class ConfigSource(Protocol):
    """Reads the files that a configuration is made of."""

    main: str
    """Path of config.xml."""

    def drop_ins(self) -> list[str]:
        """Paths of the files that are merged into config.xml, in the order of merging."""

    def read(self, path: str) -> bytes | None:
        """The bytes of the file; None when there is none. Raises PartMoveError."""


class IncludeFrom(NamedTuple):
    """The file that ``incl`` takes its values from.

    path: empty when there is none, or when it is not known.
    problem: why it is not known; empty when it is.
    """

    path: str
    problem: str = ""


class Config:
    """A configuration, read once.

    Raises PartMoveError when a part of it is missing, and FormatError when it is not understood.
    """

    def __init__(self, source: ConfigSource, known: Mapping[str, XmlFile | None] | None = None) -> None:
        """Read the files; those that are ``known`` are not read, and None stands for no file."""
        self._source = source
        self._known = dict(known or {})
        main = self._file(source.main)
        if main is None:
            raise PartMoveError(
                f"{source.main} does not exist", remedy="Give the path of the config.xml of the server"
            )
        self.main = main
        self.drop_ins = [self._merged(path) for path in self._drop_in_paths()]
        self._include_from: IncludeFrom | None = None

    @property
    def merged(self) -> list[Document]:
        """config.xml and what is merged into it."""
        return [self.main, *self.drop_ins]

    def paths(self) -> list[str]:
        """The paths of all files that it is made of, as far as they are known."""
        include_from = self.include_from().path
        return [*(file.path for file in self.merged), *([include_from] if include_from else [])]

    def after(self, edited: Mapping[str, XmlFile | None]) -> Config:
        """The configuration with files that were edited; None stands for a file that is gone."""
        known = {file.path: file for file in self.merged if isinstance(file, XmlFile)}
        return Config(self._source, {**self._known, **known, **edited})

    def sections(self, element: str) -> list[Said]:
        """What the server has below the root as ``element``, or as ``parent/element``; the first one counts.

        Raises FormatError when it is not known what the parent has.
        """
        tag, _slash, name = element.partition("/")
        found = (resolved(said, self.meaning_of) for said in merged(tag, self.merged))
        known = [said for said in found if said is not None]
        if not name:
            return known
        # The server looks for it in the first one alone.
        for said in known[:1]:
            if said.problem:
                raise FormatError(
                    f"What is in <{tag}> is not known: {said.problem}", remedy="Edit it by hand"
                )
        return [child for said in known[:1] for child in said.named(name)]

    def pieces(self, element: str) -> list[Piece]:
        """The same below the roots of the files, as it is written."""
        tag, _slash, name = element.partition("/")
        found = [Piece(file, each) for file in self.merged for each in file.named(tag)]
        if not name:
            return found
        parents = dict.fromkeys(
            each for piece in found for each in (piece, self._meaning_of_incl(piece)) if each
        )
        return [Piece(file, child) for file, parent in parents for child in parent.named(name)]

    def _meaning_of_incl(self, piece: Piece) -> Piece | None:
        """The substitution that an element refers to."""
        name = piece.element.attributes.get("incl", "")
        return self.meaning_of(name).found if name else None

    def include_from(self) -> IncludeFrom:
        """The file that ``incl`` takes its values from."""
        if self._include_from is None:
            self._include_from = self._find_include_from()
        return self._include_from

    def _find_include_from(self) -> IncludeFrom:
        given = merged(_INCLUDE_FROM, self.merged) if self.main.root_tag in ROOTS else []
        if not given:
            return IncludeFrom(DEFAULT_SUBSTITUTIONS_PATH)
        first = given[0]
        attributes = [name for name in SUBSTITUTIONS if name in first.attributes]
        where = f"<{_INCLUDE_FROM}> in {first.pieces[-1]}"
        if attributes:
            return IncludeFrom(
                "", f"{where} has the attribute {attributes[0]}, which only the server can resolve"
            )
        path = first.text.strip()
        if path and not path.startswith("/"):
            return IncludeFrom("", f"{where} depends on the folder that the server is started in")
        if is_yaml(path):
            return IncludeFrom("", f"{where} names a YAML file, which is not looked into")
        return IncludeFrom(path)

    def substitutions(self) -> XmlFile | None:
        """The file that ``incl`` takes its values from, if it is known and exists."""
        path = self.include_from().path
        return self._xml(path) if path else None

    def meaning_of(self, substitution: str) -> Meaning:
        """What the name stands for."""
        problem = self.include_from().problem
        file = self.substitutions()
        if problem or file is None or file.root_tag not in ROOTS:
            return Meaning(None, problem)
        # A path in it, which the server would follow, is nothing that people write.
        if "/" in substitution:
            return Meaning(None, f"The substitution {substitution} is a path, which is not followed here")
        found = file.named(substitution)
        return Meaning(Piece(file, found[0])) if found else Meaning()

    def takes_substitutions(self) -> bool:
        """Whether every version of the server finds a substitution that is written here."""
        file = self.substitutions()
        roots = {self.main.root_tag, _OLD_ROOT if file is None else file.root_tag}
        return isinstance(self.main, XmlFile) and roots == {_OLD_ROOT} and bool(self.include_from().path)

    def uses_of(self, substitution: str) -> int:
        """How many elements take their value from the substitution."""
        return sum(file.uses_of(substitution) for file in self.merged)

    def _drop_in_paths(self) -> list[str]:
        found = set(self._source.drop_ins())
        folder = PurePosixPath(self._source.main).with_suffix(".d")
        for path, file in self._known.items():
            if file is None:
                found.discard(path)
            elif PurePosixPath(path).parent == folder:
                found.add(path)
        return sorted(found)

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


def only(file: XmlFile, name: str) -> Element | None:
    """The child of the root with the name, if there is one; raises FormatError when there are more."""
    found = file.named(name)
    if len(found) > 1:
        lines = " and ".join(str(file.line_of(each)) for each in found)
        raise FormatError(
            f"{file.path} has <{name}> {len(found)} times, in lines {lines}",
            remedy="Leave the one that counts and run again",
        )
    return found[0] if found else None
