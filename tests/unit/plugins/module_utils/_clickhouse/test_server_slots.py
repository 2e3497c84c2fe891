# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers are measured while they are used, and slots follow their latency."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse import server_slots
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.server_slots import ServerSlots
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinReplica

PATH = "/tables/01/hits"
TARGET = 0.2
"""Seconds that a busy machine does not add by itself for long."""


class Server:
    """Answers after some seconds, or not; copies are further connections to it."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.seconds = 0.0
        self.silent = False
        self.queries = 0

    def __copy__(self) -> Server:
        return self

    def rows(self, sql: str) -> list[list[int]]:
        assert sql == "SELECT 1"
        self.queries += 1
        if self.silent:
            raise PartMoveError(f"{self.label} is down")
        time.sleep(self.seconds)
        return [[1]]


class Clients:
    """The servers of replicas by their names."""

    def __init__(self, *servers: Server) -> None:
        self._servers = {each.label: each for each in servers}

    def of(self, _shard_path: str, replica: str, _host: str) -> Server:
        if replica not in self._servers:
            raise FormatError("no host")
        return self._servers[replica]


class Impatient(Exception):
    """A thread that waits is to end."""


class Clock:
    """Whoever has to wait gives up."""

    def now(self) -> float:
        raise AssertionError

    def sleep(self, _seconds: float) -> None:
        raise Impatient


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_slots, "_SECONDS_BETWEEN", 0.002)


@contextmanager
def opened(*servers: Server) -> Iterator[ServerSlots]:
    slots = ServerSlots(cast("Any", Clients(*servers)), TARGET)
    try:
        yield slots
    finally:
        slots.close()


def most_taken(slots: ServerSlots, *replicas: str) -> int:
    """How many shard paths may work at these servers at the same time, up to 8."""
    named = [TwinReplica(each, "") for each in replicas]
    with ExitStack() as stack:
        for taken in range(8):
            try:
                stack.enter_context(slots.taken(PATH, named, Clock()))
            except Impatient:
                return taken
    return 8


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def test_the_slots_of_a_server_follow_its_latency() -> None:
    server = Server("r1")
    with opened(server) as slots:
        assert most_taken(slots, "r1") == 1
        assert eventually(lambda: most_taken(slots, "r1") == 8)
        server.seconds = 3 * TARGET
        assert eventually(lambda: most_taken(slots, "r1") == 1)
        server.seconds = 0.0
        assert eventually(lambda: most_taken(slots, "r1") == 8)


def test_a_server_that_fails_has_fewer_slots_however_quickly_it_fails() -> None:
    server = Server("r1")
    with opened(server) as slots:
        assert eventually(lambda: most_taken(slots, "r1") == 8)
        server.silent = True
        assert eventually(lambda: most_taken(slots, "r1") == 1)


def test_a_slow_replica_limits_the_shard_path() -> None:
    quick, slow = Server("r1"), Server("r2")
    with opened(quick, slow) as slots:
        assert eventually(lambda: most_taken(slots, "r1", "r2") == 8)
        slow.seconds = 3 * TARGET
        assert eventually(lambda: most_taken(slots, "r1", "r2") == 1)
        assert eventually(lambda: most_taken(slots, "r1") == 8)


def test_a_server_that_does_not_answer_at_first_has_no_limit_and_is_not_asked_again() -> None:
    server = Server("r1")
    server.silent = True
    with opened(server) as slots:
        assert most_taken(slots, "r1", "unknown") == 8
    assert server.queries == 1


def test_a_server_that_is_not_used_is_not_measured() -> None:
    server = Server("r1")
    with opened(server) as slots:
        assert most_taken(slots, "r1") == 1
        # One more measurement sees the slots that were taken before it.
        assert eventually(lambda: not slots._slots.is_used("r1"))
        before = server.queries
        time.sleep(0.1)
        assert server.queries == before


def test_threads_that_come_at_the_same_time_measure_a_server_once() -> None:
    server = Server("r1")
    server.seconds = 0.02
    with opened(server) as slots:
        threads = [threading.Thread(target=most_taken, args=(slots, "r1")) for _each in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(30)
        assert [each.name for each in threading.enumerate() if each.name == "watch-r1"] == ["watch-r1"]
    assert not [each for each in threading.enumerate() if each.name == "watch-r1"]
