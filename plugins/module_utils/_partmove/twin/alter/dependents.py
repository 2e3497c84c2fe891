# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the columns that leave a reading table together with the columns of a statement.

A server refuses to drop a column while another column has an expression (DEFAULT, MATERIALIZED, ALIAS) of it.
Such a dependent column leaves by the same statement, in front of the column: a server checks the commands of
a statement in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from .servers import ReadingTable

_NAME = r"`(?:[^`\\]|\\.|``)*`|\"(?:[^\"\\]|\\.|\"\")*\"|[A-Za-z_]\w*\b(?!\s*\()"
_TOKEN = re.compile(
    rf"'(?:[^'\\]|\\.|'')*'|(?P<name>(?:{_NAME})(?:\s*\.\s*(?:{_NAME}|\d+))*)|\w+", re.ASCII | re.DOTALL
)
_ONE_NAME = re.compile(rf"{_NAME}|\d+", re.ASCII | re.DOTALL)
_ESCAPED = re.compile(r"\\(.)|``|\"\"", re.DOTALL)


def leaving_columns(table: ReadingTable, leaving: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the table that leave with the columns of a statement, dependent ones first.

    A Nested column leaves with each of its columns, which most tables have as ``n.a`` and ``n.b``. A name in
    an expression may be something else than a column, such as the argument of a lambda. So a column too many
    may leave until the reading table is created again, but none too few.
    """
    used = {name: tuple(names_in(text)) for name, text in zip(table.names, table.expressions) if text}
    found: dict[str, None] = {}
    for column in leaving:
        for each in table.names:
            if each == column or each.startswith(f"{column}."):
                _add_with_dependents(each, used, found, set())
    return tuple(found)


def _add_with_dependents(
    column: str, used: Mapping[str, Iterable[str]], found: dict[str, None], begun: set[str]
) -> None:
    begun.add(column)
    for each, names in used.items():
        if each not in begun and each not in found and any(_is_of(name, column) for name in names):
            _add_with_dependents(each, used, found, begun)
    found[column] = None


def _is_of(name: str, column: str) -> bool:
    """Whether a name in an expression may be the column, a part of it, or a Nested column with it."""
    return name == column or name.startswith(f"{column}.") or column.startswith(f"{name}.")


def names_in(expression: str) -> Iterator[str]:
    r"""Yield the names in an expression that may be columns, without quotes; names of functions are none.

    >>> list(names_in("concat(a, n.b, 'c', `d e`, t.1, `f\\`g`)"))
    ['a', 'n.b', 'd e', 't.1', 'f`g']
    """
    for token in _TOKEN.finditer(expression):
        if token["name"]:
            yield ".".join(_unquoted(each[0]) for each in _ONE_NAME.finditer(token["name"]))


def _unquoted(name: str) -> str:
    if name[0] not in '`"':
        return name
    return _ESCAPED.sub(lambda found: found[1] or found[0][0], name[1:-1])
