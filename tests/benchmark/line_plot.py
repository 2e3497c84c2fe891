# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures over time, one panel above the other, as one picture for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchmark.effect_plot import shown

_WIDTH, _LEFT, _HEIGHT, _GAP, _TOP = 720, 64, 120, 34, 28
_LINE, _TEXT, _AXIS, _PHASE = "#1f83d8", "#57606a", "#8c959f", "#c4741a"


@dataclass(frozen=True)
class Panel:
    """One figure over time; ``points`` are seconds and values."""

    title: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Phase:
    """A time that is marked in all panels, in seconds."""

    begin: float
    end: float
    name: str


def plot_lines(title: str, panels: Sequence[Panel], phases: Sequence[Phase]) -> str:
    """The picture as SVG. All panels have the same time; each has a scale of its own from 0."""
    last = max(second for panel in panels for second, _value in panel.points)
    height = _TOP + len(panels) * (_HEIGHT + _GAP) + 16

    def at(second: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 8) * second / last

    body = [_text(0, 16, title, weight="bold")]
    for number, panel in enumerate(panels):
        top = _TOP + number * (_HEIGHT + _GAP) + 18
        most = max(value for _second, value in panel.points) or 1
        body.append(_text(_LEFT, top - 5, panel.title))
        for phase in phases:
            width = at(phase.end) - at(phase.begin)
            body += [
                (
                    f'<rect x="{at(phase.begin):.1f}" y="{top}" width="{width:.1f}" height="{_HEIGHT}"'
                    f' fill="{_PHASE}" fill-opacity="0.15"/>'
                ),
                _text(at(phase.begin), top - 5, phase.name) if number == 0 else "",
            ]
        points = " ".join(
            f"{at(second):.1f},{top + _HEIGHT * (1 - value / most):.1f}" for second, value in panel.points
        )
        body += [
            f'<path d="M{_LEFT} {top}V{top + _HEIGHT}H{_WIDTH - 8}" fill="none" stroke="{_AXIS}"/>',
            f'<polyline points="{points}" fill="none" stroke="{_LINE}" stroke-width="1.5"/>',
            _text(_LEFT - 6, top + 8, shown(most), anchor="end"),
            _text(_LEFT - 6, top + _HEIGHT, "0", anchor="end"),
        ]
    for second in range(0, int(last) + 1, 5):
        body.append(_text(at(second), height - 8, f"{second} s", anchor="middle"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' font-family="sans-serif" font-size="12"><title>{escape(title)}</title>\n'
        + "\n".join(filter(None, body))
        + "\n</svg>\n"
    )


def _text(x: float, y: float, text: str, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" font-weight="{weight}" text-anchor="{anchor}"'
        f' fill="{_TEXT}">{escape(text)}</text>'
    )
