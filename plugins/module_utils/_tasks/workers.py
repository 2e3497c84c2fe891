# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shard paths that are worked on at the same time, each of them whole, with their results in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from .._partmove.errors import PartMoveError
from .._partmove.tree.interruption import Interrupted

MOST_WORKERS = 64
_USUAL_WORKERS = 16
_PARTITIONS_AT_ONCE = 20_000
"""Of all shard paths that are worked on at the same time, unless somebody asks for more of them."""

_Job = TypeVar("_Job")
_Done = TypeVar("_Done")


def workers_for(given: int, partitions: Sequence[int]) -> int:
    """How many shard paths to work on at once.

    given: as the option ``workers`` has it, 0 to choose by what there is to do. partitions: how many of them
    each shard path has, as far as that is known. Raises PartMoveError for a number that cannot be.
    """
    if not 0 <= given <= MOST_WORKERS:
        raise PartMoveError(
            f"workers is {given}", remedy=f"Give 1 to {MOST_WORKERS}, or 0 to choose by what there is to do"
        )
    most = given or min(_USUAL_WORKERS, _PARTITIONS_AT_ONCE // max(1, *partitions, 1))
    return max(1, min(most, len(partitions)))


def work_in_order(
    jobs: Iterable[_Job],
    work: Callable[[_Job], _Done],
    take: Callable[[_Done], None],
    *,
    workers: int,
    ending: threading.Event,
) -> None:
    """Do the work of each job, in threads where there are several workers, and take the results in order.

    ``work`` never raises, and returns soon when ``ending`` is set; ``take`` raises what a job ended with, and
    that ends them all. What has begun by then is taken as well. Raises what ``take`` and signals raise.
    """
    if workers == 1:
        for job in jobs:
            take(work(job))
        return
    waiting: deque[Future[_Done]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="shard-path") as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(work, job))
                # As many again are under way or done while the oldest is waited for.
                if len(waiting) >= 2 * workers:
                    _take_first(waiting, take)
            while waiting:
                _take_first(waiting, take)
        except BaseException:
            ending.set()
            for future in [each for each in waiting if not each.cancel()]:
                # The first error is the one to tell of: this may be no more than its consequence.
                with suppress(Exception, Interrupted):
                    take(future.result())
            raise


def _take_first(waiting: deque[Future[_Done]], take: Callable[[_Done], None]) -> None:
    done = waiting[0].result()
    waiting.popleft()
    take(done)
