# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Simultaneous jobs: the order of their results, and their end after an error."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.interruption import Interrupted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from ansible_collections.olap.partmove.plugins.module_utils._tasks.workers import (
    Finished,
    check_workers,
    distance_of,
    look_ahead,
    work_in_order,
    workers_for,
)
from support.memory.memory import MemoryEnsemble, MemoryStore

PATIENCE = 60.0


@pytest.mark.parametrize(
    ("given", "partitions", "workers"),
    [
        (1, [1] * 1000, 1),
        (64, [1] * 1000, 64),
        (64, [1_000_000] * 100, 64),
        (8, [1, 1], 2),
        (8, [], 1),
    ],
)
def test_a_given_number_is_taken_unless_shard_paths_are_fewer(
    given: int, partitions: list[int], workers: int
) -> None:
    assert workers_for(given, partitions, lambda: pytest.fail("measured")) == workers


@pytest.mark.parametrize(
    ("partitions", "workers"), [([], 1), ([1] * 1000, 50), ([1] * 1000 + [4_000], 5), ([1_000_000] * 9, 1)]
)
def test_zero_chooses_by_the_largest_shard_path_and_the_distance(partitions: list[int], workers: int) -> None:
    assert workers_for(0, partitions, lambda: 0.01) == workers


class Slow(MemoryStore):
    """Answers after the next of the given seconds."""

    def __init__(self, *seconds: float) -> None:
        super().__init__(MemoryEnsemble("hot"))
        self.seconds = [*seconds]

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        time.sleep(self.seconds.pop(0))
        return super().read(paths, absolute=absolute)


def test_the_distance_is_that_of_the_slowest_ensemble_at_its_best() -> None:
    """The answers of a busy ensemble do not count, as long as one comes soon."""
    near, far = Slow(0.0, 0.0, 0.0), Slow(0.3, 0.1, 0.3)
    assert 0.1 <= distance_of([near, far]) < 0.3


@pytest.mark.parametrize("given", [-1, 65])
def test_an_invalid_number_is_refused(given: int) -> None:
    with pytest.raises(PartMoveError, match=f"workers is {given}"):
        check_workers(given)


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_jobs(workers: int) -> None:
    taken: list[int] = []
    work_in_order(range(20), lambda job: job * 2, taken.append, workers=workers, ending=threading.Event())
    assert taken == [job * 2 for job in range(20)]


@pytest.mark.parametrize("workers", [1, 3])
def test_finished_jobs_are_taken_in_their_turn(workers: int) -> None:
    taken: list[int] = []
    jobs = [job if job % 3 else Finished(-job) for job in range(20)]
    work_in_order(jobs, lambda job: job * 2, taken.append, workers=workers, ending=threading.Event())
    assert taken == [job * 2 if job % 3 else -job for job in range(20)]


@pytest.mark.parametrize("workers", [1, 3])
def test_finished_jobs_are_taken_after_an_error(workers: int) -> None:
    taken: list[int] = []

    def take(job: int) -> None:
        taken.append(job)
        if job == 1:
            raise PartMoveError("the first failed", remedy="None")

    jobs: list[int | Finished[int]] = [1, Finished(2), Finished(3)]
    with pytest.raises(PartMoveError, match="the first failed"):
        work_in_order(jobs, lambda job: job, take, workers=workers, ending=threading.Event())
    assert taken == ([1] if workers == 1 else [1, 2, 3])


@pytest.mark.parametrize("threads", [0, 2])
def test_a_look_ahead_keeps_the_order(threads: int) -> None:
    assert [*look_ahead(range(7), lambda job: job * 2, threads=threads)] == [
        (job, job * 2) for job in range(7)
    ]


def test_a_look_ahead_is_ahead() -> None:
    """Two jobs are looked at while the one before is not yet yielded."""
    meeting = threading.Barrier(2, timeout=PATIENCE)
    assert [job for job, _met in look_ahead(range(4), lambda _job: meeting.wait(), threads=2)] == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_of_a_look_ahead_is_raised_in_its_turn(threads: int) -> None:
    def look(job: int) -> int:
        if job == 2:
            raise PartMoveError("no answer")
        return job

    found: list[int] = []
    with pytest.raises(PartMoveError, match="no answer"):
        found.extend(job for job, _looked in look_ahead(range(5), look, threads=threads))
    assert found in ([], [0, 1])


def test_jobs_are_done_at_the_same_time() -> None:
    """Each job waits for all jobs, so sequential jobs would never end."""
    meeting = threading.Barrier(4, timeout=PATIENCE)
    taken: list[int] = []

    def meet(job: int) -> int:
        meeting.wait()
        return job

    work_in_order(range(8), meet, taken.append, workers=4, ending=threading.Event())
    assert taken == [*range(8)]


def test_few_jobs_start_early() -> None:
    """Results stay in memory until all earlier results are taken, so few jobs may start early."""
    begun: list[int] = []
    first_may_end = threading.Event()
    ahead = threading.Semaphore(0)

    def work(job: int) -> int:
        begun.append(job)
        if job == 0:
            assert first_may_end.wait(PATIENCE)
        else:
            ahead.release()
        return job

    def release_first() -> None:
        # Before the end of the first job two workers start three other jobs.
        for _each in range(3):
            assert ahead.acquire(timeout=PATIENCE)
        first_may_end.set()

    monitor = threading.Thread(target=release_first)
    monitor.start()
    most: list[int] = []
    work_in_order(
        range(50), work, lambda job: most.append(max(begun) - job), workers=2, ending=threading.Event()
    )
    monitor.join()
    assert max(most) <= 4


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_ends_all_and_running_jobs_are_taken(workers: int) -> None:
    taken: list[int] = []
    ending = threading.Event()

    def work(job: int) -> int:
        if job > 4:
            assert ending.wait(PATIENCE)
        return job

    def take(job: int) -> None:
        taken.append(job)
        if job == 4:
            raise PartMoveError("the fifth failed", remedy="None")
        if job > 4:
            raise Interrupted

    with pytest.raises(PartMoveError, match="the fifth failed"):
        work_in_order(range(100), work, take, workers=workers, ending=ending)

    assert taken == sorted(taken)
    assert taken[:5] == [0, 1, 2, 3, 4]
    assert len(taken) <= 5 + 2 * workers
    assert ending.is_set() == (workers > 1)
