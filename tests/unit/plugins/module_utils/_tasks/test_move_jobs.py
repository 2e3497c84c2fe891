# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs without anything to do are found together, and their results come in their turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._tasks import move_jobs
from ansible_collections.olap.partmove.plugins.module_utils._tasks.move_jobs import Done, Job, jobs_or_results
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_move_result import PatchedTally
from ansible_collections.olap.partmove.plugins.module_utils._tasks.workers import Finished


def done(job: Job) -> Done[PatchedTally]:
    return Done(job.shard_path, PatchedTally(10))


def shown(item: Job | Finished[Done[PatchedTally]]) -> str:
    return f"{item.done.shard_path} done" if isinstance(item, Finished) else item.shard_path


@pytest.mark.parametrize("threads", [0, 2])
def test_finished_jobs_come_in_their_turn(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_jobs, "_MOST_SHARD_PATHS", 2)
    looks: list[list[str]] = []

    def find(work: Mapping[str, list[str]]) -> Collection[str]:
        looks.append([*work])
        return {"/b", "/e"} & work.keys()

    jobs = [Job("/a", ["1"]), Job("/b", ["1"]), Job("/c", None), Job("/d", []), Job("/e", ["1"])]
    found = [shown(each) for each in jobs_or_results(jobs, find, done, threads=threads)]
    assert found == ["/a", "/b done", "/c", "/d", "/e done"]
    assert sorted(looks) == [[], ["/a", "/b"], ["/e"]]


def test_many_partitions_are_not_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_jobs, "_MOST_PARTITIONS", 3)
    looks: list[list[str]] = []

    def find(work: Mapping[str, list[str]]) -> Collection[str]:
        looks.append([*work])
        return ()

    jobs = [Job(f"/{number}", ["1", "2"]) for number in range(5)]
    assert [*jobs_or_results(jobs, find, done, threads=0)] == jobs
    assert looks == [["/0", "/1"], ["/2", "/3"], ["/4"]]
