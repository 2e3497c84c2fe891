# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads which columns the tables of the database ``system`` have, which depends on the version."""

from __future__ import annotations

from .._partmove.formats.sql import identifier, literal
from .client import ClickHouseClient, QueryRefused
from .query_errors import UNKNOWN_TABLE


def columns_of(client: ClickHouseClient, table: str) -> frozenset[str]:
    """Return the columns of a table of the database ``system``; empty if the version has no such table.

    ``system.columns`` also shows nothing of a table that the user may not see. Then DESCRIBE raises
    QueryRefused, which names the right: otherwise nobody would notice what is not read.
    """
    found = client.rows(
        f"SELECT name FROM system.columns WHERE database = 'system' AND table = {literal(table)}"
    )
    if not found:
        try:
            found = client.rows(f"DESCRIBE TABLE system.{identifier(table)}")
        except QueryRefused as error:
            if error.code != UNKNOWN_TABLE:
                raise
    return frozenset(str(row[0]) for row in found)
