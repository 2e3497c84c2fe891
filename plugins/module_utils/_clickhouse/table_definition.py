# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares and creates twins: the definition of a table as its server writes it, without name and path."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._partmove.errors import FormatError, PartMoveError
from .._partmove.formats.sql import SECRET, literal
from .._partmove.text import shown
from .sql_text import first_bracket, split_outside, without_comments

_TEXT = r"'(?:[^'\\]|\\.)*'"
_ENGINE = re.compile(
    rf"(?P<name>Replicated[A-Za-z]*MergeTree)(?P<open>\((?:(?P<path>{_TEXT}), (?P<replica>{_TEXT})(?:, )?)?)?"
    r"(?P<rest>.*)",
    re.DOTALL,
)
_AUXILIARY = re.compile(r"'(?P<name>[^/':]+):/.*'", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SETTINGS = " SETTINGS "
_REMEDY = "See SHOW CREATE TABLE; use a version of olap.partmove that knows this version of ClickHouse"


class TableTexts(NamedTuple):
    """What ``system.tables`` has of a table.

    sql_name: database and name, quoted for SQL.
    engine, create: the columns engine_full and create_table_query.
    """

    sql_name: str
    engine: str
    create: str


def definition_of(engine_full: str, create_table_query: str, table: str) -> str:
    """Return the columns, indices and projections, and the engine with keys, TTL and settings.

    The settings are sorted, because each ALTER appends the settings that it changes. Comments are left out.
    Both texts are as in ``system.tables``; ``table`` is for messages. Raises FormatError for unknown text.

    >>> definition_of(
    ...     "ReplicatedMergeTree('/a', 'r1') ORDER BY d SETTINGS y = 2, x = 1",
    ...     "CREATE TABLE db.t (`d` Date) ENGINE = ReplicatedMergeTree('/a', 'r1') ORDER BY d"
    ...     " SETTINGS y = 2, x = 1",
    ...     "db.t",
    ... )
    '(`d` Date) ReplicatedMergeTree() ORDER BY d SETTINGS x = 1, y = 2'
    """
    columns = _columns_of(engine_full, create_table_query, table)
    engine = _parsed(_with_sorted_settings(engine_full), table)
    arguments = "()" if engine["open"] is None else "("
    return f"{without_comments(columns)} {engine['name']}{arguments}{engine['rest']}"


def create_statement(hot: TableTexts, twin: str, place: str, replica: str) -> str:
    """Return the CREATE statement of a twin: the definition of the table, at another place.

    twin: database and name of the twin, quoted for SQL. place: ``ensemble:/path``. Both place and replica may
    contain macros. The server copies columns with a secret, which it does not show, from the table. Raises
    PartMoveError if the secret is somewhere else.

    >>> create_statement(
    ...     TableTexts(
    ...         "db.t",
    ...         "ReplicatedMergeTree('/a', 'r1') ORDER BY d",
    ...         "CREATE TABLE db.t (`d` Date) ENGINE = ReplicatedMergeTree('/a', 'r1') ORDER BY d",
    ...     ),
    ...     "db.t_cold", "cold:/a_cold", "r1",
    ... )
    "CREATE TABLE db.t_cold (`d` Date) ENGINE = ReplicatedMergeTree('cold:/a_cold', 'r1') ORDER BY d"
    """
    columns = _columns_of(hot.engine, hot.create, hot.sql_name)
    engine = _parsed(hot.engine, hot.sql_name)
    if SECRET in hot.engine:
        raise PartMoveError(
            f"The keys, TTL or settings of {hot.sql_name} have a secret, which the server shows as {SECRET}",
            remedy=f"Create the twin by hand on every replica: the engine of SHOW CREATE TABLE {hot.sql_name}"
            f" with the secret, and the path {literal(place)}",
        )
    rest = engine["rest"]
    if engine["open"] is None:
        rest = f"){rest}"
    elif not rest.startswith(")"):
        rest = f", {rest}"
    source = f"AS {hot.sql_name}" if SECRET in columns else columns
    arguments = f"({literal(place)}, {literal(replica)}"
    return f"CREATE TABLE {twin} {source} ENGINE = {engine['name']}{arguments}{rest}"


def place_in(engine_full: str, table: str) -> tuple[str, str] | None:
    """Return the path and the replica as written, with macros; None if the engine has none.

    >>> place_in("ReplicatedMergeTree('/a/{shard}', '{replica}') ORDER BY d", "db.t")
    ('/a/{shard}', '{replica}')

    Raises FormatError for unknown text.
    """
    engine = _parsed(engine_full, table)
    if engine["path"] is None:
        return None
    return _unquoted(engine["path"]), _unquoted(engine["replica"])


def ensemble_in(engine_full: str, table: str) -> str:
    """Return the ensemble in the path of the engine; ``default`` if the path has none. Raises FormatError."""
    path = _parsed(engine_full, table)["path"]
    if path is None:
        raise FormatError(f"The engine of {table} has no path: {shown(engine_full)}", remedy=_REMEDY)
    found = _AUXILIARY.fullmatch(path)
    return "default" if found is None else found["name"]


def _parsed(engine_full: str, table: str) -> re.Match[str]:
    found = _ENGINE.fullmatch(engine_full)
    if found is None:
        raise FormatError(f"The engine of {table} is not understood: {shown(engine_full)}", remedy=_REMEDY)
    return found


def _columns_of(engine_full: str, create_table_query: str, table: str) -> str:
    """Return the columns, indices, projections and constraints, in parentheses. Raises FormatError."""
    head, separator, comment = create_table_query.rpartition(f" ENGINE = {engine_full}")
    begin = first_bracket(head)
    if not separator or begin < 0 or comment.strip().startswith("ENGINE"):
        raise FormatError(
            f"The definition of {table} is not understood: {shown(create_table_query)}", remedy=_REMEDY
        )
    return head[begin:]


def _with_sorted_settings(engine_full: str) -> str:
    """Return the engine with sorted settings; unchanged if a setting occurs twice, as the last one counts."""
    *head, text = split_outside(engine_full, _SETTINGS)
    settings = split_outside(text, ", ")
    names = {each.partition(" = ")[0] for each in settings}
    if not head or len(names) < len(settings):
        return engine_full
    return _SETTINGS.join([*head, ", ".join(sorted(settings))])


def _unquoted(text: str) -> str:
    return _ESCAPED.sub(r"\1", text[1:-1])
