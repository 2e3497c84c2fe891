# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what may insert on a server: statements, queued asynchronous inserts, and work in the background."""

from __future__ import annotations

from .._partmove.formats.sql import is_one_of
from .._partmove.text import shortened
from .._partmove.twin.move.tables import TwinTables
from .._partmove.twin.table.exchange_record import ServerMoment
from .._partmove.twin.table.older_inserts import InsertsInProgress
from .client import ClickHouseClient
from .system_tables import columns_of
from .twin_sql import begins_with, pair_condition

_INSERT_NOTHING = (
    "Select",
    "Show",
    "Describe",
    "Explain",
    "Exists",
    "Use",
    "Set",
    "Check",
    "KillQuery",
    "Grant",
    "Revoke",
    "Backup",
)
"""Kinds of statements that never insert. Others count whatever their tables: views insert into others."""
_CHANGE_THEIR_TABLE = ("Alter", "Delete", "Update", "Optimize")
"""Kinds of statements that insert into no other table, unless they attach, replace or move a partition."""
_VERBS = ("SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "USE", "SET", "CHECK", "KILL")
"""How statements begin that never insert, for versions without ``query_kind``."""

_BACKGROUND = {
    "BackgroundBufferFlushSchedulePoolTask": "flushes of Buffer tables",
    "BackgroundMessageBrokerSchedulePoolTask": "consumers of message brokers, such as Kafka",
}
_FLUSHES = ("AsynchronousInsertThreadsScheduled", "PendingAsyncInsert")
"""Metrics of asynchronous inserts that are being written; the first one that the version has is exact."""


def read_moment(client: ClickHouseClient) -> ServerMoment:
    """Implement `PairServers.moment`."""
    ((uptime, time),) = client.rows("SELECT toString(uptime()), toString(toUnixTimestamp(now()))")
    return ServerMoment(int(uptime), int(time))


def read_inserts(client: ClickHouseClient, tables: TwinTables, since: ServerMoment) -> InsertsInProgress:
    """Implement `PairServers.inserts_in_progress`.

    The order of the three queries matters: an INSERT goes from the statement into the queue, and from there
    into the background.
    """
    return InsertsInProgress(_statements(client, since), read_queued(client, tables), _in_background(client))


def _statements(client: ClickHouseClient, since: ServerMoment) -> dict[str, str]:
    """Map the ids of statements that may insert and that began before the moment to texts for people.

    ``uptime()`` is cut to seconds, here and in the moment, so statements count that began up to two seconds
    after the moment.
    """
    has_kind = "query_kind" in columns_of(client, "processes")
    rows = client.rows(
        f"SELECT query_id, user, toString(round(elapsed)), query FROM system.processes"
        f" WHERE uptime() - elapsed < {since.uptime + 1} AND NOT ({_inserts_nothing(has_kind)})"
    )
    return {
        name: f"{shortened(query)} ({name} of {user}, for {float(elapsed):.0f} s)"
        for name, user, elapsed, query in rows
    }


def _inserts_nothing(has_kind: bool) -> str:
    if not has_kind:
        return begins_with(*_VERBS)
    own = f"{is_one_of('query_kind', _CHANGE_THEIR_TABLE)} AND NOT match(query, '(?i)\\\\bPART')"
    return f"{is_one_of('query_kind', _INSERT_NOTHING)} OR ({own})"


def read_queued(client: ClickHouseClient, tables: TwinTables) -> dict[str, str]:
    """Map the ids of asynchronous inserts into one of the two tables to texts for people."""
    if not columns_of(client, "asynchronous_inserts"):
        return {}
    rows = client.rows(
        "SELECT arrayJoin(entries.query_id), table FROM system.asynchronous_inserts"
        f" WHERE {pair_condition(tables)}"
    )
    return {name: f"the asynchronous insert {name} into {table} is queued" for name, table in rows}


def _in_background(client: ClickHouseClient) -> dict[str, str]:
    """Map the metrics of work that is going on now to texts for people."""
    metrics = is_one_of("metric", (*_BACKGROUND, *_FLUSHES))
    rows = client.rows(f"SELECT metric, toString(value) FROM system.metrics WHERE {metrics}")
    values = {metric: int(value) for metric, value in rows}
    flushes = next((each for each in _FLUSHES if each in values), "")
    texts = {**_BACKGROUND, flushes: "asynchronous inserts"}
    return {
        metric: f"{text} are being written in the background"
        for metric, text in texts.items()
        if values.get(metric)
    }
