# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses the text of ClickHouse's znodes strictly, line by line."""

from __future__ import annotations

import re

from ..errors import FormatError
from ..text import shown

READ_ZNODE = (
    "Read the znode in system.zookeeper: if a ClickHouse newer than this collection knows wrote the znode,"
    " use a newer olap.partmove; if the znode is damaged, repair it first"
)
"""The remedy for unknown text in a znode of the hot ensemble."""
READ_COLD_ZNODE = (
    "Read the znode with zkCli.sh from a member of the cold ensemble, as system.zookeeper shows hot only: if"
    " a ClickHouse newer than this collection knows wrote the znode, use a newer olap.partmove; if the znode"
    " is damaged, part_audit_info reports it, and part_repair with the kind unreadable removes it"
)
"""The remedy for unknown text in a znode of the cold ensemble."""

INT64_MAX = 2**63 - 1

_NUMBER = re.compile(r"-?[1-9][0-9]{0,18}|0")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def unescape(text: str) -> str:
    """Undo the backslash escapes of single-line values of ClickHouse."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


def decoded(data: bytes, where: str) -> str:
    """Decode the data of the znode ``where``. Raises FormatError for data other than UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"{where} is not text: byte {error.start} is not UTF-8"
        raise FormatError(problem, remedy=READ_ZNODE) from error


class ZnodeText:
    """Parses the text of one znode line by line.

    All reading methods raise FormatError for unexpected text. The message names the znode, the line number,
    the expected and the actual text.
    """

    def __init__(self, data: bytes, where: str) -> None:
        """Decode the text. ``where``: the path of the znode. Raises FormatError."""
        self.where = where
        self._text = decoded(data, where)
        self._position = 0
        self._last = 0

    @property
    def at_end(self) -> bool:
        """Whether the whole text has been read."""
        return self._position == len(self._text)

    def refused(self, expected: str) -> FormatError:
        """Return an error about the most recently read line. ``expected``: a description of valid text."""
        number = self._text.count("\n", 0, self._last) + 1
        actual = self._text[self._last :].partition("\n")[0]
        end = "" if actual or self._last < len(self._text) else " (the text ends here)"
        return FormatError(
            f"{self.where}, line {number}: expected {expected}, found {shown(actual)}{end}", remedy=READ_ZNODE
        )

    def line(self, expected: str, *, may_end_text: bool = False) -> str:
        """Read the next line, without its newline. ``may_end_text``: the last line may lack a newline."""
        self._last = self._position
        end = self._text.find("\n", self._position)
        if end < 0:
            if not may_end_text or self.at_end:
                raise self.refused(f"{expected} and a newline")
            end = len(self._text)
        self._position = min(end + 1, len(self._text))
        return self._text[self._last : end]

    def exactly(self, text: str) -> None:
        """Read the next line, which must be this text."""
        if self.line(repr(text)) != text:
            raise self.refused(repr(text))

    def field(self, key: str, *, may_end_text: bool = False) -> str:
        """Read the next line, which must begin with ``key``, and return the rest of the line."""
        line = self.line(repr(key), may_end_text=may_end_text)
        if not line.startswith(key):
            raise self.refused(repr(key))
        return line[len(key) :]

    def optional_field(self, key: str, *, may_end_text: bool = False) -> str | None:
        """Read as `field` does. If the next line has another key, read nothing and return None."""
        if not self._text.startswith(key, self._position):
            return None
        return self.field(key, may_end_text=may_end_text)

    def optional_line(self, text: str) -> bool:
        """Read the next line only if it equals the text, and return whether it does."""
        is_next = self._text.startswith(text + "\n", self._position)
        if is_next:
            self.exactly(text)
        return is_next

    def number(self, text: str) -> int:
        """Parse ``text`` of the most recently read line as a decimal number of at most 64 bits."""
        if _NUMBER.fullmatch(text) is None or not -INT64_MAX <= int(text) <= INT64_MAX:
            raise self.refused("a decimal number")
        return int(text)

    def count(self, text: str) -> int:
        """Parse as `number` does. Raises FormatError for a number below 0, too."""
        number = self.number(text)
        if number < 0:
            raise self.refused("a count")
        return number

    def block(self, size: int, expected: str) -> str:
        """Read ``size`` bytes of text, which may contain newlines, and a final newline."""
        self._last = self._position
        rest = self._text[self._position :].encode()
        if len(rest) <= size or rest[size : size + 1] != b"\n":
            raise self.refused(f"{expected} of {size} bytes and a newline")
        text = decoded(rest[:size], self.where)
        self._position += len(text) + 1
        return text

    def end(self) -> None:
        """Raise FormatError unless the whole text has been read."""
        if not self.at_end:
            self._last = self._position
            raise self.refused("the end of the text")
