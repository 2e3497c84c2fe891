# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares rows of parts: a checksum over all rows, or an error if the user does not see all of them."""

from __future__ import annotations

from collections.abc import Sequence

from .._partmove.errors import NotPermitted
from .._partmove.formats.sql import is_one_of
from .._partmove.twin.move.row_sql import in_parts
from .._partmove.twin.move.tables import TwinTable
from .client import ClickHouseClient
from .permission import permitted
from .query_size import size_settings
from .twin_sql import PROJECTIONS, sum_of_rows, table_condition

_EVERY_ROW = (PROJECTIONS, "apply_deleted_mask")
"""Settings that are 0 for a query over all rows of parts: it reads no projection, and leaves no row out."""


def checksum_of(client: ClickHouseClient, table: TwinTable, parts: Sequence[str]) -> str:
    """Return a checksum of all rows in these active parts, also of rows that a lightweight DELETE has marked.

    Raises NotPermitted if the user does not see all rows, or if no query can tell the rows of the parts
    apart, and PartMoveError if the server fails.
    """
    if not table.columns:
        raise NotPermitted(
            f"{client.label} does not show the user any column of {table}",
            remedy=f"GRANT SELECT ON {table.sql_name} to the user",
        )
    named = is_one_of("name", parts)
    rows = f"SELECT toString(sum(rows)), toString(count()) FROM system.parts WHERE active AND {named}"
    with permitted():
        query = (
            f"SELECT toString(count()), toString({sum_of_rows(table)}) FROM {table.sql_name}"
            f" WHERE {in_parts(table, parts)}{own_rows(client)}"
        )
        ((count, total),) = client.rows(query, **size_settings(client, query))
    # Afterwards: a part that was merged meanwhile has hidden no row.
    ((written, active),) = client.rows(f"{rows} AND {table_condition(table)}")
    if int(active) == len(parts) and int(count) != int(written):
        raise NotPermitted(
            f"{client.label} has {int(written):,} rows in parts of {table}, and the user sees"
            f" {int(count):,} of them",
            remedy="Remove row policies on both tables from the user (SHOW ROW POLICIES), or move without"
            " checksums: hashes of files have no rows left out",
        )
    return f"{count} rows {total}"


def own_rows(client: ClickHouseClient) -> str:
    """Return the settings with which a query reads every row of the parts, as far as the version has them."""
    settings = is_one_of("name", _EVERY_ROW)
    known = client.rows(f"SELECT name FROM system.settings WHERE {settings} ORDER BY name")
    return f" SETTINGS {', '.join(f'{name} = 0' for (name,) in known)}" if known else ""
