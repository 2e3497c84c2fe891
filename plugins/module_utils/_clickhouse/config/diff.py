# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows an edit for people: the changed lines with a few lines around them, with foreign texts hidden.

The name of an element does not say whether its text is a secret. Therefore only texts that this collection
writes are shown, and of everything else only the tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from xml.parsers import expat

from .draft import FileEdit
from .xml_text import decode
from .zookeeper_element import SETTINGS

_LINES_AROUND = 3
_PUBLIC = frozenset({"host", "port", "secure", *SETTINGS}) - {"identity"}
_PUBLIC_ATTRIBUTES = frozenset(
    {b"incl", b"optional", b"index", b"replace", b"remove", b"from_env", b"from_zk"}
)
_OWN_COMMENTS = tuple(
    f"<!-- {what} by olap.partmove.clickhouse_config -->".encode() for what in ("Added", "Made")
)
_WORDS_OF_LINE = re.compile(rb"\S(?:[^\r\n]*\S)?")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_ATTRIBUTE = re.compile(rb"""([^\s=<>"']+)(\s*=\s*)("[^"]*"|'[^']*')""")
_HIDDEN, _CHANGED = b"(hidden)", b"(hidden, changed)"


class MaskedEdit(NamedTuple):
    """Some lines of both versions of a file, as text; empty for a version without a file."""

    header: str
    before: str
    after: str


def mask_edit(edit: FileEdit, element: str, substitution: str) -> MaskedEdit:
    """Return the lines to show. A change of a secret is visible, the secret is not."""
    before, after = (_text_of(edit.path, data) for data in (edit.before, edit.after))
    same_start = _common_prefix(before, after)
    same_end = _common_prefix(before[same_start:][::-1], after[same_start:][::-1])
    begin = _window_start(before, same_start)
    replacements: dict[bytes, bytes] = {}
    versions = []
    for text, name in ((before, _HIDDEN), (after, _CHANGED)):
        end = _window_end(text, len(text) - same_end)
        versions.append(_Masker(text, (begin, end), (element, substitution), (replacements, name)).lines())
    line = 1 + len(_LINE_END.findall(before, 0, begin))
    header = edit.path if line == 1 else f"{edit.path} (from line {line})"
    return MaskedEdit(header, *versions)


class _Masker:
    """An expat handler that collects the lines of one version, with foreign texts hidden."""

    def __init__(
        self,
        text: bytes,
        window: tuple[int, int],
        tags: tuple[str, str],
        names: tuple[dict[bytes, bytes], bytes],
    ) -> None:
        self._text = text
        self._begin, self._end = window
        self._tags = tags
        self._replacements, self._name = names
        self._open: list[str] = []
        self._kind, self._at = "public", 0
        self._parts: list[bytes] = []
        self._parser = parser = expat.ParserCreate("UTF-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end_tag
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        parser.DefaultHandler = self._default

    def lines(self) -> str:
        """Return the lines of the window."""
        if self._text:
            self._parser.Parse(self._text, True)
            self._next("public", len(self._text))
        return b"".join(self._parts).decode()

    def _start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        self._next("tag")
        self._open.append(tag)

    def _end_tag(self, _tag: str) -> None:
        # For <a/> expat calls this at the end of the tag.
        self._next("public")
        self._open.pop()

    def _characters(self, _data: str) -> None:
        opened = self._open
        is_public = len(opened) > 1 and opened[1] in self._tags and opened[-1] in _PUBLIC
        self._next("public" if is_public else "text")

    def _comment(self, _data: str) -> None:
        self._next("comment")

    def _instruction(self, _target: str, _data: str) -> None:
        self._next("text")

    def _default(self, data: str) -> None:
        # All other data: the XML declaration, the document type, and the delimiters of CDATA sections.
        if self._open:
            self._characters(data)
        else:
            self._next("public")

    def _next(self, kind: str, at: int = -1) -> None:
        """End the previous token, because a token of this kind begins here."""
        if kind == self._kind == "text" and at < 0:
            return
        at = self._parser.CurrentByteIndex if at < 0 else at
        begin, end = max(self._at, self._begin), min(at, self._end)
        if begin < end:
            is_whole = (begin, end) == (self._at, at)
            self._parts.append(self._masked(self._text[begin:end], is_whole=is_whole))
        self._kind, self._at = kind, at

    def _masked(self, raw: bytes, *, is_whole: bool) -> bytes:
        if self._kind == "public" or (self._kind == "comment" and raw in _OWN_COMMENTS):
            return raw
        if self._kind == "tag" and is_whole:
            return _ATTRIBUTE.sub(self._attribute, raw)
        if self._kind == "comment" and is_whole:
            return b"<!--" + _WORDS_OF_LINE.sub(self._words, raw[4:-3]) + b"-->"
        return _WORDS_OF_LINE.sub(self._words, raw)

    def _attribute(self, found: re.Match[bytes]) -> bytes:
        name, equals, value = found.groups()
        if name in _PUBLIC_ATTRIBUTES:
            return found[0]
        return name + equals + value[:1] + self._hidden(value[1:-1]) + value[-1:]

    def _words(self, found: re.Match[bytes]) -> bytes:
        return self._hidden(found[0])

    def _hidden(self, secret: bytes) -> bytes:
        return self._replacements.setdefault(secret, self._name)


def _text_of(path: str, data: bytes | None) -> bytes:
    return b"" if data is None else decode(data, path)[0]


def _common_prefix(first: bytes, second: bytes) -> int:
    """Return the number of equal bytes at the beginning of both."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _window_start(text: bytes, at: int) -> int:
    """Return where the line begins that is `_LINES_AROUND` lines before the line with the byte."""
    for _line in range(_LINES_AROUND + 1):
        at = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at))
        if at < 0:
            return 0
        if text[at - 1 : at + 1] == b"\r\n":
            at -= 1
    return at + (2 if text[at : at + 2] == b"\r\n" else 1)


def _window_end(text: bytes, at: int) -> int:
    """Return where the line ends that is `_LINES_AROUND` lines after the line with the byte."""
    # Changed bytes end with a whole line.
    ends = _LINE_END.finditer(text, max(at - 1, 0))
    end = at
    for _line in range(_LINES_AROUND + 1):
        found = next(ends, None)
        if found is None:
            return len(text)
        end = found.end()
    return end
