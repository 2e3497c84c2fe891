# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A YAML file of a configuration, for newer servers. This collection never edits YAML."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from ..._partmove.errors import FormatError
from .dialects import ROOTS
from .xml_scan import Element

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

# The root that a server gives to every file.
_ROOT = ROOTS[1]
_ATTRIBUTE = "@"
# With aliases, a small file can stand for a very large one.
_MOST_ELEMENTS = 100_000


class YamlFile:
    """A file, as the elements that a server makes of it. The position of an element is its line.

    A file without the requested name is not parsed, because PyYAML may be missing on managed
    hosts.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self._data = data
        self._root: Element | None = None

    @property
    def root_tag(self) -> str:
        """The name of the root."""
        return _ROOT

    def named(self, *tags: str) -> list[Element]:
        """Return the children of the root with one of the tags. Raises FormatError if it cannot be parsed."""
        if not any(map(self._contains, tags)):
            return []
        root = self._parsed()
        for child in root.children:
            if child.tag in ROOTS and any(each.tag in tags for each in child.children):
                raise FormatError(
                    f"{self.path} has the key {child.tag} in line {child.start}, below which a server finds"
                    " nothing: the file itself is the root",
                    remedy=f"Remove the key {child.tag}, and the indentation of the lines below it",
                )
        return [child for child in root.children if child.tag in tags]

    def uses_of(self, substitution: str) -> int:
        """Count the elements with this substitution."""
        if not self._contains(substitution):
            return 0
        return sum(each.attributes.get("incl") == substitution for each in self._parsed().below())

    def line_of(self, element: Element) -> int:
        """Return the number of the first line of the element."""
        return element.start

    def _contains(self, word: str) -> bool:
        """Whether a line that is no comment contains the word."""
        pattern = rf"^(?!\s*#).*(?<![\w-]){re.escape(word)}(?![\w-])"
        return re.search(pattern.encode(), self._data, re.MULTILINE) is not None

    def _parsed(self) -> Element:
        if self._root is None:
            self._root = self._parse()
        return self._root

    def _parse(self) -> Element:
        if yaml is None:
            raise FormatError(
                f"{self.path} is YAML, and {sys.executable} lacks the Python package yaml to read it with",
                remedy="Run `apt-get install python3-yaml` or `pip install PyYAML` on this host",
            )
        try:
            document = yaml.compose(self._data, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, UnicodeError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = f"line {mark.line + 1}: " if mark else ""
            problem = getattr(error, "problem", None) or type(error).__name__
            raise FormatError(
                f"{self.path} is not YAML: {line}{problem}", remedy="Correct it first"
            ) from error
        root = Element(_ROOT, 1, None)
        pending = [(document, root)]
        count = 0
        while pending:
            node, element = pending.pop()
            count += 1
            if count > _MOST_ELEMENTS:
                raise FormatError(
                    f"{self.path} stands for more than {_MOST_ELEMENTS} elements", remedy="Edit it by hand"
                )
            pending += _fill(element, node)
        return root


def _fill(element: Element, node: Any) -> Iterator[tuple[Any, Element]]:
    """Set the text and attributes of the element, and yield its children, still empty, with their nodes."""
    if isinstance(node, yaml.ScalarNode):
        # The server writes an empty value (null) as an empty text.
        element.text = "" if node.tag.endswith(":null") else node.value
    elif isinstance(node, yaml.MappingNode):
        attributes = {}
        for key, value in node.value:
            name = str(key.value)
            if name.startswith(_ATTRIBUTE):
                attributes[name[len(_ATTRIBUTE) :]] = str(value.value)
                continue
            for each in _items(value):
                child = Element(name, key.start_mark.line + 1, element)
                element.children.append(child)
                yield each, child
        element.attributes = attributes


def _items(node: Any) -> list[Any]:
    """Return the items of a sequence, or the node itself: a sequence stands for several elements."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]
