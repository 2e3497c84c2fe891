# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Executes CREATE TABLE with the settings that the definition needs.

A server checks a definition by the settings of the user. Older versions, or a user with other settings, may
have created a table that the server now refuses, or that it now would write otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._partmove.formats.sql import is_one_of
from .client import ClickHouseClient, QueryRefused
from .query_size import SIZES, too_small

_NAMES = ("flatten_nested", "data_type_default_nullable", *SIZES)
_READ = f"SELECT name, value FROM system.settings WHERE {is_one_of('name', _NAMES)}"
_PERMISSIVE = (
    "SELECT name FROM system.settings WHERE type = 'Bool' AND value = '0' AND readonly = 0 AND match(name, "
    r"'^(allow_suspicious_\\w+|allow_deprecated_syntax_for_merge_tree|enable_\\w+_(type|codec|index)"
    r"|allow_experimental_\\w*(type|types|index|codecs|statistic|statistics))$')"
)
"""Settings that let a server accept a definition, and change nothing else of a CREATE TABLE."""
_NOT_ALLOWED = frozenset({36, 44, 48, 80, 127, 344, 370, 432, 455, 549})
"""Codes of definitions that the server refuses, as a rule because of a setting."""
_SETTING_FORBIDDEN = frozenset({164, 452})
_NESTED = "Nested("


def create_table(client: ClickHouseClient, statement: str, definition: str) -> None:
    """Execute the statement of a table with this definition. Raises QueryRefused, PartMoveError.

    Settings that allow a definition are only sent after the server has refused it without them: a user may
    be forbidden to change them.
    """
    settings = _needed(client, statement, definition)
    try:
        client.execute(statement, **settings)
    except QueryRefused as error:
        allowed = _permissive(client) if error.code in _NOT_ALLOWED else {}
        if not allowed:
            raise
        try:
            client.execute(statement, **settings, **allowed)
        except QueryRefused as second:
            raise (error if second.code in _SETTING_FORBIDDEN else second) from None


def _needed(client: ClickHouseClient, statement: str, definition: str) -> Mapping[str, int]:
    """Return the settings without which the server cuts the statement, or creates another table."""
    values = {name: int(value) for name, value in client.rows(_READ)}
    found = too_small(values, statement)
    if _NESTED in definition and values.get("flatten_nested"):
        found["flatten_nested"] = 0
    if values.get("data_type_default_nullable"):
        found["data_type_default_nullable"] = 0
    return found


def _permissive(client: ClickHouseClient) -> Mapping[str, int]:
    return {str(name): 1 for (name,) in client.rows(_PERMISSIVE)}
