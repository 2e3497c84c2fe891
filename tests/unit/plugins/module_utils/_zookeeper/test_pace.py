# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a limit of znodes per second delays requests."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.pace import Pace

REQUESTS = st.lists(st.tuples(st.integers(1, 500), st.floats(0, 3)), min_size=2)


class Time:
    """Passes when it is waited for."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.seconds += seconds


@given(REQUESTS, st.floats(1, 10_000))
def test_no_stretch_has_more_than_the_rate_and_one_request(
    requests: list[tuple[int, float]], rate: float
) -> None:
    time = Time()
    pace = Pace(rate, now=time.now, sleep=time.sleep)
    sent: list[tuple[float, int]] = []
    for znodes, pause in requests:
        time.seconds += pause
        pace.wait(znodes)
        sent.append((time.seconds, znodes))
    for first, (begin, _znodes) in enumerate(sent):
        total = 0
        for moment, znodes in sent[first:]:
            assert total <= (moment - begin) * rate + 1e-3
            total += znodes


def test_steady_requests_reach_the_rate() -> None:
    time = Time()
    pace = Pace(1_000, now=time.now, sleep=time.sleep)
    for _each in range(11):
        pace.wait(500)
    assert round(time.seconds - 100, 6) == 5


def test_without_a_rate_nothing_waits() -> None:
    time = Time()
    pace = Pace(0, now=time.now, sleep=time.sleep)
    for _each in range(10):
        pace.wait(500)
    assert time.seconds == 100
