# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many operations a run has in flight to one ensemble, adapted to the latency that others get.

The control is that of LEDBAT (RFC 6817), which lets a background transfer give way to all others: what counts
is the delay above the latency without load. The window grows while the delay is below a target, and shrinks
while it is above.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from statistics import median

MOST_OPS = 8_000
"""The largest window: eight multis, or sixteen multiReads, of the largest size."""
LEAST_OPS = 64
"""The smallest window: a run goes on, however slowly. A slow ensemble limits such a window by itself."""

_FIRST_OPS = 200
_LEAST_OPS_EACH = 16
"""The smallest window of one of several processes."""
_MOST_SECONDS = 5.0
_POLL_SECONDS = 0.1
_GROWTH = 0.15
_DECREASE = 0.25
_LATENCIES = 10
_USUAL_LATENCIES = 20


class LatencyLoop:
    """The size of the window for a delay of ``target`` seconds; knows neither clock nor ensemble.

    What counts is the second largest of the last ten delays, because the target is for nearly all requests of
    others: a large request delays only what comes behind it. The largest one may be a pause of a server, and
    has no effect alone.

    - Above the target, each late answer divides the size by its delay in units of the target, at most by 4.
    - Below the target, each answer multiplies the size, by 1.15 without any delay. A window that is not used
      does not grow: no delay proves nothing about it.
    """

    def __init__(self, first: Sequence[float], target: float, processes: int = 1) -> None:
        """Start with the latencies before the run adds load.

        first, target: in seconds. processes: number of processes of the run, each with a window of its own.
        All of them measure the delay that all of them cause, and have the same target.
        """
        self._most = MOST_OPS / processes
        self._least = float(max(LEAST_OPS // processes, _LEAST_OPS_EACH))
        self._target = target
        self._usual = median(first)
        self._recent: deque[float] = deque(first, _USUAL_LATENCIES)
        self.ops = max(self._least, _FIRST_OPS / processes)
        """The size of the window, in operations."""

    def add(self, latency: float, in_flight: int) -> None:
        """Adapt to a latency in seconds, with at most so many operations in flight since the last one."""
        self._recent.append(latency)
        # Smaller, if the run began while the ensemble was slow.
        self._usual = min(self._usual, median(self._recent))
        delay = (latency - self._usual) / self._target
        most = (sorted([*self._recent][-_LATENCIES:])[-2] - self._usual) / self._target
        factor = 1.0
        if most > 1:
            factor = max(_DECREASE, 1 / max(1.0, delay))
        elif in_flight >= self.ops / 2:
            factor += _GROWTH * min(1.0, 1 - most)
        self.ops = min(self._most, max(self._least, self.ops * factor))


class RequestWindow:
    """The operations in flight over all sessions with one ensemble; without a limit at first.

    A request may start while any of the window is free. So a large request never waits for ever, and the
    window is exceeded by less than one request.
    """

    def __init__(self) -> None:
        self._loop: LatencyLoop | None = None
        self._in_flight = self._most_in_flight = 0
        self._changed = threading.Condition()

    @property
    def ops_at_once(self) -> int:
        """Operations that one request should have: half of the window, so that two requests are in flight."""
        return MOST_OPS if self._loop is None else int(self._loop.ops / 2)

    def follow(self, loop: LatencyLoop) -> None:
        """Have the size that a control loop gives from now on."""
        self._loop = loop

    def measured(self, latency: float) -> None:
        """Adapt to a measured latency in seconds."""
        with self._changed:
            if self._loop is not None:
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
            while self._loop is not None and self._in_flight >= self._loop.ops and is_connected():
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
