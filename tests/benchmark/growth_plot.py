# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time of a move by its size, one colour for each latency, as one picture for a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.duration import Speed
from benchmark.effect_plot import shown
from benchmark.growth import Row

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 340, 200, 46, 70, 60
# Dark enough on white and on the dark page of a code host: 3:1 and more on both.
_COLOURS = ("#7a7f87", "#1f83d8", "#c4741a", "#b0539c", "#2f9157")
_TEXT, _AXIS = "#57606a", "#8c959f"


@dataclass(frozen=True)
class _Panel:
    """Rows to show beside each other."""

    title: str
    unit: str
    size: Callable[[Row], float]
    rows: Sequence[Row]


def picture(rows: Sequence[Row], speeds: Mapping[float, Speed]) -> str:
    """Return the picture as SVG: dots are measured, lines are predicted. All scales are logarithmic."""
    trips = sorted({row.setting.round_trip for row in rows})
    panels = [
        panel for target in sorted(speeds) for panel in _panels(rows, target) if panel.rows
    ]  # At full speed first.
    title = "How long a move takes, by its size and by the round trip to the ensembles"
    height = _TOP + math.ceil(len(panels) / 2) * (_HEIGHT + _GAP)
    body = [_text(0, 16, title, weight="bold"), *_legend(trips)]
    for number, panel in enumerate(panels):
        left = _LEFT + number % 2 * (_WIDTH + _LEFT)
        top = _TOP + number // 2 * (_HEIGHT + _GAP)
        body += _drawn(panel, left, top, trips, speeds)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * (_WIDTH + _LEFT)} {height}" role="img"'
        f' font-family="sans-serif" font-size="12"><title>{escape(title)}</title>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _panels(rows: Sequence[Row], target: float) -> Iterator[_Panel]:
    own = [row for row in rows if row.setting.latency_target == target and row.is_fitted]
    speed = f"latency_target {target * 1000:g} ms" if target else "full speed"
    yield _Panel(
        f"one shard path, {speed}",
        "parts",
        lambda row: row.work.parts,
        [row for row in own if row.work.largest_partitions > 1],
    )
    yield _Panel(
        f"daily run, {speed}",
        "shard paths",
        lambda row: float(row.work.shard_paths),
        [row for row in own if not row.work.is_first],
    )


def _legend(trips: Sequence[float]) -> Iterator[str]:
    at = 0
    for trip, colour in zip(trips, _COLOURS, strict=False):
        words = f"{trip * 1000:g} ms round trip"
        yield f'<rect x="{at}" y="26" width="11" height="11" fill="{colour}"/>'
        yield _text(at + 16, 36, words)
        at += 32 + 7 * len(words)
    yield _text(at, 36, "dots: measured, lines: predicted")


def _drawn(
    panel: _Panel, left: int, top: int, trips: Sequence[float], speeds: Mapping[float, Speed]
) -> Iterator[str]:
    sizes = sorted({panel.size(row) for row in panel.rows})
    x = _scale(sizes[0], sizes[-1], left + 12, left + _WIDTH - 24)
    times = [row.seconds.median for row in panel.rows]
    decades = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    y = _scale(10 ** decades[0], 10 ** decades[1], top + _HEIGHT, top)
    yield _text(left, top - 8, f"{panel.title}: seconds by {panel.unit}")
    yield f'<path d="M{left} {top}V{top + _HEIGHT}H{left + _WIDTH}" fill="none" stroke="{_AXIS}"/>'
    for power in range(decades[0], decades[1] + 1):
        yield _text(left - 6, y(10**power) + 4, shown(10**power), anchor="end")
    for size in sizes:
        yield _text(x(size), top + _HEIGHT + 16, f"{size:,.0f}", anchor="middle")
    for trip, colour in zip(trips, _COLOURS, strict=False):
        own = sorted((row for row in panel.rows if row.setting.round_trip == trip), key=panel.size)
        predicted = [
            (panel.size(row), speeds[row.setting.latency_target].seconds(row.work, trip)) for row in own
        ]
        points = " ".join(f"{x(size):.1f},{y(seconds):.1f}" for size, seconds in predicted)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        for row in own:
            at = f'cx="{x(panel.size(row)):.1f}" cy="{y(row.seconds.median):.1f}"'
            yield f'<circle {at} r="3.5" fill="{colour}"/>'


def _scale(least: float, most: float, begin: float, end: float) -> Callable[[float], float]:
    """Return where a value is, on a logarithmic scale."""
    span = math.log(most / least) or 1.0
    return lambda value: begin + (end - begin) * math.log(value / least) / span


def _text(x: float, y: float, text: str, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}" text-anchor="{anchor}"'
        f' fill="{_TEXT}">{escape(text)}</text>'
    )
