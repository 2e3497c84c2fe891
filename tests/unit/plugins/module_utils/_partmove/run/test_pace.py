# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a limit delays, when a run pauses, whom it tells, and when it gives up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PausedTooLong
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import (
    MOST_AT_ONCE,
    RunPace,
    Unhurried,
)
from support.memory.memory import ManualClock

REQUESTS = st.lists(st.tuples(st.integers(1, 500), st.floats(0, 3)), min_size=2)


class Trouble:
    """A run's pace, a clock that passes when it is waited for, and problems that last for some time."""

    def __init__(self, *, lasts: float = 0.0, per_second: int = 0, give_up_after: float = 60.0) -> None:
        self.clock = ManualClock(100)
        self.ends = self.clock.time + lasts
        self.lines: list[str] = []
        self.pace = RunPace(
            per_second,
            self.problem,
            give_up_after=give_up_after,
            tell=self.lines.append,
            now=self.clock.now,
        )

    def problem(self) -> str:
        return "hot is slow" if self.clock.time < self.ends else ""

    def wait(self, parts: int = 1) -> float:
        """For how many seconds was waited."""
        before = self.clock.time
        self.pace.wait(parts, self.clock)
        return self.clock.time - before


def test_a_run_goes_on_while_all_is_well() -> None:
    trouble = Trouble()
    assert trouble.wait() == 0
    assert trouble.lines == []


def test_a_run_pauses_until_the_trouble_is_over_and_says_so() -> None:
    trouble = Trouble(lasts=20)
    assert trouble.wait() == 20
    assert trouble.lines == ["paused: hot is slow", "going on after 20 s"]
    assert trouble.wait() == 0


def test_a_run_gives_up_after_a_pause_that_is_too_long() -> None:
    trouble = Trouble(lasts=100)
    with pytest.raises(PausedTooLong) as ended:
        trouble.wait()
    assert trouble.clock.time == 160
    assert str(ended.value) == (
        "The run paused for 60 s and ended, as hot is slow. What it did so far holds; run again to go on when"
        " the ensemble is well."
    )
    assert trouble.lines == ["paused: hot is slow", "paused for 60 s"]


def test_each_pause_may_take_its_time() -> None:
    trouble = Trouble(lasts=50)
    trouble.wait()
    trouble.ends = trouble.clock.time + 50
    assert trouble.wait() == 50


def test_the_turn_comes_before_the_look_at_the_ensembles() -> None:
    """What was well before a long wait need not be so after it."""
    trouble = Trouble(per_second=10)
    trouble.wait(100)
    trouble.ends = trouble.clock.time + 15
    assert trouble.wait(100) == 15


def test_of_threads_that_pause_one_tells() -> None:
    trouble = Trouble()
    over, pausing = threading.Event(), threading.Barrier(5)
    trouble.pace = RunPace(
        0, lambda: "" if over.is_set() else "hot is slow", give_up_after=1e9, tell=trouble.lines.append
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
def test_a_portion_is_no_more_than_what_a_second_may_have(per_second: int, at_once: int) -> None:
    assert Trouble(per_second=per_second).pace.parts_at_once == at_once


def test_nothing_need_be_waited_for() -> None:
    clock = ManualClock(100)
    Unhurried().wait(10**9, clock)
    assert clock.time == 100
