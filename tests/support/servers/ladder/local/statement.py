# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements as clickhouse-local takes them from a file, and what it writes of those that it refuses."""

from __future__ import annotations

import re
from pathlib import Path

from support.servers.modern.engine import quoted

_GIVES_ROWS = re.compile(r"[\s(]*(SELECT|WITH|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN|CHECK)\b", re.IGNORECASE)
_FORMAT = re.compile(r"\bFORMAT\s+\w+\s*$", re.IGNORECASE)
_EXPLAINS_ALTER = re.compile(r"\s*EXPLAIN\s+AST\s+ALTER\b", re.IGNORECASE)
_OWN_FORMAT = "FORMAT Null"
_TREE_OF_OWN_FORMAT = re.compile(rb',\s*\[" Identifier Null"\]')
_END = re.compile(r"\s*(\bSETTINGS\s+\w+\s*=.*)?$", re.IGNORECASE | re.DOTALL)
_INSERT = re.compile(r"\s*INSERT\b", re.IGNORECASE)

_EXCEPTION = re.compile(r"^Received exception:\n(.*)", re.DOTALL | re.MULTILINE)
_SYNTAX = re.compile(r"^(Syntax error.*)", re.MULTILINE)
_SYNTAX_ERROR = 62


def gives_rows(sql: str) -> bool:
    """Whether the statement has an answer; others end when they are done."""
    return _GIVES_ROWS.match(sql) is not None


def into_file(sql: str, form: str, answer: Path) -> str:
    """The statement with its rows in a file, in the format that it names or in `form`.

    By itself clickhouse-local inside chdb writes rows nowhere.
    """
    text = sql.rstrip().rstrip(";")
    named = _FORMAT.search(text)
    query, form = (text[: named.start()], named[0]) if named else (text, f"FORMAT {form}")
    return f"{query.rstrip()}\nINTO OUTFILE {quoted(str(answer))} {form}"


def explains_alter(sql: str) -> bool:
    """Whether an ALTER in the statement would take INTO OUTFILE, and the first FORMAT, for its own."""
    return _EXPLAINS_ALTER.match(sql) is not None


def explanation_into_file(sql: str, form: str, answer: Path) -> str:
    """Do as `into_file` does for what `explains_alter`. The ALTER gets a FORMAT if it has none."""
    # SETTINGS come last.
    text = sql if _FORMAT.search(sql) else _END.sub(rf" {_OWN_FORMAT} \1", sql, count=1).rstrip()
    return f"{text}\nINTO OUTFILE {quoted(str(answer))} FORMAT {form}"


def without_own_format(sql: str, answer: bytes) -> bytes:
    """The answer in JSONCompact without the FORMAT that `explanation_into_file` added."""
    return answer if _FORMAT.search(sql) else _TREE_OF_OWN_FORMAT.sub(b"", answer)


def on_one_line(sql: str) -> str:
    """An INSERT with its values on one line, where they end for clickhouse-local; others as they are."""
    return sql.replace("\n", " ") if _INSERT.match(sql) else sql


def refusal(written: str) -> str:
    """The text of an error in what the engine wrote during a statement, "" if there is none."""
    if exception := _EXCEPTION.search(written):
        return exception[1].strip()
    if syntax := _SYNTAX.search(written):
        return f"Code: {_SYNTAX_ERROR}. DB::Exception: {syntax[1].strip()} (SYNTAX_ERROR)"
    return ""
