# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How much a run may have in progress, for the latency that others get."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.latency_loop import (
    LatencyLoop,
    Sizes,
)

USUAL, TARGET = 0.001, 0.005
SIZES = Sizes(first=200, least=64, most=8000)


def loop_after(*latencies: float, in_progress: float = SIZES.most) -> LatencyLoop:
    loop = LatencyLoop([USUAL] * 5, TARGET, SIZES)
    for each in latencies:
        loop.add(each, in_progress)
    return loop


def test_the_size_grows_to_the_largest_while_there_is_no_delay() -> None:
    assert loop_after(USUAL).size == pytest.approx(1.15 * loop_after().size)
    assert loop_after(*[USUAL] * 100).size == SIZES.most


def test_a_size_that_is_not_used_does_not_grow() -> None:
    before = int(loop_after().size)
    assert loop_after(USUAL, in_progress=before // 2 - 1).size == before
    assert loop_after(USUAL, in_progress=before // 2).size > before


def test_the_size_stays_as_it_is_at_the_target() -> None:
    settled = loop_after(*[USUAL + TARGET] * 3)
    before = settled.size
    settled.add(USUAL + TARGET, SIZES.most)
    assert settled.size == pytest.approx(before)


def test_the_size_shrinks_to_the_smallest_while_the_ensemble_is_slow() -> None:
    slow = loop_after(*[USUAL + 2 * TARGET] * 3)
    before = slow.size
    slow.add(USUAL + 2 * TARGET, SIZES.most)
    assert slow.size == pytest.approx(max(SIZES.least, before / 2))
    assert loop_after(*[1.0] * 20).size == SIZES.least


def test_one_measurement_divides_the_size_by_four_at_most() -> None:
    loop = loop_after(*[USUAL] * 100, 1.0)
    assert loop.size == SIZES.most
    loop.add(1.0, 0)
    assert loop.size == SIZES.most / 4


def test_a_size_does_not_grow_as_long_as_one_in_ten_is_late() -> None:
    loop = loop_after(*[USUAL] * 10, 1.0, 1.0)
    shrunk = loop.size
    for _each in range(8):
        loop.add(USUAL, SIZES.most)
        assert loop.size == shrunk
    loop.add(USUAL, SIZES.most)
    assert loop.size > shrunk


def test_the_size_recovers_within_three_seconds() -> None:
    assert loop_after(*[1.0] * 20, *[USUAL] * 60).size == SIZES.most


def test_a_single_late_answer_has_no_effect() -> None:
    assert loop_after(USUAL, 1.0, USUAL).size == loop_after(USUAL, USUAL, USUAL).size


def test_an_ensemble_that_was_slow_at_the_start_is_compared_with_what_it_is_later() -> None:
    loop = LatencyLoop([0.1] * 5, TARGET, SIZES)
    for _each in range(20):
        loop.add(USUAL, 0)
    before = loop.size
    for _each in range(20):
        loop.add(0.1, 0)
    assert loop.size == SIZES.least < before


@given(st.lists(st.floats(0, 60)), st.floats(0.0001, 10))
def test_the_size_is_always_within_its_bounds(latencies: list[float], target: float) -> None:
    loop = LatencyLoop([USUAL], target, SIZES)
    for each in latencies:
        loop.add(each, SIZES.most)
        assert SIZES.least <= loop.size <= SIZES.most


def test_a_size_of_one_grows_and_stays_within_its_bounds() -> None:
    loop = LatencyLoop([USUAL], TARGET, Sizes(first=1, least=1, most=3))
    assert loop.size == 1
    for _each in range(20):
        loop.add(USUAL, 1)
    assert 2 <= loop.size < 3, "one in progress is less than half of more than two"
    for _each in range(20):
        loop.add(USUAL, 2)
    assert loop.size == 3
    for _each in range(20):
        loop.add(1.0, 3)
    assert loop.size == 1
