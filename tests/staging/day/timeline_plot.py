# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The picture of a day: the latency of inserts, and below it the steps on the same time axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .queries import Query
from .steps import Step

_WIDTH, _LEFT, _RIGHT, _TOP, _PANEL, _ROW = 960, 52, 12, 44, 190, 17
_BELOW = _TOP + _PANEL
_STEPS = _BELOW + 26
# Dark enough on white and on the dark page of a code host.
_OK, _FAULT, _FAILED = "#1f83d8", "#c4741a", "#d1242f"
_TEXT, _AXIS = "#57606a", "#8c959f"
_MARKS = (60, 120, 300, 600)
"""Seconds between two marks of the time axis."""
_MOST_MARKS = 14
_LETTER = 6.4
"""Width of a letter, in pixels."""


@dataclass(frozen=True)
class Scale:
    """Where a time and a latency are in the picture."""

    begin: float
    end: float
    most: float
    """The largest latency of the axis, in milliseconds."""

    def x(self, second: float) -> float:
        """Return the place of a time."""
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (second - self.begin) / max(self.end - self.begin, 1.0)

    def y(self, ms: float) -> float:
        """Return the place of a latency, on a logarithmic scale from 1 ms."""
        return _BELOW - _PANEL * math.log10(max(ms, 1.0)) / math.log10(self.most)


def plot_timeline(title: str, steps: Sequence[Step], queries: Sequence[Query]) -> str:
    """Return the picture as SVG."""
    begin, end = steps[0].begin, steps[-1].end
    inserts = [query for query in queries if query.kind == "insert" and begin <= query.at <= end]
    most = 10 ** math.ceil(math.log10(max([query.ms for query in inserts] + [10.0])))
    scale = Scale(begin, end, float(most))
    height = _STEPS + len(steps) * _ROW + 8
    body = [_text(0, 16, title, weight="bold"), *_legend(), *_axes(scale)]
    for number, step in enumerate(steps):
        body += _step(step, scale, _STEPS + number * _ROW)
    for colour, width, is_failed in ((_OK, 2, False), (_FAILED, 6, True)):
        dots = [query for query in inserts if bool(query.error) is is_failed]
        body.append(_dots(dots, scale, colour, width))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' font-family="sans-serif" font-size="12"><title>{escape(title)}</title>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _legend() -> list[str]:
    parts, at = [], _LEFT
    for colour, text in (
        (_OK, "an insert; a step"),
        (_FAILED, "an insert that failed"),
        (_FAULT, "a step that stops a member of hot or a server"),
    ):
        parts += [f'<rect x="{at}" y="26" width="10" height="10" fill="{colour}"/>', _text(at + 15, 35, text)]
        at += round(30 + _LETTER * len(text))
    return parts


def _axes(scale: Scale) -> list[str]:
    parts = []
    for exponent in range(round(math.log10(scale.most)) + 1):
        line = scale.y(10.0**exponent)
        name = f"{10**exponent} ms" if exponent < 3 else f"{10 ** (exponent - 3)} s"
        parts += [
            f'<path d="M{_LEFT} {line:.1f}H{_WIDTH - _RIGHT}" stroke="{_AXIS}" stroke-opacity="0.4"/>',
            _text(_LEFT - 5, line + 4, name, anchor="end"),
        ]
    lasts = scale.end - scale.begin
    mark = next((each for each in _MARKS if lasts / each <= _MOST_MARKS), _MARKS[-1])
    for second in range(0, int(lasts) + 1, mark):
        parts.append(
            _text(scale.x(scale.begin + second), _BELOW + 15, f"{second // 60} min", anchor="middle")
        )
    return parts


def _step(step: Step, scale: Scale, top: float) -> list[str]:
    left, right = scale.x(step.begin), scale.x(step.end)
    is_late = right + 5 + _LETTER * len(step.name) > _WIDTH
    colour = _FAULT if step.fault else _OK
    return [
        _box(left, _TOP, right - left, _PANEL, f'{colour}" fill-opacity="{0.12 if step.fault else 0}'),
        _box(left, top, max(right - left, 1), _ROW - 4, colour),
        _text(left - 5 if is_late else right + 5, top + 11, step.name, anchor="end" if is_late else "start"),
    ]


def _box(left: float, top: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{height}" fill="{fill}"/>'


def _dots(queries: Sequence[Query], scale: Scale, colour: str, width: int) -> str:
    """Dots at one place are one: a day has very many inserts."""
    places = sorted({(round(scale.x(query.at)), round(scale.y(query.ms))) for query in queries})
    path = "".join(f"M{x} {y}h0" for x, y in places)
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"/>'


def _text(x: float, y: float, text: str, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}" text-anchor="{anchor}"'
        f' fill="{_TEXT}">{escape(text)}</text>'
    )
