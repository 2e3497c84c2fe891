# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SQL conditions on the two tables of a replica."""

from __future__ import annotations

from .._partmove.formats.sql import literal
from .._partmove.twin.move.row_sql import row_of
from .._partmove.twin.move.tables import TwinTable, TwinTables

PROJECTIONS = "allow_experimental_projection_optimization"
"""The setting by which a query may read a projection; later versions know it by this name too."""
OWN_ROWS = f" SETTINGS {PROJECTIONS} = 0"
"""Ends a query that has to read the rows of the parts themselves, and not what a projection has of them."""

_COMMENTS = r"(?:\s|--[^\n]*\n|#[ !][^\n]*\n|/\*.*?\*/)*"


def begins_with(*verbs: str) -> str:
    """Return the condition on ``query`` for statements that begin with one of the verbs.

    Comments in front do not count: clients write them, and so do servers, in front of a statement ON CLUSTER
    and of one in a database of the engine Replicated.
    """
    return f"match(query, {literal(pattern_of(*verbs))})"


def pattern_of(*verbs: str) -> str:
    """Return the regular expression of `begins_with`, for RE2 and for Python."""
    either = "|".join(verbs)
    return rf"(?is)^{_COMMENTS}(?:{either})\s"


def sum_of_rows(table: TwinTable) -> str:
    """Return an aggregate over rows that is equal for equal rows in any order, and never NULL.

    The whole row is serialized first: a hash of a list of values is NULL if one of the values is NULL. In
    RowBinary, NaN, -0.0 and NULL each have their own bytes, as do values of nested types and of aggregate
    states. If the server shows no column, the sum leaves out MATERIALIZED columns.
    """
    return f"sum(cityHash64(formatRow('RowBinary', {row_of(table.columns) or '*'})))"


def table_condition(table: TwinTable) -> str:
    return f"database = {literal(table.database)} AND table = {literal(table.name)}"


def pair_condition(tables: TwinTables) -> str:
    names = f"({literal(tables.hot.name)}, {literal(tables.cold.name)})"
    return f"database = {literal(tables.hot.database)} AND table IN {names}"
