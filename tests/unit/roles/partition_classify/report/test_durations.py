# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The predicted durations of a report."""

from __future__ import annotations

from olap_partmove._partmove.run.duration import FULL_SPEED, WITH_TARGET, Work
from partition_classify.report.durations import ROUND_TRIPS_MS, Volume, durations_of


def test_first_move_has_all_partitions_and_daily_runs_one_of_each_shard_path() -> None:
    # 2,000 partitions on two replicas, most of them of one shard path.
    durations = durations_of(Volume(100, 2_000, 4_000, 4_000, 1_500, 3_000, 3_000))
    assert [each.round_trip_ms for each in durations] == [*ROUND_TRIPS_MS]
    first, daily = Work(100, 4_000, 3_000, 1_500, is_first=True), Work(100, 200, 2, 1, is_first=False)
    for each in durations:
        seconds = each.round_trip_ms / 1000
        assert each.first == round(WITH_TARGET.seconds(first, seconds), 1)
        assert each.first_full_speed == round(FULL_SPEED.seconds(first, seconds), 1)
        assert each.daily == round(WITH_TARGET.seconds(daily, seconds), 1)
        assert each.daily_full_speed == round(FULL_SPEED.seconds(daily, seconds), 1)


def test_legacy_parts_count_twice() -> None:
    twice = durations_of(Volume(10, 10_000, 20_000, 20_000, 1_000, 2_000, 2_000))
    assert durations_of(Volume(10, 10_000, 10_000, 30_000, 1_000, 1_000, 3_000)) == twice


def test_nothing_to_move_has_no_duration() -> None:
    assert durations_of(Volume(0, 0, 0, 0, 0, 0, 0)) == ()
