# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Limits how many shard paths a run works on at a server at the same time.

A shard path takes a slot at each of its servers before a group of partitions, and gives the slots back after
the group. So the work never waits within a group, while rows may be in both tables.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ..tree.ports import Clock
from .latency_loop import LatencyLoop, Sizes

SLOTS = Sizes(first=1, least=1, most=64)
"""Slots of a server. At least one: a run goes on, however slowly."""

_WAIT_SECONDS = 0.05


class Slots:
    """The slots of servers, for all threads of a run. A server without a control loop has no limit."""

    def __init__(self) -> None:
        self._loops: dict[str, LatencyLoop] = {}
        self._taken: Counter[str] = Counter()
        self._most_taken: Counter[str] = Counter()
        """Server → the most slots taken at the same time since its last measurement."""
        self._waiting: dict[object, frozenset[str]] = {}
        """Who waits, in order, and for which servers."""
        self._guard = threading.Lock()

    def follow(self, server: str, loop: LatencyLoop) -> None:
        """Have as many slots at the server as the control loop gives, from now on."""
        with self._guard:
            self._loops[server] = loop

    def is_used(self, server: str) -> bool:
        """Whether a slot of the server is taken, or was since the last measurement."""
        with self._guard:
            return self._most_taken[server] > 0

    def measured(self, server: str, latency: float) -> None:
        """Adapt the slots of a server, which has a control loop, to a measured latency in seconds."""
        with self._guard:
            self._loops[server].add(latency, self._most_taken[server])
            self._most_taken[server] = self._taken[server]

    @contextmanager
    def taken(self, servers: Collection[str], clock: Clock) -> Iterator[None]:
        """Wait until each of the servers has a free slot, then take them all until the block ends.

        Who waits first is served first, so that no shard path waits for ever. Raises errors of the clock.
        """
        waiter, wanted = object(), frozenset(servers)
        with self._guard:
            self._waiting[waiter] = wanted
        try:
            while not self._take(waiter):
                clock.sleep(_WAIT_SECONDS)
        finally:
            with self._guard:
                self._waiting.pop(waiter, None)
        try:
            yield
        finally:
            with self._guard:
                self._taken.subtract(wanted)

    def _take(self, waiter: object) -> bool:
        """Take the slots if all of them are free, and nobody has waited longer for one of them."""
        with self._guard:
            wanted = self._waiting[waiter]
            for other, servers in self._waiting.items():
                if other is waiter:
                    break
                if servers & wanted:
                    return False
            if not all(map(self._has_room, wanted)):
                return False
            del self._waiting[waiter]
            for each in wanted:
                self._taken[each] += 1
                self._most_taken[each] = max(self._most_taken[each], self._taken[each])
            return True

    def _has_room(self, server: str) -> bool:
        loop = self._loops.get(server)
        return loop is None or self._taken[server] + 1 <= loop.size
