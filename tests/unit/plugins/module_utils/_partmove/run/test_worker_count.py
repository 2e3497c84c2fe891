# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The number of workers that a run chooses."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.worker_count import worker_count


@pytest.mark.parametrize(
    ("shard_paths", "largest", "seconds", "workers"),
    [
        (0, 0, 0.0, 1),
        (1, 5, 0.0, 1),
        (3, 5, 0.0, 3),
        (1000, 1, 0.0, 16),
        (1001, 4_000, 0.0, 5),
        (1001, 1_000_000, 0.0, 1),
        (1000, 1, 0.0003, 16),
        (1000, 1, 0.006, 30),
        (1000, 1, 0.010, 50),
        (1000, 1, 1.0, 64),
        (20, 1, 1.0, 20),
        (1000, 1000, 1.0, 20),
        (1000, 4000, 1.0, 5),
    ],
)
def test_work_and_distance_decide(shard_paths: int, largest: int, seconds: float, workers: int) -> None:
    assert worker_count(shard_paths, largest, lambda: seconds) == workers


@pytest.mark.parametrize(("shard_paths", "largest"), [(16, 1), (1000, 4000)])
def test_distance_is_not_measured_where_nothing_depends_on_it(shard_paths: int, largest: int) -> None:
    worker_count(shard_paths, largest, lambda: pytest.fail("measured"))


@pytest.mark.parametrize(
    ("largest", "processes", "workers"), [(1, 2, 32), (1, 8, 16), (1000, 2, 10), (20_000, 4, 1)]
)
def test_processes_share_memory_and_workers(largest: int, processes: int, workers: int) -> None:
    assert worker_count(1000, largest, lambda: 1.0, processes=processes) == workers
