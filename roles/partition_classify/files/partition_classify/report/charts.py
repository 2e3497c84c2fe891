# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Geometry of the page's charts, in a field of WIDTH by HEIGHT with the origin at the top left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .figures import ForecastFigures, MonthFigures

WIDTH = 1000
HEIGHT = 240
_FILLED = 0.82
"""Fraction of a month's width covered by its bar."""
_STEPS = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""Possible ends of an axis, in tenths of a power of ten."""
_LAST_YEAR = 92
"""Position in percent up to which a year label fits into the chart."""
_LAST_MONTH = 80
"""The same for the label of a month, on a phone."""
_FEWEST_MONTHS = 12
"""Number of months that the chart of ages has room for at least, so that a single bar is no slab."""
_MOST_YEARS = 6
"""Maximum number of year labels, so that they stay readable on a phone."""


class Mark(NamedTuple):
    """A segment of a bar: znodes that go now, go after a merge, or stay in hot. ``kind``: go, merge, keep."""

    kind: str
    y: float
    height: float


class Bar(NamedTuple):
    """The bar of a month, marks from bottom to top."""

    x: float
    width: float
    month: MonthFigures
    marks: tuple[Mark, ...]


class Tick(NamedTuple):
    """An axis label, with its position in percent from the left."""

    place: float
    text: str
    is_left_of_place: bool = False
    """Whether the label has room only on the left of its position."""


class AgeChart(NamedTuple):
    """Znodes by month of the last change."""

    top: int
    bars: tuple[Bar, ...]
    years: tuple[Tick, ...]


class ForecastChart(NamedTuple):
    """Past and predicted znodes in hot. ``lines``: SVG points by name."""

    top: int
    lines: Mapping[str, str]
    now: float
    """Horizontal position of the plan's moment."""
    years: tuple[Tick, ...]


def age_chart(months: Sequence[MonthFigures]) -> AgeChart:
    """Return the bar chart of consecutive months; the last one is at the right end."""
    top = round_up(max((month.znodes for month in months), default=0))
    places = max(len(months), _FEWEST_MONTHS)
    step = WIDTH / places
    empty = places - len(months)
    bars = tuple(
        Bar(round(place * step, 2), round(step * _FILLED, 2), month, _marks(month, top))
        for place, month in enumerate(months, start=empty)
    )
    return AgeChart(top, bars, _years([""] * empty + [month.when for month in months], places))


def forecast_chart(forecast: ForecastFigures) -> ForecastChart:
    """Return the line chart of a forecast: the past, then one line for each scenario."""
    so_far, to_come = forecast.so_far, forecast.to_come
    whens = [each.when for each in so_far] + [each.when for each in to_come]
    top = round_up(max([each.znodes for each in so_far] + [each.without for each in to_come], default=0))
    step = WIDTH / max(len(whens) - 1, 1)
    here = len(so_far) - 1

    def line(first: int, numbers: Sequence[int]) -> str:
        return " ".join(
            f"{(first + place) * step:.1f},{_y(number, top):.1f}" for place, number in enumerate(numbers)
        )

    lines = {"so-far": line(0, [each.znodes for each in so_far])}
    for name in ("without", "without_merges", "with_merges"):
        # All scenarios start at today's znodes; the first move takes effect within a month.
        numbers = [so_far[here].znodes, *(getattr(each, name) for each in to_come)]
        lines[name.replace("_", "-")] = line(here, numbers)
    return ForecastChart(top, lines, round(here * step, 1), _years(whens, len(whens) - 1))


def round_up(number: int) -> int:
    """Return the next round number, at most half as much again; 1 for 0.

    >>> round_up(0), round_up(7), round_up(178_000), round_up(5_000_001)
    (1, 8, 200000, 6000000)
    """
    power = int(10 ** (len(str(number)) - 1))
    steps = (step * power for step in _STEPS)
    return next(-(-step // 10) for step in steps if step >= 10 * number)


def _marks(month: MonthFigures, top: int) -> tuple[Mark, ...]:
    marks = []
    below = 0
    for kind, znodes in (("go", month.now), ("merge", month.merge), ("keep", month.stay)):
        if znodes:
            y = _y(below + znodes, top)
            marks.append(Mark(kind, round(y, 2), round(_y(below, top) - y, 2)))
        below += znodes
    return tuple(marks)


def _y(number: float, top: int) -> float:
    return HEIGHT - HEIGHT * number / top


def _years(whens: Sequence[str], steps: int) -> tuple[Tick, ...]:
    """Return labels at the first month of a year, thinned out to the maximum number.

    Without such a month, the only label is that of the first month. whens: the months, empty for none.
    """
    ticks = [
        Tick(round(100 * number / max(steps, 1), 2), when[:4])
        for number, when in enumerate(whens)
        if when.endswith("-01")
    ]
    fitting = [tick for tick in ticks if tick.place <= _LAST_YEAR]
    if not fitting:
        first = next((number for number, when in enumerate(whens) if when), None)
        if first is not None:
            place = min(_LAST_YEAR, 100 * first / max(steps, 1))
            fitting = [Tick(round(place, 2), whens[first], place > _LAST_MONTH)]
    return tuple(fitting[:: -(-len(fitting) // _MOST_YEARS) or 1])
