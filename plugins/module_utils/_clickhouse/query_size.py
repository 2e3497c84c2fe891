# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings with which a server reads a long query.

A query that names every column of a table may be longer than a server reads (``max_query_size``, by default
262,144 bytes), or have more elements (``max_ast_elements``, by default 50,000).
"""

from __future__ import annotations

from collections.abc import Mapping

from .._partmove.formats.sql import is_one_of
from .client import ClickHouseClient

SIZES = ("max_query_size", "max_ast_elements")
"""Settings that limit the length of a query; 0 is no limit."""
_ALWAYS_READ = 20_000
"""The length of a query, in bytes, that is within the usual limits of every version."""


def size_settings(client: ClickHouseClient, query: str) -> Mapping[str, int]:
    """Return the settings that the query needs because of its length; asks the server about long ones only.

    A short query carries no setting: the user may be forbidden to change settings.
    """
    if len(query.encode()) <= _ALWAYS_READ:
        return {}
    rows = client.rows(f"SELECT name, value FROM system.settings WHERE {is_one_of('name', SIZES)}")
    return too_small({name: int(value) for name, value in rows}, query)


def too_small(limits: Mapping[str, int], query: str) -> dict[str, int]:
    """Return the settings of SIZES whose values are too small for the query, with values that are not.

    >>> too_small({"max_query_size": 100, "max_ast_elements": 0}, "x" * 90)
    {'max_query_size': 135}
    """
    # Half as much again for the settings of a statement, and its encoding.
    size = len(query.encode()) * 3 // 2
    return {name: size for name in SIZES if 0 < limits.get(name, 0) < size}
