# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares and creates twins: the definition of a table as its server writes it, without name and path."""

from __future__ import annotations

import re

from .._partmove.errors import FormatError
from .._partmove.formats.sql import literal
from .._partmove.text import shown

_TEXT = r"'(?:[^'\\]|\\.)*'"
_ENGINE = re.compile(
    rf"(?P<name>Replicated[A-Za-z]*MergeTree)(?P<open>\((?:(?P<path>{_TEXT}), {_TEXT}(?:, )?)?)?(?P<rest>.*)",
    re.DOTALL,
)
_AUXILIARY = re.compile(r"'(?P<name>[^/':]+):/.*'", re.DOTALL)
_REMEDY = "See SHOW CREATE TABLE; use a version of olap.partmove that knows this version of ClickHouse"


def definition_of(engine_full: str, create_table_query: str, table: str) -> str:
    """Return the columns, indices and projections, and the engine with keys, TTL and settings.

    Both texts are as in ``system.tables``; ``table`` is for messages. Raises FormatError for unknown text.

    >>> definition_of(
    ...     "ReplicatedMergeTree('/a', 'r1') ORDER BY d",
    ...     "CREATE TABLE db.t (`d` Date) ENGINE = ReplicatedMergeTree('/a', 'r1') ORDER BY d",
    ...     "db.t",
    ... )
    '(`d` Date) ReplicatedMergeTree() ORDER BY d'
    """
    engine = _parsed(engine_full, table)
    head, separator, comment = create_table_query.rpartition(f" ENGINE = {engine_full}")
    columns = head.find("(")
    if not separator or columns < 0 or comment.strip().startswith("ENGINE"):
        raise FormatError(
            f"The definition of {table} is not understood: {shown(create_table_query)}", remedy=_REMEDY
        )
    arguments = "()" if engine["open"] is None else "("
    return f"{head[columns:]} {engine['name']}{arguments}{engine['rest']}"


def create_statement(
    engine_full: str, create_table_query: str, table: str, twin: str, place: str, replica: str
) -> str:
    """Return the CREATE statement of a twin: the definition of the table, at another place.

    twin: database and name of the twin, quoted for SQL. place: ``ensemble:/path``.

    >>> create_statement(
    ...     "ReplicatedMergeTree('/a', 'r1') ORDER BY d",
    ...     "CREATE TABLE db.t (`d` Date) ENGINE = ReplicatedMergeTree('/a', 'r1') ORDER BY d",
    ...     "db.t", "db.t_cold", "cold:/a_cold", "r1",
    ... )
    "CREATE TABLE db.t_cold (`d` Date) ENGINE = ReplicatedMergeTree('cold:/a_cold', 'r1') ORDER BY d"
    """
    definition_of(engine_full, create_table_query, table)
    engine = _parsed(engine_full, table)
    head = create_table_query.rpartition(f" ENGINE = {engine_full}")[0]
    rest = engine["rest"]
    if engine["open"] is None:
        rest = f"){rest}"
    elif not rest.startswith(")"):
        rest = f", {rest}"
    arguments = f"({literal(place)}, {literal(replica)}"
    return f"CREATE TABLE {twin} {head[head.index('(') :]} ENGINE = {engine['name']}{arguments}{rest}"


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
