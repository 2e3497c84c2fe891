# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many operations a run has in flight, for the latency that others get."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.window import (
    LEAST_OPS,
    MOST_OPS,
    LatencyLoop,
    RequestWindow,
)

USUAL, TARGET = 0.001, 0.005
LONG = 30.0


def loop_after(*latencies: float, in_flight: int = MOST_OPS) -> LatencyLoop:
    loop = LatencyLoop([USUAL] * 5, TARGET)
    for each in latencies:
        loop.add(each, in_flight)
    return loop


def window_of(ops: float) -> RequestWindow:
    window, loop = RequestWindow(), loop_after()
    loop.ops = ops
    window.follow(loop)
    return window


def test_the_window_grows_to_its_largest_size_while_there_is_no_delay() -> None:
    assert loop_after(USUAL).ops == pytest.approx(1.15 * loop_after().ops)
    assert loop_after(*[USUAL] * 100).ops == MOST_OPS


def test_a_window_that_is_not_used_does_not_grow() -> None:
    before = int(loop_after().ops)
    assert loop_after(USUAL, in_flight=before // 2 - 1).ops == before
    assert loop_after(USUAL, in_flight=before // 2).ops > before


def test_the_window_stays_as_it_is_at_the_target() -> None:
    settled = loop_after(*[USUAL + TARGET] * 3)
    before = settled.ops
    settled.add(USUAL + TARGET, MOST_OPS)
    assert settled.ops == pytest.approx(before)


def test_the_window_shrinks_to_its_smallest_size_while_the_ensemble_is_slow() -> None:
    slow = loop_after(*[USUAL + 2 * TARGET] * 3)
    before = slow.ops
    slow.add(USUAL + 2 * TARGET, MOST_OPS)
    assert slow.ops == pytest.approx(max(LEAST_OPS, before / 2))
    assert loop_after(*[1.0] * 20).ops == LEAST_OPS


def test_one_measurement_divides_the_window_by_four_at_most() -> None:
    loop = loop_after(*[USUAL] * 100, 1.0)
    assert loop.ops == MOST_OPS
    loop.add(1.0, 0)
    assert loop.ops == MOST_OPS / 4


def test_a_window_does_not_grow_as_long_as_one_in_ten_is_late() -> None:
    loop = loop_after(*[USUAL] * 10, 1.0, 1.0)
    shrunk = loop.ops
    for _each in range(8):
        loop.add(USUAL, MOST_OPS)
        assert loop.ops == shrunk
    loop.add(USUAL, MOST_OPS)
    assert loop.ops > shrunk


def test_the_window_recovers_within_three_seconds() -> None:
    assert loop_after(*[1.0] * 20, *[USUAL] * 60).ops == MOST_OPS


def test_a_single_late_answer_has_no_effect() -> None:
    assert loop_after(USUAL, 1.0, USUAL).ops == loop_after(USUAL, USUAL, USUAL).ops


def test_an_ensemble_that_was_slow_at_the_start_is_compared_with_what_it_is_later() -> None:
    loop = LatencyLoop([0.1] * 5, TARGET)
    for _each in range(20):
        loop.add(USUAL, 0)
    before = loop.ops
    for _each in range(20):
        loop.add(0.1, 0)
    assert loop.ops == LEAST_OPS < before


@given(st.lists(st.floats(0, 60)), st.floats(0.0001, 10))
def test_the_window_always_has_a_size_within_its_bounds(latencies: list[float], target: float) -> None:
    loop = LatencyLoop([USUAL], target)
    for each in latencies:
        loop.add(each, MOST_OPS)
        assert LEAST_OPS <= loop.ops <= MOST_OPS


@contextmanager
def in_a_thread(work: Callable[[], object]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield thread
    thread.join(LONG)
    assert not thread.is_alive()


def is_waiting(thread: threading.Thread) -> bool:
    """Whether the thread has not ended after some time in which it could have."""
    thread.join(0.2)
    return thread.is_alive()


def test_nobody_waits_without_a_limit() -> None:
    window = RequestWindow()
    for _each in range(100):
        window.enter(MOST_OPS)
    assert window.ops_at_once == MOST_OPS


def test_two_requests_fit_into_a_window() -> None:
    window = window_of(1000)
    assert window.ops_at_once == 500
    window.enter(500)
    window.enter(500)
    with in_a_thread(lambda: window.enter(1)) as third:
        assert is_waiting(third)
        window.leave(500)


def test_a_request_larger_than_the_window_may_start_once_there_is_room() -> None:
    window = window_of(100)
    window.enter(5000)
    with in_a_thread(lambda: window.enter(5000)) as second:
        assert is_waiting(second)
        window.leave(5000)


def test_a_window_that_grows_lets_requests_start() -> None:
    window = window_of(100)
    window.enter(100)
    with in_a_thread(lambda: window.enter(1)) as waiting:
        assert is_waiting(waiting)
        window.measured(USUAL)


def test_what_was_in_flight_before_there_was_a_limit_counts() -> None:
    window, loop = RequestWindow(), loop_after()
    window.enter(MOST_OPS)
    window.follow(loop)
    with in_a_thread(lambda: window.enter(1)) as waiting:
        assert is_waiting(waiting)
        window.leave(MOST_OPS)


def test_many_threads_never_exceed_the_window_by_more_than_a_request() -> None:
    window, most, guard = window_of(100), [0, 0], threading.Lock()

    def work() -> None:
        for _each in range(50):
            window.enter(30)
            with guard:
                most[0] += 30
                most[1] = max(most)
            time.sleep(0.0001)
            with guard:
                most[0] -= 30
            window.leave(30)

    threads = [threading.Thread(target=work, daemon=True) for _each in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LONG)
    assert 30 < most[1] < 130


def test_nobody_waits_without_a_connection() -> None:
    window = window_of(100)
    window.enter(100)
    connected = [True]
    with in_a_thread(lambda: window.enter(1, lambda: connected[0])) as waiting:
        assert is_waiting(waiting)
        connected[0] = False


def test_an_ensemble_that_never_answers_is_not_waited_for_for_ever() -> None:
    window = window_of(100)
    window.enter(100)
    with in_a_thread(lambda: window.enter(1)) as waiting:
        assert is_waiting(waiting)
