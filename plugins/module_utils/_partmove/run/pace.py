# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pace of a run: a limit of parts per second, and pauses while an ensemble is unhealthy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from ..errors import PausedTooLong
from ..tree.ports import Clock
from ..tree.rate import Rate
from .batches import BatchLimit, paced_batches

MOST_AT_ONCE = 50_000
"""The most parts of a paced batch, which is the work between two waits."""

_STEP_SECONDS = 1.0


class Pace(Protocol):
    """Delays work on parts; to be called before each paced batch."""

    parts_at_once: int
    """The most parts of a paced batch."""

    def wait(self, parts: int, clock: Clock) -> None:
        """Sleep until work on so many parts is allowed. Raises PausedTooLong."""


class UnlimitedPace:
    """Implements Pace without delays."""

    parts_at_once = MOST_AT_ONCE

    def wait(self, parts: int, clock: Clock) -> None:
        """Return at once."""


class RunPace:
    """Implements Pace for all threads of one run.

    States: going → pausing while a problem lasts → going. A pause that is too long ends the run. Begin and
    end of a pause are logged once, however many threads wait.
    """

    def __init__(
        self,
        per_second: int,
        problem: Callable[[], str],
        *,
        give_up_after: float,
        log: Callable[[str], object],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up the pace.

        per_second: parts per second, 0 for no limit.
        problem: returns the reason to pause, ``""`` for no reason.
        give_up_after: longest pause in seconds.
        log: receives a line at the begin and at the end of a pause.
        """
        self.parts_at_once = min(per_second, MOST_AT_ONCE) if per_second else MOST_AT_ONCE
        self._rate = Rate(per_second, now=now)
        self._problem = problem
        self._give_up_after = give_up_after
        self._log = log
        self._pausing = 0
        self._lock = threading.Lock()

    def wait(self, parts: int, clock: Clock) -> None:
        """Wait for the limit of parts per second, then until ``problem`` returns no reason to pause."""
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
        """Count a thread that begins (1) or ends (-1) a pause. First begin and last end are logged."""
        with self._lock:
            self._pausing += change
            if self._pausing == max(change, 0):
                self._log(line)


def paced(
    pace: Pace, clock: Clock, partition_ids: Sequence[str], parts: Mapping[str, int]
) -> Iterator[list[str]]:
    """Yield the partitions in paced batches, each once the pace allows its parts.

    The size of a batch follows from the time that the caller took for the batch before. ``parts`` as in
    `paced_batches`.
    """
    limit = BatchLimit(pace.parts_at_once)
    for batch, count in paced_batches(partition_ids, parts, limit.parts):
        pace.wait(count, clock)
        began = clock.now()
        yield batch
        limit.took(count, clock.now() - began)


def _paused_too_long(seconds: float, problem: str) -> PausedTooLong:
    return PausedTooLong(
        f"The run paused for {seconds:g} s and ended, as {problem}",
        remedy="Completed work stays valid; run again to continue when the ensemble is healthy",
    )
