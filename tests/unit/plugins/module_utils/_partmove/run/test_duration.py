# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The predicted duration of a run."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.duration import (
    FULL_SPEED,
    WITH_TARGET,
    Speed,
    Work,
)

SPEED = Speed(1.0, 10.0, 0.01, 20.0, 0.005, 8.0, 0.0001, 0.002)


def test_no_work_takes_no_time() -> None:
    assert SPEED.seconds(Work(0, 0, 0, 0, is_first=True), 0.01) == 0.0


def test_one_shard_path_waits_for_each_of_its_answers() -> None:
    work = Work(1, 30_000, 30_000, 10_000, is_first=False)
    assert SPEED.seconds(work, 0.0) == pytest.approx(1 + 0.01 + 3)
    assert SPEED.seconds(work, 0.01) == pytest.approx(1 + 0.1 + 0.01 + 0.2 + 3 + 0.6)


def test_first_move_binds_each_shard_path() -> None:
    daily, first = (Work(1000, 3000, 3, 1, is_first) for is_first in (False, True))
    assert SPEED.seconds(first, 0.0) - SPEED.seconds(daily, 0.0) == pytest.approx(1000 * 0.005)


def test_many_shard_paths_wait_at_the_same_time() -> None:
    work = Work(1000, 3000, 3, 1, is_first=False)
    # 50 workers wait for 10 ms: less than the computing of one thread.
    assert SPEED.seconds(work, 0.01) == pytest.approx(1 + 0.1 + 10 + 0.3 + 0.06)
    # 64 workers cannot make up for 100 ms.
    waiting = 10 + 0.3 + 0.6 + 0.1 * 20_000
    assert SPEED.seconds(work, 0.1) == pytest.approx(1 + 1 + waiting / 64)


def test_run_is_as_long_as_its_largest_shard_path() -> None:
    work = Work(2, 303, 300, 100, is_first=False)
    alone = Work(1, 300, 300, 100, is_first=False)
    assert SPEED.seconds(work, 0.1) == pytest.approx(SPEED.seconds(alone, 0.1))


def test_shard_paths_share_the_operations_in_flight() -> None:
    together = Work(10, 300_000, 30_000, 10_000, is_first=False)
    alone = Work(1, 300_000, 300_000, 100_000, is_first=False)
    assert SPEED.seconds(together, 0.1) == pytest.approx(SPEED.seconds(alone, 0.1), rel=0.05)


@pytest.mark.parametrize("round_trip", [0.0, 0.004, 0.02])
@pytest.mark.parametrize(
    "work", [Work(1, 100_000, 100_000, 33_333, is_first=True), Work(1000, 3000, 3, 1, is_first=False)]
)
def test_run_that_gives_way_is_not_faster(work: Work, round_trip: float) -> None:
    assert WITH_TARGET.seconds(work, round_trip) > 0.75 * FULL_SPEED.seconds(work, round_trip) > 0
