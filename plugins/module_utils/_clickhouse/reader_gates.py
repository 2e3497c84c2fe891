# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whether a row policy on a reading table means on a server what a move needs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import identifier, is_one_of, literal
from .._partmove.twin.move.tables import TwinTables
from .._partmove.twin.readers.statements import ReadingTable
from .client import ClickHouseClient
from .twin_activity import names_table
from .versions import Release, VersionRefused, release_of
from .visible_tables import hidden_from_user

_ANALYZER = ("allow_experimental_analyzer", "enable_analyzer")
"""The setting for the analyzer of queries, by all its names."""
_FIRST_WITH_ANALYZER = Release(24, 3)
"""The first release with the newer analyzer by default; ``compatibility`` may name an earlier one."""
_BACKGROUND = ("Buffer", "Kafka", "RabbitMQ", "NATS", "FileLog", "S3Queue", "AzureQueue", "Redis")
"""Engines that insert in the background, by no query in system.processes."""
_INDIRECT = ("View", "MaterializedView", "Dictionary", "Distributed", "LiveView", "WindowView")
_COMPATIBILITY = "compatibility"
_ON = ("1", "true")
_PROBE = "partmove_probe_"
_PROBING = "partmove probe"
"""The log_comment of queries from which the policy of the probe hides every row."""


def storage_of_policies(client: ClickHouseClient) -> str:
    """Return the name of the storage for policies. Raises PartMoveError if the server has no fit storage."""
    found = client.rows("SELECT name, type FROM system.user_directories ORDER BY precedence")
    for name, kind in found:
        if kind == "replicated":
            raise PartMoveError(
                f"{client.label} has the storage {name} of access rights, which other servers share",
                remedy="Move with readers none: row policies were tried with a local_directory alone",
            )
    for name, kind in found:
        if kind == "local_directory":
            return str(name)
    raise PartMoveError(
        f"{client.label} has no local_directory in user_directories, so that it cannot keep a row policy",
        remedy="Add <local_directory><path>/var/lib/clickhouse/access/</path></local_directory> to"
        " <user_directories> in config.xml, as in the configuration of the packages, and restart the server",
    )


def policy_problem(client: ClickHouseClient, reading: Sequence[ReadingTable]) -> str:
    """Return why a row policy would not hide rows, or would do harm; "" if neither. Only reads."""
    return (
        hidden_from_user(client)
        or _old_analyzer(client)
        or next(filter(None, (_background_readers(client, each) for each in reading)), "")
    )


def probe_policy(client: ClickHouseClient, tables: TwinTables, reading: ReadingTable, storage: str) -> str:
    """Try a policy that hides rows only from queries of the probe; return the problem, or "".

    The policy is for the user of the run alone. Raises QueryRefused if the user may not do what a move needs.
    """
    policy = f"{identifier(_PROBE + tables.shard_path)} ON {reading.sql_name}"
    # The first statement raises if the user may not drop what the next one creates.
    client.execute(f"DROP ROW POLICY IF EXISTS {policy}")
    marked = f"getSetting('log_comment') = {literal(_PROBING)} AND _table != '' AND _partition_id != ''"
    client.execute(
        f"CREATE ROW POLICY IF NOT EXISTS {policy} IN {identifier(storage)} USING 1"
        " AS RESTRICTIVE TO CURRENT_USER"
    )
    try:
        client.execute(f"ALTER ROW POLICY {policy} USING NOT ({marked} AND _part != '')")
        shown = _some_rows(client, reading)
        hidden = _some_rows(client, reading, _PROBING)
    finally:
        client.execute(f"DROP ROW POLICY IF EXISTS {policy}")
    if hidden:
        return f"{client.label}: a row policy on {reading} hides no row"
    if shown:
        return ""
    if not _some_rows(client, reading):
        return f"{client.label}: the user sees no row of {reading}, so the effect of a policy cannot be tried"
    return (
        f"{client.label}: a restrictive row policy on {reading} hides every row from users without a"
        " permissive one (users_without_row_policies_can_read_rows is false)"
    )


def _some_rows(client: ClickHouseClient, reading: ReadingTable, comment: str = "") -> bool:
    ((count,),) = client.rows(
        f"SELECT toString(count()) FROM (SELECT * FROM {reading.sql_name} LIMIT 1)"
        f" SETTINGS log_comment = {literal(comment)}"
    )
    return int(count) > 0


def _old_analyzer(client: ClickHouseClient) -> str:
    """Return a problem if queries may use the old analyzer, with which they fail under such a policy.

    Such a query fails with code 182 (ILLEGAL_PREWHERE), so nobody reads wrong rows. The query of a user who
    switches the analyzer off for this query alone is not foreseen.
    """
    own = client.rows(f"SELECT name, value FROM system.settings WHERE {is_one_of('name', _ANALYZER)}")
    if not any(value in _ON for _name, value in own):
        return f"{client.label} has no analyzer of queries with which such a row policy works, or it is off"
    for where, name, value in client.rows(
        "SELECT coalesce(profile_name, user_name, role_name, ''), setting_name, value"
        " FROM system.settings_profile_elements"
        f" WHERE {is_one_of('setting_name', [*_ANALYZER, _COMPATIBILITY])}"
    ):
        if _switches_off(name, value or ""):
            return (
                f"{client.label}: {where} has {name} = {value}, and its queries of the reading table would"
                " fail (ILLEGAL_PREWHERE) while the row policy exists"
            )
    return ""


def _switches_off(name: str, value: str) -> bool:
    if name != _COMPATIBILITY:
        return value not in _ON
    if not value:
        return False
    with suppress(VersionRefused):
        return release_of(value, "a profile") < _FIRST_WITH_ANALYZER
    return True


def _background_readers(client: ClickHouseClient, reading: ReadingTable) -> str:
    """Return a problem if a background insert may read the table through a materialized view.

    Inserts of these engines are in no list of the server, so that no run can wait for them.
    """
    sources = client.rows(
        f"SELECT database, name, engine FROM system.tables WHERE {is_one_of('engine', _BACKGROUND)}"
        " ORDER BY database, name LIMIT 1"
    )
    if not sources:
        return ""
    indirect = client.rows(
        "SELECT database, name, engine, create_table_query FROM system.tables"
        f" WHERE {is_one_of('engine', _INDIRECT)} ORDER BY database, name"
    )
    known = {(reading.database, reading.name)}
    found = True
    while found:
        more = [
            (database, name, engine)
            for database, name, engine, query in indirect
            if (database, name) not in known and any(names_table(query, *each) for each in known)
        ]
        for database, name, engine in more:
            if engine == "MaterializedView":
                ((source_database, source, kind),) = sources
                return (
                    f"{client.label}: the materialized view {database}.{name} reads {reading}, and the server"
                    f" has {source_database}.{source} of the engine {kind}, whose inserts no run can wait for"
                )
        known.update((database, name) for database, name, _engine in more)
        found = bool(more)
    return ""
