# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""HTML page of a report: a single file, without network access.

Its only script searches the tables and shows when the next page is overdue. The page contains
the script's digest, so browsers run no other.
"""

from __future__ import annotations

import calendar
import pkgutil
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256

import jinja2
from markupsafe import Markup

from olap_partmove._partmove.text import parse_iso_time

from .charts import HEIGHT, WIDTH, age_chart, forecast_chart
from .figures import ReportFigures

TEMPLATE = "report.html.j2"
STYLE = "page.css"
SCRIPT = "page.js"

_MINUS = "\N{MINUS SIGN}"
_SIZES = ("KiB", "MiB", "GiB", "TiB")
_COUNTS = ("k", "M", "G")


def html_text(figures: ReportFigures, due_hours: float = 0.0) -> str:
    """Return the page; equal figures give equal text.

    due_hours: hours after which the page calls itself overdue; 0 for never.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "count": count_text,
        "signed": signed_text,
        "short": short_text,
        "size": size_text,
        "share": share_text,
        "path": path_markup,
        "month": month_words,
        "duration": duration_text,
    }
    script = _content(SCRIPT)
    return environment.from_string(_content(TEMPLATE)).render(
        figures=figures,
        due=_due(figures.as_of, due_hours) if due_hours else None,
        ages=age_chart(figures.months),
        forecast=forecast_chart(figures.forecast) if figures.forecast else None,
        width=WIDTH,
        height=HEIGHT,
        style=Markup(_content(STYLE)),
        script=Markup(script),
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
    )


def path_markup(path: str) -> Markup:
    """Return a path with line break opportunities after slashes and underscores."""
    names = (Markup("_<wbr>").join(name.split("_")) for name in path.split("/"))
    return Markup("/<wbr>").join(names)


def month_words(when: str) -> str:
    """Return a month in words.

    >>> month_words("2026-06")
    'June 2026'
    """
    year, month = when.split("-")
    return f"{calendar.month_name[int(month)]} {year}"


def count_text(number: int) -> str:
    """Return a count with commas, such as ``1,234,567``."""
    return f"{number:,}".replace("-", _MINUS)


def signed_text(number: int) -> str:
    """Return a change of a count with a sign, such as ``+1,234``; 0 has no sign."""
    return f"+{count_text(number)}" if number > 0 else count_text(number)


def short_text(number: int) -> str:
    """Return a count in at most four characters: ``999``, ``1.2k``, ``12k``, ``3M``."""
    value, unit = float(number), ""
    for each in _COUNTS:
        if value < 999.5:
            break
        value, unit = value / 1000, each
    return f"{value:.1f}{unit}" if unit and value < 9.95 else f"{value:.0f}{unit}"


def size_text(size: int) -> str:
    """Return a size in the fitting unit, such as ``512 B`` or ``1.5 MiB``."""
    value, unit = float(abs(size)), "B"
    for each in _SIZES:
        if value < 1024:
            break
        value, unit = value / 1024, each
    number = f"{value:.0f}" if unit == "B" or value >= 100 else f"{value:.1f}"
    sign = _MINUS if size < 0 else ""
    return f"{sign}{number}\N{NO-BREAK SPACE}{unit}"


def duration_text(seconds: float) -> str:
    """Return a predicted duration with two digits that count.

    >>> [duration_text(seconds).split() for seconds in (0.04, 7.21, 100, 4000, 9e5)]
    [['<', '1', 's'], ['7.2', 's'], ['1.7', 'min'], ['1.1', 'h'], ['250', 'h']]
    """
    if seconds < 1:
        return "< 1\N{NO-BREAK SPACE}s"
    value, unit = next(
        (seconds / size, name) for size, name in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= size
    )
    number = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
    return f"{number}\N{NO-BREAK SPACE}{unit}"


def share_text(part: float, whole: float = 1) -> str:
    """Return a part as percentage of the whole, such as ``42.1 %``; a dash if the whole is 0."""
    if not whole:
        return "\N{EN DASH}"
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "< 0.1\N{NO-BREAK SPACE}%"
    return f"{share:.1f}\N{NO-BREAK SPACE}%".replace("-", _MINUS)


def _due(as_of: str, hours: float) -> str:
    moment = parse_iso_time(as_of) + timedelta(hours=hours)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _content(name: str) -> str:
    content = pkgutil.get_data(__package__, name)
    if content is None:
        raise FileNotFoundError(name)
    return content.decode()
