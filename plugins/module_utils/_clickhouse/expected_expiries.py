# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Computes from the rows of the twin when its parts expire by the TTL that the hot table has.

A server notes such a time with a part only when it writes the part by that TTL, and may drop the part then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._partmove.errors import NotPermitted
from .._partmove.formats.sql import is_one_of
from .._partmove.twin.move.row_sql import name_problem
from .._partmove.twin.move.tables import TwinTables
from .client import ClickHouseClient, QueryRefused
from .permission import permitted
from .sql_text import split_outside
from .twin_checksum import own_rows
from .twin_sql import table_condition

_CLAUSES = (" WHERE ", " TO ", " RECOMPRESS ")
"""Clauses of an element of a TTL that deletes only some of the expired rows, or none."""


def ttl_of_rows(definition: str) -> str:
    """Return the expression by which every row of a table expires; "" without one.

    >>> ttl_of_rows("(`d` Date TTL d) ReplicatedMergeTree() TTL d + 1, d + 2 TO DISK 'x' SETTINGS y = 1")
    'd + 1'
    """
    _before, *found = split_outside(definition, " TTL ")
    if not found:
        return ""
    of_rows, *grouped = split_outside(split_outside(found[-1], " SETTINGS ")[0], " GROUP BY ")
    elements = split_outside(of_rows, ", ")
    # GROUP BY belongs to the last element, and what follows it cannot be told apart.
    for element in elements[:-1] if grouped else elements:
        if not any(len(split_outside(element, clause)) > 1 for clause in _CLAUSES):
            return element.removesuffix(" DELETE")
    return ""


def read_expected_expiries(
    client: ClickHouseClient, tables: TwinTables, partition_ids: Sequence[str]
) -> Mapping[str, int]:
    """Implement `AlterServers.expected_expiries`."""
    cold, expression = tables.cold, ttl_of_rows(tables.hot.definition)
    if name_problem(cold) or (partition_ids and not expression):
        return {}
    latest = f"toUnixTimestamp64Milli(toDateTime64(max({expression or 'now()'}), 3))"
    try:
        with permitted():
            rows = client.rows(
                f"SELECT _part, toString(count()), toString(intDiv({latest}, 1000)) FROM {cold.sql_name}"
                f" WHERE {is_one_of('_partition_id', partition_ids)} GROUP BY _part{own_rows(client)}"
            )
    except NotPermitted:
        raise
    except QueryRefused:
        # A time that is not known is left out.
        return {}
    # Afterwards, as in `checksum_of`: a part with rows that the user does not see may expire later.
    written = client.rows(
        f"SELECT name, toString(rows) FROM system.parts WHERE active AND {table_condition(cold)}"
        f" AND {is_one_of('partition_id', partition_ids)}"
    )
    whole = {(str(name), int(count)) for name, count in written}
    return {part: int(time) for part, count, time in rows if (part, int(count)) in whole and int(time) > 0}
