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
_MOST_SECONDS = 5.0
_POLL_SECONDS = 0.1


def ops_of_each(processes: int) -> Sizes:
    """Return the sizes of the window for each of so many processes of one run, in operations.

    All of them measure the delay that all of them cause, and have the same target.
    """
    least = max(LEAST_OPS // processes, _LEAST_OPS_EACH)
    return Sizes(first=max(least, _FIRST_OPS // processes), least=least, most=MOST_OPS // processes)


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
        return MOST_OPS if self._loop is None else int(self._loop.size / 2)

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
            while self._loop is not None and self._in_flight >= self._loop.size and is_connected():
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
