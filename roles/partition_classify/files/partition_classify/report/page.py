# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a report as one HTML file that needs nothing else: no script, and nothing of a network."""

from __future__ import annotations

import calendar
import pkgutil
from collections.abc import Sequence
from datetime import date
from math import log
from typing import NamedTuple

import jinja2

from .figures import DayFigures, ReportFigures

TEMPLATE = "report.html.j2"
LEVELS = 5
"""How many shades the calendar has, besides the one for a day without partitions."""

_MINUS = "\N{MINUS SIGN}"
_SIZES = ("KiB", "MiB", "GiB", "TiB")
_COUNTS = ("k", "M", "G")


class Cell(NamedTuple):
    """A day of the calendar; ``level`` is 0 for nothing and up to LEVELS for the most partitions."""

    day: date
    figures: DayFigures
    level: int


class Month(NamedTuple):
    """A month of the calendar: weeks from Monday on, None for days of other months."""

    name: str
    weeks: list[list[Cell | None]]


def html_text(figures: ReportFigures) -> str:
    """The page; the same figures give the same text."""
    source = pkgutil.get_data(__package__, TEMPLATE)
    if source is None:
        raise FileNotFoundError(TEMPLATE)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"count": count_text, "short": short_text, "size": size_text, "share": share_text}
    return environment.from_string(source.decode()).render(
        figures=figures, months=months_of(figures.days), levels=levels_of(figures.days)
    )


def count_text(number: int) -> str:
    """A count with commas, such as ``1,234,567``."""
    return f"{number:,}".replace("-", _MINUS)


def short_text(number: int) -> str:
    """A count in at most four characters: ``999``, ``1.2k``, ``12k``, ``3M``."""
    value, unit = float(number), ""
    for each in _COUNTS:
        if value < 999.5:
            break
        value, unit = value / 1000, each
    return f"{value:.1f}{unit}" if unit and value < 9.95 else f"{value:.0f}{unit}"


def size_text(size: int) -> str:
    """A size in bytes in the unit that fits, such as ``512 B`` or ``1.5 MiB``."""
    value, unit = float(abs(size)), "B"
    for each in _SIZES:
        if value < 1024:
            break
        value, unit = value / 1024, each
    number = f"{value:.0f}" if unit == "B" or value >= 100 else f"{value:.1f}"
    sign = _MINUS if size < 0 else ""
    return f"{sign}{number}\N{NO-BREAK SPACE}{unit}"


def share_text(part: float, whole: float = 1) -> str:
    """A part as a share of the whole, such as ``42.1 %``; a dash where the whole is nothing."""
    if not whole:
        return "\N{EN DASH}"
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "< 0.1\N{NO-BREAK SPACE}%"
    return f"{share:.1f}\N{NO-BREAK SPACE}%".replace("-", _MINUS)


def levels_of(days: Sequence[DayFigures]) -> list[tuple[int, int, int]]:
    """Each level that is there, with the fewest and the most partitions of its days."""
    most = max((each.partitions for each in days), default=0)
    found: dict[int, list[int]] = {}
    for each in days:
        found.setdefault(_level(each.partitions, most), []).append(each.partitions)
    return [(level, min(counts), max(counts)) for level, counts in sorted(found.items())]


def months_of(days: Sequence[DayFigures]) -> list[Month]:
    """The months from the first day to the last one, newest first."""
    by_day = {date.fromisoformat(each.when): each for each in days}
    most = max((each.partitions for each in days), default=0)

    def cell(day: date, month: int) -> Cell | None:
        if day.month != month:
            return None
        figures = by_day.get(day) or DayFigures(day.isoformat(), 0, 0, 0)
        return Cell(day, figures, _level(figures.partitions, most))

    months = []
    first, last = min(by_day, default=date.max), max(by_day, default=date.min)
    for number in range(last.year * 12 + last.month - 1, first.year * 12 + first.month - 2, -1):
        year, month = number // 12, number % 12 + 1
        weeks = [
            [cell(day, month) for day in week] for week in calendar.Calendar().monthdatescalendar(year, month)
        ]
        months.append(Month(f"{calendar.month_name[month]} {year}", weeks))
    return months


def _level(partitions: int, most: int) -> int:
    """The shade of a day; counts of days differ by orders of magnitude, and so do the levels."""
    if partitions == 0:
        return 0
    return min(1 + int(LEVELS * log(partitions) / log(most + 1)), LEVELS)
