# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files that a configuration of ClickHouse is made of, and where in them an element is.

A server reads config.xml, merges the files of config.d and conf.d beside it into that, and then puts
what is named by ``incl`` in place, from the file that <include_from> names.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from ..._partmove.errors import FormatError, PartMoveError
from .xml_document import XmlFile
from .xml_scan import Element
from .zookeeper_element import SUBSTITUTIONS, Node, nodes_of

DEFAULT_SUBSTITUTIONS_PATH = "/etc/metrika.xml"
_INCLUDE_FROM = "include_from"


class ConfigSource(Protocol):
    """Reads the files that a configuration is made of."""

    main: str
    """Path of config.xml."""

    def drop_ins(self) -> list[str]:
        """Paths of the files that are merged into config.xml, in the order of merging."""

    def unreadable_drop_ins(self) -> list[str]:
        """Paths of files that other versions of ClickHouse merge and that are not XML."""

    def read(self, path: str) -> bytes | None:
        """The bytes of the file; None when there is none. Raises PartMoveError."""


class Place(NamedTuple):
    """Where an element is: in a file, and when it has ``incl`` what it says under a name in another."""

    file: XmlFile
    element: Element
    substitution: str = ""
    substitutions: XmlFile | None = None
    """The file of substitutions; None where it does not exist."""

    @property
    def meaning(self) -> tuple[XmlFile, Element] | None:
        """The element that holds the nodes, and its file; None where the substitution does not exist."""
        if not self.substitution:
            return self.file, self.element
        if self.substitutions is None:
            return None
        found = only(self.substitutions, self.substitution)
        return None if found is None else (self.substitutions, found)

    def nodes(self) -> list[Node]:
        """The members that it names."""
        if self.meaning is None:
            return []
        file, element = self.meaning
        return [node for _child, node in nodes_of(element, file.path)]


class Config:
    """A configuration, read once.

    Raises PartMoveError when a part of it is missing, and FormatError when it is not understood.
    """

    def __init__(self, source: ConfigSource) -> None:
        self._source = source
        data = source.read(source.main)
        if data is None:
            raise PartMoveError(
                f"{source.main} does not exist", remedy="Give the path of the config.xml of the server"
            )
        self.main = XmlFile(source.main, data)
        self.drop_ins = [XmlFile(path, source.read(path) or b"") for path in source.drop_ins()]

    @property
    def merged(self) -> list[XmlFile]:
        """config.xml and what is merged into it."""
        return [self.main, *self.drop_ins]

    def find(self, tag: str) -> Place | None:
        """The place of an element below the root; raises FormatError when there is more than one."""
        self._check_unreadable(tag)
        found = [(file, each) for file in self.merged for each in file.root.named(tag)]
        if len(found) > 1:
            paths = " and ".join(file.path for file, _each in found)
            raise FormatError(
                f"<{tag}> is there {len(found)} times: in {paths}",
                remedy="Leave the one that counts and run again",
            )
        return self._place(*found[0]) if found else None

    def substitutions_path(self) -> str:
        """The file that ``incl`` takes its values from."""
        given = [(file, each) for file in self.merged for each in file.root.named(_INCLUDE_FROM)]
        if not given:
            return DEFAULT_SUBSTITUTIONS_PATH
        # Of several elements the one counts that is merged last.
        file, element = given[-1]
        path = element.text.strip()
        if not path.startswith("/") or set(element.attributes) & {*SUBSTITUTIONS, "remove"}:
            raise FormatError(
                f"<{_INCLUDE_FROM}> in {file.path} does not name a file with its whole path",
                remedy=f"Write it as <{_INCLUDE_FROM}>{DEFAULT_SUBSTITUTIONS_PATH}</{_INCLUDE_FROM}>",
            )
        if path in {each.path for each in self.merged}:
            raise FormatError(
                f"<{_INCLUDE_FROM}> in {file.path} names a file of the configuration itself",
                remedy="Give substitutions a file of their own",
            )
        return path

    def substitutions(self) -> XmlFile | None:
        """The file that ``incl`` takes its values from, if it exists."""
        path = self.substitutions_path()
        data = self._source.read(path)
        return None if data is None else XmlFile(path, data)

    def uses_of(self, substitution: str) -> int:
        """How many elements take their value from the substitution."""

        def count(element: Element) -> int:
            own = element.attributes.get("incl") == substitution
            return own + sum(count(child) for child in element.children)

        return sum(count(file.root) for file in self.merged)

    def _place(self, file: XmlFile, element: Element) -> Place:
        strange = {"from_zk", "from_env", "replace", "remove"} & set(element.attributes)
        if strange:
            raise FormatError(
                f"<{element.tag}> in {file.path} has the attribute {min(strange)}, which is not managed here",
                remedy="Write the element without it, or edit it by hand",
            )
        if "incl" not in element.attributes:
            return Place(file, element)
        if element.children:
            raise FormatError(
                f"<{element.tag}> in {file.path} has incl and elements of its own as well",
                remedy="Leave one of the two",
            )
        return Place(file, element, element.attributes["incl"], self.substitutions())

    def _check_unreadable(self, tag: str) -> None:
        for path in self._source.unreadable_drop_ins():
            if re.search(rf"(?<![\w-]){tag}(?![\w-])".encode(), self._source.read(path) or b""):
                raise FormatError(
                    f"{path} speaks of {tag} and is not XML, so it is not known what it says",
                    remedy="Write it as XML, or edit it by hand",
                )


def only(file: XmlFile, name: str) -> Element | None:
    """The child of the root with the name, if there is one; raises FormatError when there are more."""
    found = file.root.named(name)
    if len(found) > 1:
        raise FormatError(
            f"{file.path} has <{name}> {len(found)} times", remedy="Leave the one that counts and run again"
        )
    return found[0] if found else None
