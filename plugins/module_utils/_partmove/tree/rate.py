# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spreads requests evenly over time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Rate:
    """Limits the requests per second of any number of threads, evenly over time.

    A call after an idle time returns at once, whatever its number of requests; later calls wait accordingly.
    Idle time is not credited to later calls.
    """

    def __init__(self, per_second: float, *, now: Callable[[], float] = time.monotonic) -> None:
        """Set up the limit. ``per_second``: requests per second, 0 for no limit."""
        self._seconds_each = 1 / per_second if per_second else 0.0
        self._now = now
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, requests: int, sleep: Callable[[float], object] = time.sleep) -> None:
        """Sleep until the limit allows these requests."""
        if not self._seconds_each or not requests:
            return
        with self._lock:
            now = self._now()
            begin = max(now, self._next)
            self._next = begin + requests * self._seconds_each
        if begin > now:
            sleep(begin - now)
