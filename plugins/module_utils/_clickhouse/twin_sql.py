# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SQL conditions on the two tables of a replica."""

from __future__ import annotations

from .._partmove.formats.sql import literal
from .._partmove.twin.move.tables import TwinTable, TwinTables

PROJECTIONS = "allow_experimental_projection_optimization"
"""The setting by which a query may read a projection; later versions know it by this name too."""
OWN_ROWS = f" SETTINGS {PROJECTIONS} = 0"
"""Ends a query that has to read the rows of the parts themselves, and not what a projection has of them."""


def table_condition(table: TwinTable) -> str:
    return f"database = {literal(table.database)} AND table = {literal(table.name)}"


def pair_condition(tables: TwinTables) -> str:
    names = f"({literal(tables.hot.name)}, {literal(tables.cold.name)})"
    return f"database = {literal(tables.hot.database)} AND table IN {names}"
