# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many znodes of parts hot will have, with and without the policy; docs/report.md has the method.

Months are numbers here, 12 times the year and the month from 0: one after the other differ by 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from statistics import median_low
from typing import NamedTuple

from .figures import ForecastFigures, HotFigures, MonthCount, MonthForecast

MONTHS_TO_COME = 12
MONTHS_COUNTED = 12
"""Over how many full months, at most, it is looked how many znodes come."""
FEWEST_COUNTED = 3
"""With fewer full months than that there is no forecast."""


class MonthZnodes(NamedTuple):
    """Znodes of the partitions that changed last in a month."""

    hot: int = 0
    left_alone: int = 0
    """Those of ``hot`` that are of tables that the policy leaves alone."""
    cold: int = 0
    """Of partitions in cold only, which changed last when they were moved."""


def forecast_of(
    months: Mapping[int, MonthZnodes],
    this_month: int,
    hot: HotFigures,
    found_by_runs: Mapping[int, int] | None = None,
) -> ForecastFigures | None:
    """The forecast for the months after ``this_month``, that of the plan; None where too little is known.

    ``months`` has no later one; ``hot`` is what the plan adds up to. ``found_by_runs`` are the znodes that
    hot had when the last run of a month looked.

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
    # Never more than all, though each is the median of its own.
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
    """A month by its number, such as ``2026-10``."""
    return f"{month // 12:04}-{month % 12 + 1:02}"


def _typical(months: Sequence[MonthZnodes], znodes: Callable[[MonthZnodes], int]) -> int:
    """The median: one month in which years of data came, or were moved, does not count for all."""
    return median_low(map(znodes, months))


def _part(number: int, part: int, whole: int) -> int:
    return round(number * part / whole) if whole else 0


def _so_far(
    months: Mapping[int, MonthZnodes], this_month: int, found_by_runs: Mapping[int, int]
) -> tuple[MonthCount, ...]:
    """The last two years, or as many months as there are; what a run has found counts more than a sum."""
    span = range(min(months, default=this_month), this_month + 1)
    sums = accumulate(months.get(month, MonthZnodes()).hot for month in span)
    known = dict(zip(span, sums, strict=True))
    known.update({month: znodes for month, znodes in found_by_runs.items() if month < this_month})
    return tuple(MonthCount(month_text(month), known[month]) for month in span[-2 * MONTHS_TO_COME :])
