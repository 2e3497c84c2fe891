# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work on several shard paths at the same time, one worker each, and take the results in order."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from .._partmove.errors import PartMoveError
from .._partmove.run.worker_count import MOST_WORKERS, worker_count
from .._partmove.tree.interruption import Interrupted
from .._partmove.tree.ports import ZnodeReader

_ANSWERS = 3
"""Answers of each ensemble by which its distance is measured."""

_Job = TypeVar("_Job")
_Done = TypeVar("_Done")


@dataclass(frozen=True)
class Finished(Generic[_Done]):
    """The result of a job that needs no worker."""

    done: _Done

    def result(self) -> _Done:
        """Return the result, as a Future does."""
        return self.done

    def cancel(self) -> bool:
        """Return whether the job will have no result, as a Future does."""
        return False


def check_workers(given: int) -> int:
    """Return the option ``workers``. Raises PartMoveError for an invalid number."""
    if not 0 <= given <= MOST_WORKERS:
        raise PartMoveError(
            f"workers is {given}", remedy=f"Give 1 to {MOST_WORKERS}, or 0 to choose by the amount of work"
        )
    return given


def workers_for(
    given: int,
    partitions: Sequence[int],
    distance: Callable[[], float] = lambda: 0.0,
    *,
    processes: int = 1,
) -> int:
    """Return the number of shard paths to work on at the same time.

    given: value of the option ``workers``, 0 to choose by the amount of work and the distance. partitions:
    number of partitions of each shard path, as far as known. distance: as `distance_of`. processes: as in
    `worker_count`.
    """
    if given:
        return max(1, min(given, len(partitions)))
    return worker_count(len(partitions), max(partitions, default=0), distance, processes=processes)


def distance_of(stores: Iterable[ZnodeReader]) -> float:
    """Return the seconds until the slowest of the ensembles answers a small read.

    The least of some answers counts: an ensemble that is busy answers later, and does so sooner without more
    work. Raises EnsembleError and its subclasses.
    """
    return max(min(_seconds(each) for _answer in range(_ANSWERS)) for each in stores)


def _seconds(store: ZnodeReader) -> float:
    begin = time.perf_counter()
    store.read(["/"])
    return time.perf_counter() - begin


def work_in_order(
    jobs: Iterable[_Job | Finished[_Done]],
    work: Callable[[_Job], _Done],
    take: Callable[[_Done], None],
    *,
    workers: int,
    ending: threading.Event,
) -> None:
    """Run ``work`` for each job, in threads if there are several workers, and take the results in order.

    A job may already be finished: then its result is taken in its turn.
    ``work`` never raises, and returns soon once ``ending`` is set. ``take`` raises the error of a job: no
    further job starts, and the results of running jobs are still taken. Raises errors of ``take`` and of
    signals.
    """
    if workers == 1:
        for job in jobs:
            take(job.done if isinstance(job, Finished) else work(job))
        return
    waiting: deque[Future[_Done] | Finished[_Done]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="shard-path") as pool:
        try:
            for job in jobs:
                waiting.append(job if isinstance(job, Finished) else pool.submit(work, job))
                # Twice as many jobs as workers keep the workers busy while the oldest job is awaited.
                if len(waiting) >= 2 * workers:
                    _take_first(waiting, take)
            while waiting:
                _take_first(waiting, take)
        except BaseException:
            ending.set()
            for future in [each for each in waiting if not each.cancel()]:
                # Report the first error only: later errors may be consequences.
                with suppress(Exception, Interrupted):
                    take(future.result())
            raise


def look_ahead(
    jobs: Iterable[_Job], look: Callable[[_Job], _Done], *, threads: int
) -> Iterator[tuple[_Job, _Done]]:
    """Yield each job with the result of ``look``, in order, and look at as many further jobs meanwhile.

    Without threads, each job is looked at when it is its turn. Raises the errors of ``look``.
    """
    if not threads:
        for job in jobs:
            yield job, look(job)
        return
    waiting: deque[tuple[_Job, Future[_Done]]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="look-ahead") as pool:
        for job in jobs:
            waiting.append((job, pool.submit(look, job)))
            if len(waiting) > threads:
                first, found = waiting.popleft()
                yield first, found.result()
        for first, found in waiting:
            yield first, found.result()


def _take_first(waiting: deque[Future[_Done] | Finished[_Done]], take: Callable[[_Done], None]) -> None:
    done = waiting[0].result()
    waiting.popleft()
    take(done)
