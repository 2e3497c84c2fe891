# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Holds a reader to so many znodes a second."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Delays requests so that their znodes are evenly spread; one request may go ahead of its time."""

    def __init__(
        self,
        per_second: float,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``per_second`` is the number of znodes, 0 for any number."""
        self._seconds_each = 1 / per_second if per_second else 0.0
        self._now = now
        self._sleep = sleep
        self._next = 0.0

    def wait(self, znodes: int) -> None:
        """Return when a request for so many znodes may be sent."""
        if not self._seconds_each:
            return
        now = self._now()
        if self._next > now:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + znodes * self._seconds_each
