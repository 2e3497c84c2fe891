# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Forecast of part znodes in hot, with and without the policy; the method is in docs/report.md.

A month is a number: 12 * year + month, counted from 0; consecutive months differ by 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import NamedTuple

from .figures import ForecastFigures, HotFigures, MonthCount, MonthForecast

MONTHS_TO_COME = 12
MONTHS_COUNTED = 12
"""Maximum number of full months used to estimate growth."""
FEWEST_COUNTED = 3
"""Minimum number of full months for a forecast."""


class MonthZnodes(NamedTuple):
    """Znodes of partitions last changed in a month."""

    hot: int = 0
    left_alone: int = 0
    """Subset of ``hot``: znodes of tables the policy leaves alone."""
    cold: int = 0
    """Znodes of partitions in cold only; their last change is the move."""


def forecast_of(
    months: Mapping[int, MonthZnodes],
    this_month: int,
    hot: HotFigures,
    found_by_runs: Mapping[int, int] | None = None,
) -> ForecastFigures | None:
    """Return the forecast for the months after ``this_month``; None with too few full months.

    months: znodes by month, none later than ``this_month``.
    hot: sums of the plan.
    found_by_runs: znodes in hot at the last run of a month, by month.

    >>> month_text(2026 * 12 + 5)
    '2026-06'
    """
    counted = [
        months.get(month, MonthZnodes())
        for month in range(max(min(months, default=this_month), this_month - MONTHS_COUNTED), this_month)
    ]
    if len(counted) < FEWEST_COUNTED:
        return None
    grows = _typical(counted, lambda month: month.hot + month.cold)
    # Independent medians could otherwise exceed the total.
    alone = min(_typical(counted, lambda month: month.left_alone), grows)
    unmerged = _part(grows - alone, hot.gated.znodes, hot.moved.znodes)
    to_come = [
        MonthForecast(
            when=month_text(this_month + ahead),
            without=hot.today.znodes + ahead * grows,
            without_merges=hot.after.znodes + hot.gated.znodes + ahead * (alone + unmerged),
            with_merges=hot.after.znodes + ahead * alone,
        )
        for ahead in range(1, MONTHS_TO_COME + 1)
    ]
    so_far = _so_far(months, this_month, found_by_runs or {})
    return ForecastFigures(grows, len(counted), so_far, tuple(to_come))


def month_text(month: int) -> str:
    """Return a month number as text, such as ``2026-10``."""
    return f"{month // 12:04}-{month % 12 + 1:02}"


def _typical(months: Sequence[MonthZnodes], znodes: Callable[[MonthZnodes], int]) -> int:
    """Return the median, so that a single month with bulk loads or moves has little weight."""
    return round(median(map(znodes, months)))


def _part(number: int, part: int, whole: int) -> int:
    return round(number * part / whole) if whole else 0


def _so_far(
    months: Mapping[int, MonthZnodes], this_month: int, found_by_runs: Mapping[int, int]
) -> tuple[MonthCount, ...]:
    """Return the last two years, or all months if fewer; counts of earlier runs override sums."""
    span = range(min(months, default=this_month), this_month + 1)
    sums = accumulate(months.get(month, MonthZnodes()).hot for month in span)
    known = dict(zip(span, sums, strict=True))
    known.update({month: znodes for month, znodes in found_by_runs.items() if month < this_month})
    return tuple(MonthCount(month_text(month), known[month]) for month in span[-2 * MONTHS_TO_COME :])
