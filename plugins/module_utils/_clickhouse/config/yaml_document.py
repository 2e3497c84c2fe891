# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A YAML file of a configuration, which newer servers read; it is looked into, and never edited."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from ..._partmove.errors import FormatError
from .xml_scan import Element

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

# What a server calls the root of a file that has no root, and what it takes for one.
_ROOT = "clickhouse"
_ROOTS = (_ROOT, "yandex")
_ENDINGS = (".yaml", ".yml")
_ATTRIBUTE = "@"
# Aliases let a small file stand for a large one.
_MOST_ELEMENTS = 100_000


def is_yaml(path: str) -> bool:
    """Whether a server takes the file for YAML."""
    return path.endswith(_ENDINGS)


class YamlFile:
    """One file, in the shape of the elements that a server makes of it; their positions are their lines.

    A file that does not speak of what is asked for is not parsed: PyYAML may be missing where modules run.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self._data = data
        self._root: Element | None = None

    @property
    def root_tag(self) -> str:
        """The name of the root."""
        return _ROOT

    def named(self, tag: str) -> list[Element]:
        """The children of the root with that name; raises FormatError when the file is not understood."""
        return self._parsed().named(tag) if self._speaks_of(tag) else []

    def uses_of(self, substitution: str) -> int:
        """How many elements take their value from the substitution."""
        if not self._speaks_of(substitution):
            return 0
        return sum(each.attributes.get("incl") == substitution for each in self._parsed().below())

    def line_of(self, element: Element) -> int:
        """The number of the line that the element begins in."""
        return element.start

    def _speaks_of(self, word: str) -> bool:
        """Whether a line that is not a comment has the word."""
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
        waiting = [(document, root)]
        count = 0
        while waiting:
            node, element = waiting.pop()
            count += 1
            if count > _MOST_ELEMENTS:
                raise FormatError(
                    f"{self.path} stands for more than {_MOST_ELEMENTS} elements", remedy="Edit it by hand"
                )
            waiting += _put_into(element, node)
        # The root may be written, too.
        first = root.children[0] if len(root.children) == 1 else root
        return first if first.tag in _ROOTS and first.children else root


def _put_into(element: Element, node: Any) -> Iterator[tuple[Any, Element]]:
    """Let the element say what the node says, and yield its children, still empty, with their nodes."""
    if isinstance(node, yaml.ScalarNode):
        # An empty value is a null, which a server writes as an empty text.
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
    """A sequence stands for so many elements of one name."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]
