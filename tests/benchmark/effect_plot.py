# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bars of what was before and after, as one picture for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _LABEL, _VALUE, _BAR, _GAP = 720, 160, 150, 16, 14
_TITLE = 44
# Dark enough on white and on the dark page of a code host: 3:1 and more on both.
_COLOURS = ("#7a7f87", "#1f83d8", "#c4741a")


@dataclass(frozen=True)
class Bars:
    """One figure: its name, its unit, and its values in the order of the series, or None."""

    name: str
    unit: str
    values: Sequence[float | None]


def plot(title: str, series: Sequence[str], figures: Sequence[Bars]) -> str:
    """The picture as SVG. Rates of one unit have one scale, and each other figure has its own."""
    rates = {
        unit: max(value for figure in figures if figure.unit == unit for value in figure.values if value)
        for unit in {figure.unit for figure in figures if figure.unit.endswith("/s")}
    }
    body = [_text(0, 16, title, weight="bold")]
    at = 0
    for name, colour in zip(series, _COLOURS, strict=False):
        body += [
            f'<rect x="{at}" y="26" width="11" height="11" fill="{colour}"/>',
            _text(at + 16, 36, name),
        ]
        at += 24 + 8 * len(name)
    top = _TITLE + _GAP
    for figure in figures:
        body.append(_text(0, top + _BAR - 4, figure.name))
        own = max(value for value in figure.values if value is not None) or 1
        most = rates.get(figure.unit, own)
        for value, colour in zip(figure.values, _COLOURS, strict=False):
            if value is None:
                continue
            width = max((_WIDTH - _LABEL - _VALUE) * value / most, 1)
            body += [
                f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="{_BAR - 3}" fill="{colour}"/>',
                _text(_LABEL + width + 6, top + _BAR - 5, f"{shown(value)} {figure.unit}".strip()),
            ]
            top += _BAR
        top += _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" role="img"'
        f' font-family="sans-serif" font-size="12"><title>{escape(title)}</title>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def shown(value: float) -> str:
    """The value with three digits that count, or as a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y}" font-weight="{weight}" fill="#57606a">{escape(text)}</text>'
