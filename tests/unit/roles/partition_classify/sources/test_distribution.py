# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How work is dealt out to tasks."""

from __future__ import annotations

from hypothesis import given, strategies as st

from partition_classify.sources.distribution import distribute


def test_the_largest_has_a_hand_of_its_own() -> None:
    assert distribute([10, 100_000, 20, 30], 2) == [(1,), (0, 2, 3)]


def test_few_things_have_a_hand_each() -> None:
    assert distribute([0, 7], 32) == [(1,), (0,)]


def test_things_without_a_size_are_spread_too() -> None:
    assert distribute([0, 0], 2) == [(0,), (1,)]


@given(st.lists(st.integers(0, 10_000), min_size=1), st.integers(1, 40))
def test_everything_is_dealt_once_and_no_hand_is_empty(sizes: list[int], hands: int) -> None:
    dealt = distribute(sizes, hands)
    assert sorted(number for hand in dealt for number in hand) == list(range(len(sizes)))
    assert len(dealt) == min(hands, len(sizes))
    assert all(dealt)
    assert all(list(hand) == sorted(hand) for hand in dealt)
