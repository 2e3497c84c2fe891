# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names in queries of rows: a column of the table may have any name.

ClickHouse reads a name in a query as something else than the column of that name in three cases:

- An alias of the same SELECT comes before the column. So each alias is no name of a column: `free_name`.
- ``null``, ``true``, ``inf`` and the like are values. So columns are always in back quotes: `row_of`.
- A column and a virtual column have the same name. The version decides which of them a query reads, so parts
  of such a table cannot be told apart by ``_part``: `in_parts` refuses the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import NotPermitted
from ...formats.sql import is_one_of, quoted
from .tables import TwinTable

_PART = "_part"
VIRTUAL = frozenset(
    {
        _PART,
        "_part_index",
        "_part_offset",
        "_part_uuid",
        "_partition_id",
        "_partition_value",
        "_sample_factor",
    }
)
"""Virtual columns of parts. 22.12 reads some of them in place of a column with the name, or fails. 24.8 and
later versions read the column, also in place of ``_part``."""
NAME_REMEDY = "Rename the column in both tables (ALTER TABLE … RENAME COLUMN), and run again"


def row_of(columns: Iterable[str]) -> str:
    """Return the columns as a list in SQL."""
    return ", ".join(map(quoted, columns))


def free_name(name: str, *tables: TwinTable) -> str:
    """Return the name as an alias, with underscores behind it until no table has a column of that name.

    A column ``n.a`` is a name and could be read as ``a`` of the alias ``n``.
    """
    columns = {each for table in tables for each in table.columns}
    taken = columns | {each.partition(".")[0] for each in columns}
    while name in taken:
        name += "_"
    return name


def name_problem(table: TwinTable) -> str:
    """Return why a query cannot tell the rows of the parts of the table apart; "" if it can."""
    if not table.virtual_names:
        return ""
    names = ", ".join(table.virtual_names)
    return (
        f"{table} has a column with the name of a virtual column of ClickHouse ({names}), so no query can"
        " tell the rows of its parts apart"
    )


def in_parts(table: TwinTable, parts: Sequence[str]) -> str:
    """Return the condition for rows of these parts. Raises NotPermitted if it could mean other rows."""
    problem = name_problem(table)
    if problem:
        raise NotPermitted(problem, remedy=f"{NAME_REMEDY}. A move without checksums needs no query")
    return is_one_of(_PART, parts)
