# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distributes work items evenly over tasks."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from pyspark.sql.datasource import InputPartition


class SizedPartition(InputPartition):
    """An input partition whose number of rows has a known limit."""

    parts_at_most: int


def tasks_text(number: int) -> str:
    """Return the number of tasks in words.

    >>> tasks_text(1), tasks_text(2)
    ('1 task', '2 tasks')
    """
    return f"{number} task{'' if number == 1 else 's'}"


def distribute(sizes: Sequence[int], tasks: int) -> list[tuple[int, ...]]:
    """Distribute items of these sizes over at most ``tasks`` tasks with about equal load.

    Returns the ascending item indexes of each task. No task is empty.
    """
    items: list[list[int]] = [[] for _each in range(min(tasks, len(sizes)))]
    # Largest item first, always into the task with the smallest load.
    loads = [(0, task) for task in range(len(items))]
    for index in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        load, task = loads[0]
        items[task].append(index)
        # Items of size 0 count as 1, otherwise one task would receive all of them.
        heapq.heapreplace(loads, (load + max(sizes[index], 1), task))
    return [tuple(sorted(task)) for task in items]
