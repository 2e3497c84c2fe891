# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds brackets and separators in SQL that a server wrote, outside of quoted names and literals."""

from __future__ import annotations

import re

_QUOTED = r"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\""
_BEFORE_BRACKET = re.compile(rf"(?:{_QUOTED}|[^('`\"])*", re.DOTALL)
_COMMENT = re.compile(rf"(?P<comment> COMMENT '(?:[^'\\]|\\.)*')|{_QUOTED}", re.DOTALL)


def first_bracket(sql: str) -> int:
    """Return the position of the first opening parenthesis outside of quotes; -1 without any.

    >>> first_bracket("CREATE TABLE `t (1)` (d Date)")
    21
    """
    found = _BEFORE_BRACKET.match(sql)
    position = found.end() if found else 0
    return position if sql[position : position + 1] == "(" else -1


def without_comments(columns: str) -> str:
    """Remove the comments of columns.

    >>> without_comments("(`a` Date COMMENT 'of (a)' CODEC(LZ4), `b` String DEFAULT ' COMMENT x')")
    "(`a` Date CODEC(LZ4), `b` String DEFAULT ' COMMENT x')"
    """
    return _COMMENT.sub(lambda found: "" if found["comment"] else found[0], columns)


def split_outside(sql: str, separator: str) -> list[str]:
    """Split at each separator outside of quotes and brackets.

    >>> split_outside("a = 1, disk = disk(x, y), b = ', '", ", ")
    ['a = 1', 'disk = disk(x, y)', "b = ', '"]
    """
    pieces, depth, begin = [], 0, 0
    for found in re.finditer(rf"{_QUOTED}|[()\[\]{{}}]|{re.escape(separator)}", sql, re.DOTALL):
        token = found[0]
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token == separator and depth == 0:
            pieces.append(sql[begin : found.start()])
            begin = found.end()
    return [*pieces, sql[begin:]]
