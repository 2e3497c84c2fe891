# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distribution of work over tasks."""

from __future__ import annotations

from hypothesis import given, strategies as st

from partition_classify.sources.distribution import distribute


def test_largest_item_has_a_task_alone() -> None:
    assert distribute([10, 100_000, 20, 30], 2) == [(1,), (0, 2, 3)]


def test_few_items_have_a_task_each() -> None:
    assert distribute([0, 7], 32) == [(1,), (0,)]


def test_items_of_size_0_are_spread() -> None:
    assert distribute([0, 0], 2) == [(0,), (1,)]


@given(st.lists(st.integers(0, 10_000), min_size=1), st.integers(1, 40))
def test_each_item_is_in_one_task_and_no_task_is_empty(sizes: list[int], tasks: int) -> None:
    distributed = distribute(sizes, tasks)
    assert sorted(number for items in distributed for number in items) == list(range(len(sizes)))
    assert len(distributed) == min(tasks, len(sizes))
    assert all(distributed)
    assert all(list(items) == sorted(items) for items in distributed)
