# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers to concurrent requests."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.concurrent import map_concurrently


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_answers_are_in_order(at_once: int) -> None:
    assert map_concurrently(lambda number: number * 10, range(7), at_once) == [0, 10, 20, 30, 40, 50, 60]
    assert map_concurrently(lambda number: number * 10, [], at_once) == []


def test_items_are_asked_at_the_same_time() -> None:
    """Every call waits until all other calls have begun."""
    together = threading.Barrier(3)
    assert map_concurrently(lambda each: together.wait(60) * 0 + each, [1, 2, 3], 3) == [1, 2, 3]


def test_at_most_at_once_calls_run_together() -> None:
    guard, asked, most = threading.Lock(), [0], [0]

    def ask(_number: int) -> None:
        with guard:
            asked[0] += 1
            most[0] = max(most[0], asked[0])
        with guard:
            asked[0] -= 1

    map_concurrently(ask, range(200), 4)
    assert 1 <= most[0] <= 4


@pytest.mark.parametrize("at_once", [1, 4])
def test_the_first_error_in_order_is_raised(at_once: int) -> None:
    def ask(number: int) -> int:
        if number in (1, 3):
            raise ValueError(str(number))
        return number

    with pytest.raises(ValueError, match="^1$"):
        map_concurrently(ask, range(4), at_once)
