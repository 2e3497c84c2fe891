# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Drops parts by name, and waits until every replica has followed.

The statement itself waits for no replica. A server that waits does so for each part before it drops the next
one, so that replicas work one after the other; this way they work at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from .._partmove.errors import PartMoveError, PartTooLarge
from .._partmove.formats.sql import is_one_of
from .._partmove.twin.move.statements import DropParts
from .._partmove.twin.move.tables import TwinTable
from .client import ClickHouseClient, QueryRefused
from .query_errors import TOO_LARGE
from .twin_sql import table_condition
from .waited_replicas import WaitedReplica, waits_for

_NOT_DROPPED = frozenset({232, 384})
"""Codes of a DROP PART without effect: no such active part, or a merge or mutation has the part."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_BETWEEN_LOOKS = 0.05
"""Seconds between two looks at a queue: a server fetches a log entry shortly before its queue shows it."""

_Look = Callable[[WaitedReplica], bool]


def drop_parts(
    client: ClickHouseClient,
    statement: DropParts,
    replicas: Sequence[WaitedReplica],
    *,
    sync_setting: str,
    lifted: Mapping[str, int],
    timeout: float,
) -> bool:
    """Execute the statement, and wait until every replica has executed what the server accepted.

    client: the server of the statement. replicas: every replica of the table, also the one on this server.
    sync_setting: the name of the setting for how many replicas a statement waits for.
    lifted: the settings with which the server drops a part of any size.
    timeout: seconds to wait for all replicas after the statement.

    Returns whether all parts are dropped; False if the server refused to drop a part, after which the
    parts before it are dropped. Raises PartTooLarge if it refused that because of the size of the part,
    StatementWaits if a replica does not follow in time, and PartMoveError if the outcome is unknown.
    """
    table, parts = statement.tables.on(statement.side), statement.parts
    refused: QueryRefused | None = None
    try:
        client.execute(statement.sql, **{sync_setting: 0, **lifted})
    except QueryRefused as error:
        if error.code not in _NOT_DROPPED and error.code != TOO_LARGE:
            raise
        refused, newest = error, _number(client, table, "log_max_index")
        late = _wait(replicas, lambda each: _has_executed(each, parts, newest), timeout)
    else:
        late = _wait(replicas, lambda each: _has_dropped(each, parts), timeout)
    if late:
        raise waits_for(client, table, late)
    if refused is not None and refused.code == TOO_LARGE:
        raise PartTooLarge(refused.message, remedy=refused.remedy)
    return refused is None


def _wait(replicas: Sequence[WaitedReplica], look: _Look, timeout: float) -> list[WaitedReplica]:
    """Wait until the look is true for every replica; return those for which it is not by then.

    A replica that does not answer is asked again.
    """
    until = time.monotonic() + timeout
    waited, pause = list(replicas), _FIRST_PAUSE
    while waited := [each for each in waited if not _answers(look, each)]:
        if time.monotonic() >= until:
            break
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    return waited


def _answers(look: _Look, replica: WaitedReplica) -> bool:
    try:
        return look(replica)
    except PartMoveError:
        # The server may be restarting. Whether it has followed is not known, so it is waited for.
        return False


def _has_dropped(replica: WaitedReplica, parts: Sequence[str]) -> bool:
    """Whether the replica has none of the parts, and not because its table is detached or still loading."""
    rows = replica.client.rows(
        f"SELECT toString(count()) FROM system.parts WHERE active AND {table_condition(replica.table)}"
        f" AND {is_one_of('name', parts)}"
    )
    return int(rows[0][0]) == 0 and _number(replica.client, replica.table, "is_readonly") == 0


def _has_executed(replica: WaitedReplica, parts: Sequence[str], newest: int) -> bool:
    """Whether the replica has executed all entries about the parts up to the newest one."""
    if _number(replica.client, replica.table, "log_pointer") <= newest or _are_queued(replica, parts):
        return False
    time.sleep(_BETWEEN_LOOKS)
    return not _are_queued(replica, parts)


def _number(client: ClickHouseClient, table: TwinTable, column: str) -> int:
    rows = client.rows(f"SELECT toString({column}) FROM system.replicas WHERE {table_condition(table)}")
    if len(rows) != 1:
        raise PartMoveError(
            f"{client.label} does not have the table {table} attached", remedy="ATTACH TABLE, and run again"
        )
    return int(rows[0][0])


def _are_queued(replica: WaitedReplica, parts: Sequence[str]) -> bool:
    rows = replica.client.rows(
        "SELECT toString(count()) FROM system.replication_queue"
        f" WHERE {table_condition(replica.table)}"
        f" AND {is_one_of('new_part_name', parts)}"
    )
    return int(rows[0][0]) > 0
