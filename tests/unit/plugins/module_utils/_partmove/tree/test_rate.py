# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rate delays requests so that no second has more requests than the limit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.rate import Rate
from support.memory.memory import ManualClock

REQUESTS = st.lists(st.tuples(st.integers(1, 500), st.floats(0, 3)), min_size=2)


@given(REQUESTS, st.floats(1, 10_000))
def test_no_stretch_has_more_than_the_rate_and_one_request(
    requests: list[tuple[int, float]], rate: float
) -> None:
    clock = ManualClock(100)
    pace = Rate(rate, now=clock.now)
    sent: list[tuple[float, int]] = []
    for things, pause in requests:
        clock.time += pause
        pace.wait(things, clock.sleep)
        sent.append((clock.time, things))
    for first, (begin, _things) in enumerate(sent):
        total = 0
        for moment, things in sent[first:]:
            assert total <= (moment - begin) * rate + 1e-3
            total += things


def test_steady_requests_reach_the_rate() -> None:
    clock = ManualClock(100)
    pace = Rate(1_000, now=clock.now)
    for _each in range(11):
        pace.wait(500, clock.sleep)
    assert round(clock.time - 100, 6) == 5


def test_threads_share_one_rate() -> None:
    """Every request has its own time slot, although no thread waits for the sleep of another thread."""
    slept: list[float] = []
    pace = Rate(1_000, now=lambda: 100.0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _each: pace.wait(500, slept.append), range(8)))
    assert sorted(round(each, 6) for each in slept) == [0.5 * each for each in range(1, 8)]


def test_without_a_rate_nothing_waits() -> None:
    clock = ManualClock(100)
    pace = Rate(0, now=clock.now)
    for _each in range(10):
        pace.wait(500, clock.sleep)
    assert clock.time == 100


def test_zero_requests_take_no_time_slot() -> None:
    clock = ManualClock(100)
    pace = Rate(1, now=clock.now)
    for _each in range(10):
        pace.wait(0, clock.sleep)
    assert clock.time == 100
