# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many operations a run has in flight to one ensemble, adapted to the latency that others get.

The size of the window is that of a `LatencyLoop`: the window grows while the delay that others get is below a
target, and shrinks while it is above.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from .._partmove.run.latency_loop import LatencyLoop, Sizes

MOST_OPS = 8_000
"""The largest window: eight multis, or sixteen multiReads, of the largest size."""
LEAST_OPS = 64
"""The smallest window: a run goes on, however slowly. A slow ensemble limits such a window by itself."""

_FIRST_OPS = 200
_LEAST_OPS_EACH = 16
"""The smallest window of one of several processes."""
_OPS_PER_SECOND = 10_000
"""Operations a second that any ensemble carries out beside its other work."""
_FARTHEST_SECONDS = 0.02
_MOST_SECONDS = 5.0
_POLL_SECONDS = 0.1


def ops_of_each(processes: int) -> Sizes:
    """Return the sizes of the window for each of so many processes of one run, in operations.

    All of them measure the delay that all of them cause, and have the same target.
    """
    least = max(LEAST_OPS // processes, _LEAST_OPS_EACH)
    return Sizes(first=max(least, _FIRST_OPS // processes), least=least, most=MOST_OPS // processes)


def ops_on_the_way(distance: float, processes: int) -> int:
    """Return how many operations each of so many processes of one run may have on the network besides.

    They delay nobody: no server has them yet, or has them any more. Without them, a small window at a far
    ensemble would wait for the network alone.

    distance: seconds from a request to its answer, of an ensemble that has nothing to do.
    """
    return int(_OPS_PER_SECOND * min(distance, _FARTHEST_SECONDS) / processes)


class RequestWindow:
    """The operations in flight over all sessions with one ensemble; without a limit at first.

    The limit is the size of a loop, and what is on the network besides. A request may start while any of this
    is free. So a large request never waits for ever, and the limit is exceeded by less than one request.
    """

    def __init__(self) -> None:
        self._loop: LatencyLoop | None = None
        self._on_the_way = 0
        self._in_flight = self._most_in_flight = 0
        self._changed = threading.Condition()

    @property
    def ops_at_once(self) -> int:
        """Operations that one request should have: half of the window, so that two requests are in flight."""
        return MOST_OPS if self._loop is None else int(self._loop.size / 2)

    def follow(self, loop: LatencyLoop, on_the_way: int = 0) -> None:
        """Have the size that a control loop gives from now on, and so many operations more."""
        self._loop, self._on_the_way = loop, on_the_way

    def measured(self, latency: float) -> None:
        """Adapt to a measured latency in seconds."""
        with self._changed:
            if self._loop is not None:
                # What is on the way counts as used. How much that is, is an estimate: one that is too high
                # must not keep the window small.
                self._loop.add(latency, self._most_in_flight)
                self._most_in_flight = self._in_flight
                self._changed.notify_all()

    def enter(self, ops: int, is_connected: Callable[[], bool] = lambda: True) -> None:
        """Wait until some of the window is free; then count the operations as in flight.

        Waits for five seconds at most, and not without a connection: an ensemble that does not answer frees
        nothing. The caller waits for the answer then, with its own time limit.
        """
        deadline = time.monotonic() + _MOST_SECONDS
        with self._changed:
            while self._is_full() and is_connected():
                if time.monotonic() >= deadline:
                    break
                self._changed.wait(_POLL_SECONDS)
            self._in_flight += ops
            self._most_in_flight = max(self._most_in_flight, self._in_flight)

    def leave(self, ops: int) -> None:
        """Count the operations no more: they were answered, or their connection was lost."""
        with self._changed:
            self._in_flight -= ops
            self._changed.notify_all()

    def _is_full(self) -> bool:
        return self._loop is not None and self._in_flight >= self._loop.size + self._on_the_way
