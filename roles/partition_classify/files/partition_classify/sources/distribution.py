# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Distributes work items evenly over tasks."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def tasks_text(number: int) -> str:
    """Return the number of tasks in words.

    >>> tasks_text(1), tasks_text(2)
    ('1 task', '2 tasks')
    """
    return f"{number} task{'' if number == 1 else 's'}"


def distribute(sizes: Sequence[int], shares: int) -> list[tuple[int, ...]]:
    """Distribute items of these sizes over at most ``shares`` worker shares of about equal size.

    Returns the ascending item indexes of each share. No share is empty.
    """
    items: list[list[int]] = [[] for _each in range(min(shares, len(sizes)))]
    # Largest item first, always into the smallest share.
    loads = [(0, share) for share in range(len(items))]
    for index in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        load, share = loads[0]
        items[share].append(index)
        # Items of size 0 count as 1, otherwise one share would receive all of them.
        heapq.heapreplace(loads, (load + max(sizes[index], 1), share))
    return [tuple(sorted(share)) for share in items]
