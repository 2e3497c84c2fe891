# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pace of a run: limit, pauses, log lines and giving up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PausedTooLong
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import (
    MOST_AT_ONCE,
    RunPace,
    UnlimitedPace,
)
from support.memory.memory import ManualClock


class Trouble:
    """The pace of a run, a clock advanced by sleeps, and a problem of limited duration."""

    def __init__(self, *, lasts: float = 0.0, per_second: int = 0, give_up_after: float = 60.0) -> None:
        self.clock = ManualClock(100)
        self.ends = self.clock.time + lasts
        self.lines: list[str] = []
        self.pace = RunPace(
            per_second,
            self.problem,
            give_up_after=give_up_after,
            log=self.lines.append,
            now=self.clock.now,
        )

    def problem(self) -> str:
        return "hot is slow" if self.clock.time < self.ends else ""

    def wait(self, parts: int = 1) -> float:
        """Return the seconds spent waiting."""
        before = self.clock.time
        self.pace.wait(parts, self.clock)
        return self.clock.time - before


def test_a_run_without_problems_does_not_pause() -> None:
    trouble = Trouble()
    assert trouble.wait() == 0
    assert trouble.lines == []


def test_a_run_pauses_until_the_problem_is_over_and_logs_it() -> None:
    trouble = Trouble(lasts=20)
    assert trouble.wait() == 20
    assert trouble.lines == ["paused: hot is slow", "going on after 20 s"]
    assert trouble.wait() == 0


def test_a_run_gives_up_after_too_long_a_pause() -> None:
    trouble = Trouble(lasts=100)
    with pytest.raises(PausedTooLong) as ended:
        trouble.wait()
    assert trouble.clock.time == 160
    assert str(ended.value) == (
        "The run paused for 60 s and ended, as hot is slow. Completed work stays valid; run again to"
        " continue when the ensemble is healthy."
    )
    assert trouble.lines == ["paused: hot is slow", "paused for 60 s"]


def test_the_limit_holds_for_each_pause_separately() -> None:
    trouble = Trouble(lasts=50)
    trouble.wait()
    trouble.ends = trouble.clock.time + 50
    assert trouble.wait() == 50


def test_the_health_is_checked_after_the_limit() -> None:
    """An ensemble that was healthy before a long wait may be unhealthy after it."""
    trouble = Trouble(per_second=10)
    trouble.wait(100)
    trouble.ends = trouble.clock.time + 15
    assert trouble.wait(100) == 15


def test_a_run_keeps_to_the_parts_per_second() -> None:
    trouble = Trouble(per_second=10)
    began = trouble.clock.time
    for _each in range(4):
        trouble.wait(10)
    assert trouble.clock.time - began == 3
    assert trouble.lines == []


def test_of_pausing_threads_one_logs() -> None:
    trouble = Trouble()
    over, pausing = threading.Event(), threading.Barrier(5)
    trouble.pace = RunPace(
        0, lambda: "" if over.is_set() else "hot is slow", give_up_after=1e9, log=trouble.lines.append
    )

    class Waiting(ManualClock):
        waits = 0

        def sleep(self, seconds: float) -> None:
            self.waits += 1
            if self.waits == 1:
                pausing.wait()
            over.wait()

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(trouble.pace.wait, 1, Waiting()) for _each in range(4)]
        pausing.wait()
        assert trouble.lines == ["paused: hot is slow"]
        over.set()
        for each in done:
            each.result()
    assert trouble.lines == ["paused: hot is slow", "going on after 1 s"]


@pytest.mark.parametrize(
    ("per_second", "at_once"), [(0, MOST_AT_ONCE), (10, 10), (10 * MOST_AT_ONCE, MOST_AT_ONCE)]
)
def test_a_paced_batch_has_at_most_the_parts_of_a_second(per_second: int, at_once: int) -> None:
    assert Trouble(per_second=per_second).pace.parts_at_once == at_once


def test_unlimited_pace_does_not_wait() -> None:
    clock = ManualClock(100)
    UnlimitedPace().wait(10**9, clock)
    assert clock.time == 100
