# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""DROP PART is done when every replica has followed, whatever the server of the statement says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse import dropped_parts
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.dropped_parts import drop_parts
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.waited_replicas import (
    StatementWaits,
    WaitedReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    PartTooLarge,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import DropParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTable,
    TwinTables,
)

TABLES = TwinTables(
    TwinReplica("r1", ""),
    "ch1",
    TwinTable("db", "hits", "default", "/t", "r1", "", (), 2, 2),
    TwinTable("db", "hits_cold", "cold", "/t_cold", "r1", "", (), 2, 2),
)
TIMEOUT = 10.0
STATEMENT = DropParts(TABLES, Side.HOT, ("a_0_0_0", "b_0_0_0"))


class Clock:
    """Time that passes only in sleep."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(dropped_parts, "time", clock)
    return clock


class Server:
    """Has the parts, the queue and the log pointer that functions of the time say."""

    def __init__(
        self,
        label: str,
        clock: Clock,
        *,
        active: Callable[[float], int] = lambda _now: 0,
        queued: Callable[[float], int] = lambda _now: 0,
        pointer: Callable[[float], int] = lambda _now: 8,
        refuses: int = 0,
    ) -> None:
        self.label = label
        self.executed: list[str] = []
        self.readonly = [["0"]]
        """The row of the table; none of a detached table."""
        self._clock, self._refuses = clock, refuses
        self._active, self._queued, self._pointer = active, queued, pointer

    def execute(self, sql: str, **settings: int) -> None:
        assert settings == {"alter_sync": 0, "max_partition_size_to_drop": 0}
        self.executed.append(sql)
        if self._refuses:
            raise QueryRefused(self.label, self._refuses, "no")

    def rows(self, sql: str) -> list[list[str]]:
        assert "database = 'db' AND table = 'hits'" in sql
        now = self._clock.now
        if "queue_size" in sql:
            return [["1", "7", str(self._pointer(now))]]
        if "is_readonly" in sql:
            return self.readonly
        if "system.replicas" in sql:
            return [["7" if "log_max_index" in sql else str(self._pointer(now))]]
        assert "IN ('a_0_0_0', 'b_0_0_0')" in sql
        return [[str(self._active(now) if "system.parts" in sql else self._queued(now))]]


def drop(*servers: Server) -> bool:
    replicas = [WaitedReplica(each.label, cast("Any", each), TABLES.hot) for each in servers]
    return drop_parts(
        cast("Any", servers[0]),
        STATEMENT,
        replicas,
        sync_setting="alter_sync",
        lifted={"max_partition_size_to_drop": 0},
        timeout=TIMEOUT,
    )


@pytest.mark.parametrize("late", [0, 1])
def test_parts_are_dropped_when_no_replica_has_them(clock: Clock, late: int) -> None:
    """The server of the statement may be the last one."""
    servers = [
        Server(f"ch{number}", clock, active=lambda now, late=number == late: int(late and now < 3))  # type: ignore[misc]
        for number in range(2)
    ]
    assert drop(*servers)
    assert clock.now >= 3
    assert [len(each.executed) for each in servers] == [1, 0]


def test_a_replica_that_does_not_follow_is_named(clock: Clock) -> None:
    with pytest.raises(StatementWaits, match=r"waits for replica ch2 \(ch2\), which has to execute"):
        drop(Server("ch1", clock), Server("ch2", clock, active=lambda _now: 1, pointer=lambda _now: 5))
    assert clock.now >= TIMEOUT


@pytest.mark.parametrize("rows", [[], [["1"]]], ids=["detached", "read-only"])
def test_a_table_that_shows_no_parts_for_another_reason_has_dropped_none(
    clock: Clock, rows: list[list[str]]
) -> None:
    late = Server("ch2", clock)
    late.readonly = rows
    with pytest.raises(StatementWaits, match=r"waits for replica ch2 \(ch2\)"):
        drop(Server("ch1", clock), late)


def test_a_replica_that_restarts_is_waited_for(clock: Clock) -> None:
    def active(now: float) -> int:
        if now < 2:
            raise PartMoveError("ch2 cannot be reached", remedy="")
        return 0

    assert drop(Server("ch1", clock), Server("ch2", clock, active=active))
    assert clock.now >= 2


@pytest.mark.parametrize("code", [232, 384])
@pytest.mark.parametrize(
    "late", [{"queued": lambda now: int(now < 3)}, {"pointer": lambda now: 7 if now < 3 else 8}]
)
def test_after_a_refusal_every_replica_executes_what_was_accepted(
    clock: Clock, code: int, late: dict[str, Any]
) -> None:
    """Parts before the refused one are dropped; the parts that stay are no reason to wait."""
    servers = Server("ch1", clock, refuses=code, active=lambda _now: 1), Server("ch2", clock, **late)
    assert not drop(*servers)
    assert clock.now >= 3


def test_a_part_that_is_too_large_is_told_once_every_replica_has_executed_the_rest(clock: Clock) -> None:
    late = Server("ch2", clock, queued=lambda now: int(now < 3))
    with pytest.raises(PartTooLarge, match="with code 359"):
        drop(Server("ch1", clock, refuses=359, active=lambda _now: 1), late)
    assert clock.now >= 3


def test_an_entry_that_the_queue_shows_late_is_waited_for(clock: Clock) -> None:
    """The server has fetched it from the log, and has not added it to its queue yet."""
    queued = Server("ch2", clock, queued=lambda now: int(0.02 < now < 3))
    assert not drop(Server("ch1", clock, refuses=232), queued)
    assert clock.now >= 3


def test_another_error_leaves_the_outcome_unknown(clock: Clock) -> None:
    with pytest.raises(QueryRefused):
        drop(Server("ch1", clock, refuses=999))
    assert clock.now == 0
