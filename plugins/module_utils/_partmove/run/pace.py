# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How fast a run goes: so many a second at most, and not at all while an ensemble is in trouble."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from ..errors import PausedTooLong
from ..tree.ports import Clock
from ..tree.rate import Rate

MOST_AT_ONCE = 50_000
"""Parts that are worked on between two moments at which a run may wait."""

_STEP_SECONDS = 1.0


class Pace(Protocol):
    """What whoever works on parts asks before each portion of them."""

    parts_at_once: int
    """How many parts a portion should have at most."""

    def wait(self, parts: int, clock: Clock) -> None:
        """Return when so many parts may be worked on, waiting by the clock. Raises PausedTooLong."""


class Unhurried:
    """Implements Pace where nothing has to be waited for."""

    parts_at_once = MOST_AT_ONCE

    def wait(self, parts: int, clock: Clock) -> None:
        """Return at once."""


class RunPace:
    """Implements Pace for all threads of one run.

    States: going → pausing, as long as something is the problem → going; or ended, after a pause that took
    too long. Who is told of that is told once, however many threads wait.
    """

    def __init__(
        self,
        per_second: int,
        problem: Callable[[], str],
        *,
        give_up_after: float,
        tell: Callable[[str], object],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take how many parts a second there may be, 0 for any number, and when to wait.

        problem: says why the run has to wait, ``""`` when it need not. give_up_after: seconds that one pause
        may take. tell: is given a line when a pause begins, and when it ends.
        """
        self.parts_at_once = min(per_second, MOST_AT_ONCE) if per_second else MOST_AT_ONCE
        self._rate = Rate(per_second, now=now)
        self._problem = problem
        self._give_up_after = give_up_after
        self._tell = tell
        self._pausing = 0
        self._guard = threading.Lock()

    def wait(self, parts: int, clock: Clock) -> None:
        """Wait for the turn of the parts, and then until nothing is the problem."""
        self._rate.wait(parts, clock.sleep)
        problem = self._problem()
        if not problem:
            return
        self._count(1, f"paused: {problem}")
        paused = 0.0
        try:
            while problem:
                if paused >= self._give_up_after:
                    raise _paused_too_long(paused, problem)
                clock.sleep(_STEP_SECONDS)
                paused += _STEP_SECONDS
                problem = self._problem()
        finally:
            self._count(-1, f"paused for {paused:g} s" if problem else f"going on after {paused:g} s")

    def _count(self, change: int, line: str) -> None:
        """Count a thread that begins or ends to wait; tell the line for the first, and for the last."""
        with self._guard:
            self._pausing += change
            if self._pausing == max(change, 0):
                self._tell(line)


def _paused_too_long(seconds: float, problem: str) -> PausedTooLong:
    return PausedTooLong(
        f"The run paused for {seconds:g} s and ended, as {problem}",
        remedy="What it did so far holds; run again to go on when the ensemble is well",
    )
