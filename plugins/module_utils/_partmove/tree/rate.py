# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spreads requests evenly over time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Rate:
    """Spreads things evenly over time, for any number of threads; one call may go ahead of its time."""

    def __init__(self, per_second: float, *, now: Callable[[], float] = time.monotonic) -> None:
        """``per_second`` is the number of things, 0 for any number."""
        self._seconds_each = 1 / per_second if per_second else 0.0
        self._now = now
        self._next = 0.0
        self._turn = threading.Lock()

    def wait(self, things: int, sleep: Callable[[float], object] = time.sleep) -> None:
        """Return when it is the turn of so many things."""
        if not self._seconds_each or not things:
            return
        with self._turn:
            now = self._now()
            begin = max(now, self._next)
            self._next = begin + things * self._seconds_each
        if begin > now:
            sleep(begin - now)
