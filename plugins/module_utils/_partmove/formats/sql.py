# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names and values as ClickHouse reads them in SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

SECRET = "[HIDDEN]"
"""The text that servers show in place of a secret."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def literal(text: str) -> str:
    r"""Return the text as a string literal.

    >>> print(literal("it's"))
    'it\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def identifier(name: str) -> str:
    """Return the name of a database, table or column, in back quotes where SQL needs them.

    >>> print(identifier("hits"), identifier("hits-2019"))
    hits `hits-2019`
    """
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)


def quoted(name: str) -> str:
    r"""Return a name in back quotes.

    Columns of tables are written so in queries. Without back quotes, a name such as ``null`` or ``inf`` is a
    value, and not the column.

    >>> print(quoted("null"), quoted("a`b"))
    `null` `a\`b`
    """
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def is_one_of(column: str, values: Sequence[str]) -> str:
    """Return a condition; versions before 26 refuse a list without values.

    >>> print(is_one_of("name", ["a", "b"]), is_one_of("name", []), sep=", ")
    name IN ('a', 'b'), 0
    """
    return f"{column} IN ({', '.join(literal(each) for each in values)})" if values else "0"
