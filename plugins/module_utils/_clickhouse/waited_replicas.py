# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names the replicas that a statement waits for, after a server did not finish it in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.text import count_of
from .._partmove.twin.move.tables import TwinTable
from .client import ClickHouseClient, QueryRefused
from .query_errors import UNFINISHED, ServerSilent
from .twin_sql import table_condition

_TIMEOUT_EXCEEDED = 159
_REMEDY = (
    "See system.replication_queue of that replica (last_exception, postpone_reason), and SYSTEM START"
    " REPLICATION QUEUES and FETCHES there if they are stopped. Once it has caught up, run again: the run"
    " continues from there"
)


class StatementWaits(PartMoveError):
    """A statement waits for other replicas. It may still take effect."""


class WaitedReplica(NamedTuple):
    """A replica of a table, and the name of the table on its server."""

    name: str
    client: ClickHouseClient
    table: TwinTable


def name_waited(
    error: PartMoveError, client: ClickHouseClient, table: TwinTable, replicas: Sequence[WaitedReplica]
) -> PartMoveError:
    """Return StatementWaits if other replicas are the reason of the error, else the error itself.

    client: the server of the statement. replicas: every replica of the table.
    """
    is_late = isinstance(error, ServerSilent) or (
        isinstance(error, QueryRefused) and error.code in (UNFINISHED, _TIMEOUT_EXCEEDED)
    )
    if not is_late:
        return error
    reasons = list(_late([each for each in replicas if each.client is not client]))
    return _waits_for(client, table, reasons) if reasons else error


def waits_for(
    client: ClickHouseClient, table: TwinTable, replicas: Sequence[WaitedReplica]
) -> StatementWaits:
    """Return the error of a statement of the server that these replicas have not executed."""
    reasons = list(_late(replicas)) or [f"replica {each.name} ({each.client.label})" for each in replicas]
    return _waits_for(client, table, reasons)


def _waits_for(client: ClickHouseClient, table: TwinTable, reasons: Sequence[str]) -> StatementWaits:
    return StatementWaits(
        f"{client.label} did not finish a statement on {table} in time, because it waits for"
        f" {' and '.join(reasons)}",
        remedy=_REMEDY,
    )


def _late(replicas: Sequence[WaitedReplica]) -> Iterator[str]:
    """Yield each replica that has not executed all entries of the log, with the reason."""
    for name, client, table in replicas:
        replica = f"replica {name} ({client.label})"
        try:
            rows = client.rows(
                "SELECT toString(queue_size), toString(log_max_index), toString(log_pointer)"
                f" FROM system.replicas WHERE {table_condition(table)}"
            )
        except PartMoveError:
            yield f"{replica}, which does not answer"
            continue
        if not rows:
            yield f"{replica}, which does not have the table attached"
            continue
        queued, newest, pointer = map(int, rows[0])
        behind = queued + max(newest + 1 - pointer, 0)
        if behind:
            yield f"{replica}, which has to execute {count_of(behind, 'log record')}"
