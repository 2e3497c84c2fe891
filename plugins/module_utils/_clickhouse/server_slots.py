# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures ClickHouse servers while a run uses them, and adapts how much the run does there at the same time.

The timed query reads nothing, over a connection of its own. So its latency is what the server adds to every
query of others: the wait for processors and threads.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .._partmove.errors import PartMoveError
from .._partmove.run.latency_loop import LatencyLoop
from .._partmove.run.slots import SLOTS, Slots
from .._partmove.tree.ports import Clock
from .._partmove.twin.move.tables import TwinReplica
from .client import ClickHouseClient
from .replica_table import ReplicaClients

_QUERY = "SELECT 1"
_FIRST_LATENCIES = 5
_SECONDS_BETWEEN = 0.25
_FAILED_SECONDS = 1.0
"""The least that a query without an answer counts for."""
_CLOSE_SECONDS = 3.0


class ServerSlots:
    """Takes slots at the servers of replicas, and watches each server in a background thread, until closed.

    A server that gives no answer at first is not watched and has no limit: the run itself meets the failure.
    """

    def __init__(self, clients: ReplicaClients, target: float) -> None:
        """Take the clients, and the seconds that the run may add to the latency of each server."""
        self._clients = clients
        self._target = target
        self._slots = Slots()
        self._guard = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._known: dict[str, bool] = {}
        """Server → whether it is watched."""
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()

    @contextmanager
    def taken(self, shard_path: str, replicas: Sequence[TwinReplica], clock: Clock) -> Iterator[None]:
        """Implement `TakeSlots`. The first block for a server measures it before."""
        servers = [each.label for each in self._clients_of(shard_path, replicas) if self._is_watched(each)]
        with self._slots.taken(servers, clock):
            yield

    def close(self) -> None:
        """End the threads."""
        self._ended.set()
        with self._guard:
            threads = [*self._threads]
        for each in threads:
            each.join(_CLOSE_SECONDS)

    def _clients_of(self, shard_path: str, replicas: Sequence[TwinReplica]) -> Iterator[ClickHouseClient]:
        for each in replicas:
            try:
                yield self._clients.of(shard_path, each.name, each.host)
            except PartMoveError:
                continue

    def _is_watched(self, client: ClickHouseClient) -> bool:
        """Return whether the server is watched; begin to watch a new one."""
        with self._guard:
            opening = self._opening.setdefault(client.label, threading.Lock())
        # Threads that come later wait until the server is measured.
        with opening:
            if client.label not in self._known:
                self._known[client.label] = self._watch(client)
            return self._known[client.label]

    def _watch(self, client: ClickHouseClient) -> bool:
        """Measure the server before the run uses it, and from then on; return whether it answers."""
        own = copy.copy(client)
        try:
            first = [_seconds(own) for _each in range(_FIRST_LATENCIES)]
        except PartMoveError:
            return False
        self._slots.follow(own.label, LatencyLoop(first, self._target, SLOTS))
        thread = threading.Thread(target=self._measure, args=(own,), name=f"watch-{own.label}", daemon=True)
        with self._guard:
            self._threads.append(thread)
        thread.start()
        return True

    def _measure(self, client: ClickHouseClient) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN):
            if self._slots.is_used(client.label):
                self._slots.measured(client.label, _latency(client))


def _latency(client: ClickHouseClient) -> float:
    begin = time.monotonic()
    try:
        return _seconds(client)
    except PartMoveError:
        # A refused connection is quick, and nevertheless no sign of a server with little to do.
        return max(_FAILED_SECONDS, time.monotonic() - begin)


def _seconds(client: ClickHouseClient) -> float:
    begin = time.monotonic()
    client.rows(_QUERY)
    return time.monotonic() - begin
