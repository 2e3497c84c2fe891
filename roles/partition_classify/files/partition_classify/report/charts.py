# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the marks of the charts on the page are, in a field of WIDTH by HEIGHT whose zero is its top left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .figures import ForecastFigures, MonthFigures

WIDTH = 1000
HEIGHT = 240
_FILLED = 0.82
"""How much of the width of a month is its bar."""
_STEPS = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""Tenths of a power of ten with which an axis may end."""
_LAST_YEAR = 92
"""Until where a year can be named within the width of the chart, in percent."""
_MOST_YEARS = 6
"""How many years are named below a chart, so that they can be read on a phone."""


class Mark(NamedTuple):
    """A part of a bar: how many znodes can go ``now``, go after a ``merge``, or ``keep`` in hot."""

    kind: str
    y: float
    height: float


class Bar(NamedTuple):
    """The bar of a month, from its base upwards."""

    x: float
    width: float
    month: MonthFigures
    marks: tuple[Mark, ...]


class Tick(NamedTuple):
    """A name beside a chart, and its place in percent from the left or from the base."""

    place: float
    text: str


class AgeChart(NamedTuple):
    """Znodes by the month of the last change."""

    top: int
    bars: tuple[Bar, ...]
    years: tuple[Tick, ...]


class ForecastChart(NamedTuple):
    """Znodes in hot, so far and to come; a line is its points as SVG has them."""

    top: int
    lines: Mapping[str, str]
    now: float
    """Where the moment of the plan is, from the left."""
    years: tuple[Tick, ...]


def age_chart(months: Sequence[MonthFigures]) -> AgeChart:
    """The chart of some months, one after the other."""
    top = round_up(max((month.znodes for month in months), default=0))
    step = WIDTH / max(len(months), 1)
    bars = tuple(
        Bar(round(number * step, 2), round(step * _FILLED, 2), month, _marks(month, top))
        for number, month in enumerate(months)
    )
    return AgeChart(top, bars, _years([month.when for month in months], len(months)))


def forecast_chart(forecast: ForecastFigures) -> ForecastChart:
    """The chart of a forecast: what was until now, and from there on a line for each way to go on."""
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
        # From what there is today everything starts; what is moved at once goes down within a month.
        numbers = [so_far[here].znodes, *(getattr(each, name) for each in to_come)]
        lines[name.replace("_", "-")] = line(here, numbers)
    return ForecastChart(top, lines, round(here * step, 1), _years(whens, len(whens) - 1))


def round_up(number: int) -> int:
    """The next number that reads well, at most half as much again; 1 for 0.

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
    """Where a year begins, every so many years that few are named; the place is in percent."""
    found = [
        Tick(round(100 * number / max(steps, 1), 2), when[:4])
        for number, when in enumerate(whens)
        if when.endswith("-01")
    ]
    fitting = [tick for tick in found if tick.place <= _LAST_YEAR]
    return tuple(fitting[:: -(-len(fitting) // _MOST_YEARS) or 1])
