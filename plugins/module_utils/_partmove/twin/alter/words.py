# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Splits the text of a statement into words, so that nothing inside of a literal or a name counts.

The server parses each statement (`AlterServers.syntax_tree`). The words here only say what its tree does not
show: whether a column is dropped or cleared, whether a partition is given by its id, and where WHERE begins.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import FormatError
from ...text import shown

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<comment>--|\#[ !]|/\*)"
    r"|(?P<text>'(?:[^'\\]|\\.|'')*')"
    r"|(?P<name>`(?:[^`\\]|\\.|``)*`|\"(?:[^\"\\]|\\.|\"\")*\")"
    r"|(?P<word>\w+)"
    r"|(?P<sign>[^\s\w'`\";])"
    r")",
    re.DOTALL,
)


class Word(NamedTuple):
    """A word of a statement. ``depth``: how many brackets are open. ``begin``: its index in the text."""

    kind: str
    """``word``, ``text``, ``name`` or ``sign``."""
    value: str
    """As written; words in upper case."""
    depth: int
    begin: int


def words_of(text: str) -> tuple[Word, ...]:
    """Return the words of a statement. Raises FormatError for comments, semicolons and open quotes.

    >>> [word.value for word in words_of("update a = 'b c' where (d)")]
    ['UPDATE', 'A', '=', "'b c'", 'WHERE', '(', 'D', ')']
    """
    found: list[Word] = []
    depth, at, end = 0, 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match["comment"] is not None:
            raise FormatError(
                f"The statement has a comment, a semicolon or an open quote at {shown(text[at:].strip())}",
                remedy="Give one statement without comments and without a semicolon",
            )
        kind = str(match.lastgroup)
        value = match[kind]
        depth -= value in (")", "]", "}")
        found.append(Word(kind, value.upper() if kind == "word" else value, depth, match.start(kind)))
        depth += value in ("(", "[", "{")
        at = match.end()
    return tuple(found)
