# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a report as one HTML file that needs nothing else, and nothing of a network.

Its one script searches the tables; the page names its digest, so that a browser runs no other.
"""

from __future__ import annotations

import calendar
import pkgutil
from base64 import b64encode
from hashlib import sha256

import jinja2
from markupsafe import Markup

from .charts import HEIGHT, WIDTH, age_chart, forecast_chart
from .figures import ReportFigures

TEMPLATE = "report.html.j2"
STYLE = "page.css"
SCRIPT = "search.js"

_MINUS = "\N{MINUS SIGN}"
_SIZES = ("KiB", "MiB", "GiB", "TiB")
_COUNTS = ("k", "M", "G")


def html_text(figures: ReportFigures) -> str:
    """The page; the same figures give the same text."""
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
    }
    script = _content(SCRIPT)
    return environment.from_string(_content(TEMPLATE)).render(
        figures=figures,
        ages=age_chart(figures.months),
        forecast=forecast_chart(figures.forecast) if figures.forecast else None,
        width=WIDTH,
        height=HEIGHT,
        style=Markup(_content(STYLE)),
        script=Markup(script),
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
    )


def path_markup(path: str) -> Markup:
    """A path that a browser breaks after a slash or an underscore where it has to."""
    names = (Markup("_<wbr>").join(name.split("_")) for name in path.split("/"))
    return Markup("/<wbr>").join(names)


def month_words(when: str) -> str:
    """A month as people write it.

    >>> month_words("2026-06")
    'June 2026'
    """
    year, month = when.split("-")
    return f"{calendar.month_name[int(month)]} {year}"


def count_text(number: int) -> str:
    """A count with commas, such as ``1,234,567``."""
    return f"{number:,}".replace("-", _MINUS)


def signed_text(number: int) -> str:
    """A count that says that it is a change, such as ``+1,234``; 0 has no sign."""
    return f"+{count_text(number)}" if number > 0 else count_text(number)


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


def _content(name: str) -> str:
    content = pkgutil.get_data(__package__, name)
    if content is None:
        raise FileNotFoundError(name)
    return content.decode()
