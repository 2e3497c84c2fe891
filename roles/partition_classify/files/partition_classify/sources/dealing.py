# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deals work out to tasks."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def tasks_told(number: int) -> str:
    """So many tasks, in words.

    >>> tasks_told(1), tasks_told(2)
    ('1 task', '2 tasks')
    """
    return f"{number} task{'' if number == 1 else 's'}"


def deal(sizes: Sequence[int], hands: int) -> list[tuple[int, ...]]:
    """Deal things of these sizes out to at most so many hands, to each about as much.

    Gives the numbers of the things in each hand, in ascending order. No hand is empty.
    """
    dealt: list[list[int]] = [[] for _each in range(min(hands, len(sizes)))]
    # The largest first, each to who has least by then.
    waiting = [(0, hand) for hand in range(len(dealt))]
    for number in sorted(range(len(sizes)), key=lambda each: -sizes[each]):
        load, hand = waiting[0]
        dealt[hand].append(number)
        # What has no size is something to do all the same: who has it is not the next one.
        heapq.heapreplace(waiting, (load + max(sizes[number], 1), hand))
    return [tuple(sorted(hand)) for hand in dealt]
