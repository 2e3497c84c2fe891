# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An XML file, edited by splicing: all bytes outside the edited element stay unchanged.

Expat finds the positions of elements, lxml reads their content. Both parsers read each version of the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ..._partmove.errors import FormatError, PartMoveError
from .xml_digest import Digest
from .xml_scan import Element, indent_at, scan, unit_between
from .xml_text import decode

try:
    from lxml import etree
except ImportError as error:
    LXML_IMPORT_ERROR: ImportError | None = error
else:
    LXML_IMPORT_ERROR = None

_DEFAULT_UNIT = b"    "
_SPACE = b" \t\r\n"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_COMMENT_ON_LINE = re.compile(rb"[ \t]*<!--(?:(?!-->)[^\r\n])*-->")
# Marks the end tag of a root that was <yandex/> before an element was added.
_WAS_EMPTY = b" >"
# Only the children of the root are kept in memory. Their descendants are parsed on demand.
_LEVELS = 1


class Splice(NamedTuple):
    """New bytes for the text from ``start`` to ``end``."""

    start: int
    end: int
    put: bytes


class XmlFile:
    """A version of a configuration file; ``exists``: whether the file exists on disk.

    Raises FormatError if the file is not well-formed or declares entities.
    """

    def __init__(self, path: str, data: bytes, *, exists: bool = True) -> None:
        self.path = path
        self.data = data
        self.exists = exists
        self.text, self._encoding = decode(data, path)
        self._scan = scan(self.text, path, _LEVELS)
        self.root = self._scan.root
        if not self._scan.digest.equals(_read_by_lxml(self.text, path)):
            raise FormatError(
                f"{path} is read differently by two XML parsers", remedy="Remove unusual declarations from it"
            )
        found = _LINE_END.search(self.text)
        self.line_end = found[0] if found else b"\n"
        # Names of children are requested often, and a large file has many children.
        self._by_tag: dict[str, list[Element]] = {}

    @property
    def root_tag(self) -> str:
        """The name of the root."""
        return self.root.tag

    def named(self, *tags: str) -> list[Element]:
        """Return the children of the root with one of the tags, complete with their descendants."""
        if not self._by_tag:
            for child in self.root.children:
                self._by_tag.setdefault(child.tag, []).append(child)
        found = [child for tag in tags for child in self._by_tag.get(tag, ())]
        return [self._whole(child) for child in sorted(found, key=_start_of)]

    def uses_of(self, substitution: str) -> int:
        """Count the elements with this substitution."""
        return self._scan.uses[substitution]

    def line_of(self, element: Element) -> int:
        """Return the number of the first line of the element."""
        return 1 + len(_LINE_END.findall(self.text, 0, element.start))

    def _whole(self, child: Element) -> Element:
        """Parse a child of the root with its descendants."""
        text = self.text[child.start : child.end]
        whole = scan(text, self.path, fragment=True).root
        for element in (whole, *whole.below()):
            element.start += child.start
            element.open_end += child.start
            element.close_start += child.start
            element.end += child.start
        whole.parent = self.root
        return whole

    def indent_of(self, element: Element) -> bytes | None:
        """Return the white space before the element on its line; None after other text on the line."""
        return indent_at(self.text, element.start)

    def child_indent(self, parent: Element) -> bytes:
        """Return the indentation of the children of the element, also without any child."""
        found = (self.indent_of(child) for child in parent.children)
        first = next((indent for indent in found if indent is not None), None)
        if first is not None:
            return first
        own = self.indent_of(parent)
        return self.unit() if parent is self.root else (own or b"") + self.unit()

    def unit(self, near: Element | None = None) -> bytes:
        """Return the additional indentation of a child, taken from the first element that has its own line.

        The descendants of ``near`` count first.
        """
        for element in near.below() if near is not None else ():
            unit = unit_between(self.text, element.parent or self.root, element)
            if unit:
                return unit
        return self._scan.unit or _DEFAULT_UNIT

    def insertion(
        self, lines: Sequence[bytes], parent: Element, after: Element | None = None
    ) -> list[Splice]:
        """Return splices that add lines to the element, by default at its end. `removal` undoes them."""
        indent = self.child_indent(parent)
        text = b"".join(self.line_end + indent + line for line in lines)
        if after is not None:
            comment = _COMMENT_ON_LINE.match(self.text, after.end)
            at = comment.end() if comment else after.end
            return [Splice(at, at, text)]
        if parent.is_empty_tag:
            return self._into_empty_tag(parent, text)
        content = self.text[parent.open_end : parent.close_start]
        if parent is not self.root and not content:
            text += self.line_end + (self.indent_of(parent) or b"")
        if parent is self.root and not content.strip(_SPACE) and self._was_empty_tag:
            raise FormatError(
                f"{self.path} is empty but for </{parent.tag}{_WAS_EMPTY.decode()}",
                remedy=f"Write </{parent.tag}> without white space in it",
            )
        at = parent.open_end + len(content.rstrip(_SPACE))
        return [Splice(at, at, text)]

    def _into_empty_tag(self, parent: Element, text: bytes) -> list[Splice]:
        end = self.line_end + (self.indent_of(parent) or b"") + b"</" + parent.tag.encode()
        end += _WAS_EMPTY if parent is self.root else b">"
        return [Splice(parent.open_end - len(b"/>"), parent.end, b">" + text + end)]

    def removal(self, element: Element) -> list[Splice]:
        """Return splices that remove the element, and its line if nothing else is there."""
        start = element.start - len(indented) if (indented := self.indent_of(element)) is not None else -1
        if start > 0:
            start -= 2 if self.text[start - 2 : start] == b"\r\n" else 1
        else:
            start = element.start
        root = self.root
        rest = self.text[root.open_end : start] + self.text[element.end : root.close_start]
        if element.parent is root and self._was_empty_tag and rest == self.line_end:
            return [Splice(root.open_end - 1, root.end, b"/>")]
        return [Splice(start, element.end, b"")]

    @property
    def _was_empty_tag(self) -> bool:
        return self.text[self.root.close_start : self.root.end].endswith(_WAS_EMPTY)

    def spliced(self, splices: Sequence[Splice], changing: str) -> XmlFile:
        """Apply splices, all of them in children of the root called ``changing``; return the new version.

        Raises PartMoveError if anything else changed in the file.
        """
        text, at = [], 0
        for start, end, put in sorted(splices, key=lambda splice: splice[:2]):
            text += [self.text[at:start], put]
            at = end
        text.append(self.text[at:])
        after = XmlFile(self.path, self._encoding.encode(b"".join(text)))
        if self._without(changing) != after._without(changing):
            raise PartMoveError(
                f"{self.path} is written in a way that does not allow changing <{changing}> alone",
                remedy=f"Give <{changing}> a line of its own, or edit the file by hand",
            )
        return after

    def _without(self, tag: str) -> tuple[list[bytes], list[bytes]]:
        """Return content and bytes without the root's children with the tag, for comparisons."""
        text = self.text
        others = [child for child in self.root.children if child.tag != tag]
        written = hashlib.sha256()
        for child in others:
            written.update(text[child.start : child.end])
        around = text[: self.root.start], text[self.root.end :]
        return self._scan.digest.without(tag), [*around, written.digest()]


def _start_of(element: Element) -> int:
    return element.start


def _read_by_lxml(text: bytes, path: str) -> Digest:
    """Return the digest of the text by lxml, after expat; builds no tree."""
    digest = Digest()
    parser = etree.XMLParser(
        target=cast(Any, digest),
        encoding="utf-8",
        no_network=True,
        load_dtd=False,
        huge_tree=True,
        strip_cdata=False,
    )
    try:
        etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        raise FormatError(
            f"{path} cannot be read by lxml: {error.msg}",
            remedy="Remove that from it, or edit the file by hand",
        ) from error
    return digest
