# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A configuration as the servers of one dialect read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..._partmove.errors import FormatError
from .dialects import ROOTS, Dialect, are_equal_roots, is_yaml
from .merging import merge_elements, resolve_all
from .sections import INCLUDE, MERGE, Document, MergedElement, Occurrence, SubstitutionValue
from .xml_document import XmlFile
from .zookeeper_element import SUBSTITUTIONS

DEFAULT_SUBSTITUTIONS_PATH = "/etc/metrika.xml"
_INCLUDE_FROM = "include_from"


class IncludeFrom(NamedTuple):
    """The file with the values of ``incl`` attributes.

    path: empty if there is no such file, or if its path is unknown.
    problem: why the path is unknown; else empty.
    """

    path: str
    problem: str = ""


class View:
    """A configuration in a dialect; ``problem``: why no server of the dialect loads it, else empty."""

    def __init__(
        self,
        dialect: Dialect,
        main: Document,
        drop_ins: Sequence[Document],
        read: Callable[[str], XmlFile | None],
    ) -> None:
        """Take config.xml, the files of config.d in their order, and a function that reads other files."""
        self.dialect = dialect
        self.problem = ""
        self._main = main
        self._read = read
        self._files = [main]
        for file in drop_ins:
            if dialect.reads(file.path):
                self._add(file)
        self._include_from: IncludeFrom | None = None

    def _add(self, file: Document) -> None:
        root = self._main.root_tag
        if self.dialect.only_yandex or are_equal_roots(root, file.root_tag):
            self._files.append(file)
        elif root in ROOTS or not self.dialect.skips_other_roots:
            self.problem = (
                f"{file.path} has the root <{file.root_tag}>, with which {self.dialect.versions} do not start"
                f" beside the root <{root}> of {self._main.path}"
            )

    def sections(self, element: str) -> list[MergedElement]:
        """Return the server's ``element`` or ``parent/element`` below the root; the first counts.

        Raises FormatError if the content of the parent is unknown.
        """
        name = element.rpartition("/")[2]
        return [each for each in self.candidates(element) if each.tag == name]

    def unknown(self, element: str) -> list[str]:
        """Return why there may be other elements with the name than `sections` returns."""
        name = element.rpartition("/")[2]
        return [each.problem for each in self.candidates(element) if each.tag != name]

    def candidates(self, element: str) -> list[MergedElement]:
        """Return `sections` in their order, with every <include> that may stand for such an element.

        An <include> with ``merge`` comes first, because it may also change the elements before it.
        """
        tag, _slash, name = element.partition("/")
        found = resolve_all(merge_elements(tag, self._files, self.dialect), self.value_of, self.dialect)
        # An <include> also brings elements with other names.
        found = _in_order([each for each in found if each.tag == tag or _stands_for_others(each)])
        if not name or not found:
            return found
        # The server reads only the first parent.
        parent = found[0]
        if parent.problem:
            raise FormatError(
                f"The content of <{tag}> is unknown: {parent.problem}", remedy="Edit it by hand"
            )
        return _in_order([each for each in parent.children if each.tag == name or _stands_for_others(each)])

    def include_from(self) -> IncludeFrom:
        """Return the file with the values of ``incl`` attributes."""
        if self._include_from is None:
            self._include_from = self._find_include_from()
        return self._include_from

    def _find_include_from(self) -> IncludeFrom:
        if self.dialect.only_yandex and self._main.root_tag != ROOTS[0]:
            return IncludeFrom(DEFAULT_SUBSTITUTIONS_PATH)
        merged = merge_elements(_INCLUDE_FROM, self._files, self.dialect)
        elements = [each for each in merged if each.tag == _INCLUDE_FROM]
        if not elements:
            return IncludeFrom(DEFAULT_SUBSTITUTIONS_PATH)
        problem = _problem_of_path(elements[0])
        if problem:
            return IncludeFrom("", f"<{_INCLUDE_FROM}> in {elements[0].occurrences[-1]} {problem}")
        return IncludeFrom(elements[0].text)

    def substitutions(self) -> XmlFile | None:
        """Return the file with the values of ``incl`` attributes; None if unknown or missing."""
        path = self.include_from().path
        return self._read(path) if path else None

    def value_of(self, substitution: str) -> SubstitutionValue:
        """Return the value of the substitution."""
        problem = self.include_from().problem
        file = self.substitutions()
        if problem or file is None or (self.dialect.only_yandex and file.root_tag != ROOTS[0]):
            return SubstitutionValue(None, problem)
        # A server would follow a path here, but nobody writes one.
        if "/" in substitution:
            return SubstitutionValue(
                None, f"The substitution {substitution} is a path, which is not followed here"
            )
        found = file.named(substitution)
        return SubstitutionValue(Occurrence(file, found[0])) if found else SubstitutionValue()


def _problem_of_path(include_from: MergedElement) -> str:
    """Return why the path in <include_from> is unknown; else empty."""
    attributes = [name for name in SUBSTITUTIONS if name in include_from.attributes]
    path = include_from.text
    if attributes:
        return f"has the attribute {attributes[0]}, which only the server can resolve"
    if path != path.strip():
        return "has white space around the path, with which no server starts"
    if path and not path.startswith("/"):
        return "depends on the folder that the server is started in"
    return "names a YAML file, which this collection does not read" if is_yaml(path) else ""


def _in_order(candidates: list[MergedElement]) -> list[MergedElement]:
    return sorted(candidates, key=lambda each: not (each.tag == INCLUDE and MERGE in each.attributes))


def _stands_for_others(element: MergedElement) -> bool:
    """Whether the element is an <include> with an unknown value."""
    return element.tag == INCLUDE and bool(element.problem)
