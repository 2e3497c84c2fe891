# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Listed months, and older months added up."""

from __future__ import annotations

from partition_classify.report.ages import MONTHS_LISTED, Ages, months_of
from partition_classify.report.figures import MonthFigures
from partition_classify.report.forecast import month_text

NOW = 2026 * 12 + 10


def ages(*months: int) -> Ages:
    """One partition in each of these months, with 2 znodes that stay, 3 to merge and 4 that can go."""
    return Ages(NOW, {month: MonthFigures(month_text(month), 1, 2, 3, 4) for month in months}, {})


def test_months_without_anything_are_listed_up_to_that_of_the_plan() -> None:
    months, earlier = months_of(ages(NOW - 3))
    assert [month.when for month in months] == ["2026-08", "2026-09", "2026-10", "2026-11"]
    assert [month.znodes for month in months] == [9, 0, 0, 0]
    assert earlier is None


def test_months_older_than_ten_years_are_added_up() -> None:
    months, earlier = months_of(ages(NOW - 500, NOW - MONTHS_LISTED, NOW - MONTHS_LISTED + 1, NOW))
    assert len(months) == MONTHS_LISTED
    assert (months[0].when, months[0].znodes) == ("2016-12", 9)
    assert earlier == MonthFigures("2016-11", 2, 4, 6, 8)


def test_months_of_partitions_in_cold_only_are_not_listed() -> None:
    nothing = MonthFigures(month_text(NOW - 9), 0, 0, 0, 0)
    assert months_of(Ages(NOW, {NOW - 9: nothing}, {})) == ((), None)
