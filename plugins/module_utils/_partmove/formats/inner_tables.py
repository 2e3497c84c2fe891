# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inner tables: the tables that a server creates for a view, which finds them by their names.

A materialized view without ``TO`` keeps its rows in ``.inner_id.<UUID of the view>``, or in ``.inner.<view>``
in a database of the engine Ordinary. Window views and tables of the engine TimeSeries have such tables too.
"""

from __future__ import annotations

import re

from ..errors import PartMoveError

_INNER = re.compile(r"\.(?:tmp\.)?inner(?:_id)?\.")

INNER_REMEDY = (
    "Give the view a replicated table of its own: create it, ATTACH the partitions of the inner table to it,"
    " and create the view again with TO (docs/twin/whole-table.md). Such a table can be moved"
)


class InnerTable(PartMoveError):
    """A table cannot have a twin, because it is the inner table of a view."""

    def __init__(self, server: str, table: str) -> None:
        super().__init__(f"{server}: {inner_reason(table)}", remedy=INNER_REMEDY)


def is_inner(table: str) -> bool:
    """Whether a server gave this name, which is without the database, to an inner table.

    >>> [is_inner(each) for each in (".inner_id.0f7e", ".inner.view", ".tmp.inner_id.0f7e", "inner.hits")]
    [True, True, True, False]
    """
    return _INNER.match(table) is not None


def inner_reason(table: str) -> str:
    """Return why a table with an inner name cannot have a twin; ``table``: with its database, for people."""
    return (
        f"{table} is the inner table of a view, which would not find its rows in the twin, or no table at all"
    )
