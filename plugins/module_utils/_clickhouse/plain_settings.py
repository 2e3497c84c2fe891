# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings that each query depends on, and the values that it needs.

The profile of a user may have other values: with ``limit = 1`` or ``result_overflow_mode = 'break'`` answers
are short without an error, with ``join_use_nulls = 1`` they have other values, and with
``send_progress_in_http_headers = 1`` those of long queries cannot be read. A client reads these settings once
for each server. Its queries then carry each setting that differs, with the value they need. They carry no
others: a user with ``readonly = 1`` may change no setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .._partmove.formats.sql import is_one_of

_MODES = ("read", "result", "timeout", "set", "join", "distinct", "group_by", "sort", "transfer")
_LEAF_MODES = ("read_overflow_mode_leaf", "timeout_overflow_mode_leaf")
"""What happens at a limit: ``throw`` is an error, and any other value is a short answer without an error."""
_OFF = (
    "limit",
    "offset",
    "aggregate_functions_null_for_empty",
    "allow_experimental_parallel_reading_from_replicas",
    "apply_mutations_on_fly",
    "data_type_default_nullable",
    "empty_result_for_aggregation_by_empty_set",
    "enable_parallel_replicas",
    "extremes",
    "final",
    "force_index_by_date",
    "force_primary_key",
    "group_by_use_nulls",
    "join_use_nulls",
    "output_format_json_array_of_rows",
    "prefer_column_name_to_alias",
    # http.client refuses an answer with more than 100 headers, and a long query has one for each progress.
    "send_progress_in_http_headers",
    "transform_null_in",
    "use_query_cache",
)
PLAIN: Mapping[str, str] = {
    **{f"{each}_overflow_mode": "throw" for each in _MODES},
    **dict.fromkeys(_LEAF_MODES, "throw"),
    **dict.fromkeys(_OFF, "0"),
    "additional_result_filter": "",
    "additional_table_filters": "{}",
    "date_time_output_format": "simple",
    "dialect": "clickhouse",
    "force_data_skipping_indices": "",
    "session_timezone": "",
}
"""Setting → the value that queries need, as the server writes it. No version knows all of them."""

# Every version knows these, so an answer without one of them is not whole.
_ALWAYS_KNOWN = frozenset({"read_overflow_mode", "result_overflow_mode", "timeout_overflow_mode", "extremes"})
# One row, so that no limit shortens it.
SQL = (
    "SELECT groupArray(concat(name, '=', toString(value))) FROM system.settings"
    f" WHERE {is_one_of('name', sorted(PLAIN))}"
)
NO_OFFSET: Mapping[str, str] = {name: PLAIN[name] for name in ("limit", "offset")}
"""The settings for SQL where its answer has no row without them."""
FIRST: Mapping[str, str] = {
    **NO_OFFSET,
    **{
        name: PLAIN[name]
        for name in (
            "additional_result_filter",
            "aggregate_functions_null_for_empty",
            "dialect",
            "use_query_cache",
        )
    },
}
"""The settings for SQL where the server refuses it without them."""

READONLY, CONSTRAINT = 164, 452
"""Codes of a setting that the user may not change; READONLY is also the code of a forbidden statement."""
_CHANGED = re.compile(r"[Ss]etting '?(?P<after>\w+)'?|'(?P<before>\w+)' setting")


def differing(rows: object) -> dict[str, str] | None:
    """Map each setting that queries have to carry to the value that they need.

    rows: the answer to SQL. Returns None if it is not whole.

    Queries always carry the settings of NO_OFFSET that the version knows: a server applies them to the query
    for its settings, and then shows 0 for them.

    >>> known = ["read_overflow_mode=throw", "result_overflow_mode=break", "timeout_overflow_mode=throw"]
    >>> differing([[[*known, "extremes=0"]]])
    {'result_overflow_mode': 'throw'}
    >>> differing([[known]]) is None
    True
    """
    if not (isinstance(rows, list) and len(rows) == 1 and len(rows[0]) == 1):
        return None
    values = dict(str(each).partition("=")[::2] for each in rows[0][0])
    if not values.keys() >= _ALWAYS_KNOWN:
        return None
    return {
        name: PLAIN[name]
        for name, value in sorted(values.items())
        if name in PLAIN and (name in NO_OFFSET or value != PLAIN[name])
    }


def forbidden_setting(code: int, text: str) -> str:
    """Return the name of the setting that the user may not change; "" for any other error.

    >>> forbidden_setting(164, "Cannot modify 'limit' setting in readonly mode")
    'limit'
    >>> forbidden_setting(452, "Setting alter_sync should not be changed")
    'alter_sync'
    >>> forbidden_setting(164, "Cannot execute query in readonly mode")
    ''
    """
    found = _CHANGED.search(text) if code in (READONLY, CONSTRAINT) else None
    return "" if found is None else found["after"] or found["before"]
