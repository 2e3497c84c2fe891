# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many operations a run has in flight, for the latency that others get."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.latency_loop import LatencyLoop
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.window import (
    MOST_OPS,
    RequestWindow,
    ops_of_each,
    ops_on_the_way,
)

USUAL, TARGET = 0.001, 0.005
LONG = 30.0


def new_loop() -> LatencyLoop:
    return LatencyLoop([USUAL] * 5, TARGET, ops_of_each(1))


def window_of(ops: float, on_the_way: int = 0) -> RequestWindow:
    window, loop = RequestWindow(), new_loop()
    loop.size = ops
    window.follow(loop, on_the_way)
    return window


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


def test_what_is_on_the_network_fits_besides() -> None:
    window = window_of(100, on_the_way=200)
    # Requests are no larger for it: a server has to carry out each of them at once.
    assert window.ops_at_once == 50
    window.enter(299)
    assert not window._is_full()
    window.enter(1)
    with in_a_thread(lambda: window.enter(1)) as waiting:
        assert is_waiting(waiting)
        window.leave(50)


def test_a_window_grows_although_the_network_may_hold_all_that_is_in_flight() -> None:
    window = window_of(100, on_the_way=200)
    window.enter(49)
    window.measured(USUAL)
    assert window.ops_at_once == 50
    window.enter(1)
    window.measured(USUAL)
    assert window.ops_at_once > 50


def test_the_network_holds_more_the_farther_the_ensemble_is_up_to_a_bound() -> None:
    assert [ops_on_the_way(each, 1) for each in (0.0002, 0.002, 0.02, 0.2)] == [2, 20, 200, 200]
    assert ops_on_the_way(0.02, 4) == 50


def test_a_window_that_grows_lets_requests_start() -> None:
    window = window_of(100)
    window.enter(100)
    with in_a_thread(lambda: window.enter(1)) as waiting:
        assert is_waiting(waiting)
        window.measured(USUAL)


def test_what_was_in_flight_before_there_was_a_limit_counts() -> None:
    window, loop = RequestWindow(), new_loop()
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


def test_processes_share_the_window() -> None:
    alone, shared = ops_of_each(1), ops_of_each(4)
    assert (4 * shared.first, 4 * shared.least, 4 * shared.most) == alone
    # However many they are, each of them goes on.
    assert ops_of_each(16).least == ops_of_each(16).first == 16
