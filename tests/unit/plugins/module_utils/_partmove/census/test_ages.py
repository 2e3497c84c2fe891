# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes of parts are summed up by age, to the day."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.ages import PartAges

DAY = 86_400_000
NOW = 20_000 * DAY


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (-1, [0, 0]),
        (0, [0, 0]),
        (29 * DAY, [0, 0]),
        # Later on the day that is 30 days before.
        (30 * DAY - DAY // 2, [1, 0]),
        (30 * DAY, [1, 0]),
        (89 * DAY, [1, 0]),
        (90 * DAY, [1, 1]),
        (400 * DAY, [1, 1]),
    ],
)
def test_an_age_is_counted_in_calendar_days(age: int, expected: list[int]) -> None:
    ages = PartAges()
    ages.add(NOW - age, 7)
    assert [each.counts.znodes for each in ages.at_least((30, 90), NOW + DAY // 4)] == expected


def test_znodes_and_bytes_of_a_day_are_added_up() -> None:
    ages = PartAges()
    for size in (3, 4):
        ages.add(NOW - 31 * DAY, size)
    ages.add(NOW, 100)
    (found,) = ages.at_least((30,), NOW)
    assert (found.days, found.counts.znodes, found.counts.bytes) == (30, 2, 7)
