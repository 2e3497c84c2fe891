# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the text that ClickHouse keeps in znodes, strictly and from front to back."""

from __future__ import annotations

import re

from ..errors import FormatError
from ..text import shown

READ_ZNODE = (
    "Look at the znode, which system.zookeeper shows: if it comes from a ClickHouse newer than this"
    " collection knows, use a newer olap.partmove; if it is damaged, repair it first"
)
"""The way out for text in hot that is not understood."""
READ_COLD_ZNODE = (
    "Look at the znode with zkCli.sh against a member of the cold ensemble, as system.zookeeper shows hot"
    " only: if it comes from a ClickHouse newer than this collection knows, use a newer olap.partmove; if it"
    " is damaged, part_audit_info tells so, and part_repair with the kind unreadable removes it"
)
"""The way out for what is not understood in cold."""

INT64_MAX = 2**63 - 1

_NUMBER = re.compile(r"-?[1-9][0-9]{0,18}|0")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def unescape(text: str) -> str:
    """Undo the backslash escapes that ClickHouse writes where a value must stay on one line."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


def decoded(data: bytes, where: str) -> str:
    """The data of the znode ``where`` as text; raises FormatError when it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"{where} is not text: byte {error.start} is not UTF-8"
        raise FormatError(problem, remedy=READ_ZNODE) from error


class ZnodeText:
    """Reads the text of one znode line by line.

    Every method that reads raises FormatError when the text is not as expected; the message names the
    znode, the line, what was expected and what was found.
    """

    def __init__(self, data: bytes, where: str) -> None:
        """``where`` is the path of the znode."""
        self.where = where
        self._text = decoded(data, where)
        self._position = 0
        self._last = 0

    @property
    def at_end(self) -> bool:
        """Whether all of the text has been read."""
        return self._position == len(self._text)

    def refused(self, expected: str) -> FormatError:
        """The error for the line read last, for the caller to raise."""
        number = self._text.count("\n", 0, self._last) + 1
        found = self._text[self._last :].partition("\n")[0]
        end = "" if found or self._last < len(self._text) else " (the text ends here)"
        return FormatError(
            f"{self.where}, line {number}: expected {expected}, found {shown(found)}{end}", remedy=READ_ZNODE
        )

    def line(self, expected: str, *, may_end_text: bool = False) -> str:
        """The next line without its newline, which only the last line may lack, and only if allowed to."""
        self._last = self._position
        end = self._text.find("\n", self._position)
        if end < 0:
            if not may_end_text or self.at_end:
                raise self.refused(f"{expected} and a newline")
            end = len(self._text)
        self._position = min(end + 1, len(self._text))
        return self._text[self._last : end]

    def exactly(self, text: str) -> None:
        """The next line must be this text."""
        if self.line(repr(text)) != text:
            raise self.refused(repr(text))

    def field(self, key: str, *, may_end_text: bool = False) -> str:
        """What follows ``key`` on the next line, which must begin with it."""
        line = self.line(repr(key), may_end_text=may_end_text)
        if not line.startswith(key):
            raise self.refused(repr(key))
        return line[len(key) :]

    def optional_field(self, key: str, *, may_end_text: bool = False) -> str | None:
        """The value that `field` would give; None, and nothing read, when the next line has another key."""
        if not self._text.startswith(key, self._position):
            return None
        return self.field(key, may_end_text=may_end_text)

    def optional_line(self, text: str) -> bool:
        """Read the next line if it is exactly this text, and tell whether it was."""
        found = self._text.startswith(text + "\n", self._position)
        if found:
            self.exactly(text)
        return found

    def number(self, text: str) -> int:
        """``text``, from the line read last, as a decimal number of at most 64 bits."""
        if _NUMBER.fullmatch(text) is None or not -INT64_MAX <= int(text) <= INT64_MAX:
            raise self.refused("a decimal number")
        return int(text)

    def count(self, text: str) -> int:
        """The number that `number` would give; raises FormatError for one below 0."""
        number = self.number(text)
        if number < 0:
            raise self.refused("a count")
        return number

    def block(self, size: int, expected: str) -> str:
        """``size`` bytes of text and the newline after them; newlines inside belong to the text."""
        self._last = self._position
        rest = self._text[self._position :].encode()
        if len(rest) <= size or rest[size : size + 1] != b"\n":
            raise self.refused(f"{expected} of {size} bytes and a newline")
        text = decoded(rest[:size], self.where)
        self._position += len(text) + 1
        return text

    def end(self) -> None:
        """Raise FormatError when there is text left."""
        if not self.at_end:
            self._last = self._position
            raise self.refused("the end of the text")
