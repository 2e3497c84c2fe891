# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marks of the charts: their sizes are those of the numbers."""

from __future__ import annotations

import pytest

from partition_classify.report.charts import HEIGHT, WIDTH, age_chart, forecast_chart, round_up
from partition_classify.report.figures import MonthFigures
from support.classify.reports import large


def test_bars_are_as_high_as_the_numbers_and_stand_on_each_other() -> None:
    chart = age_chart([MonthFigures("2026-10", 3, 10, 20, 70), MonthFigures("2026-11", 1, 50, 0, 0)])
    first, second = chart.bars
    assert chart.top == 100
    assert [(mark.kind, mark.height) for mark in first.marks] == [
        ("go", 0.7 * HEIGHT),
        ("merge", 0.2 * HEIGHT),
        ("keep", 0.1 * HEIGHT),
    ]
    assert first.marks[0].y + first.marks[0].height == HEIGHT
    assert first.marks[1].y + first.marks[1].height == first.marks[0].y
    assert [(mark.kind, mark.y) for mark in second.marks] == [("keep", HEIGHT / 2)]
    assert first.x + first.width < second.x


def test_years_are_few_and_at_their_januaries() -> None:
    months = [
        MonthFigures(f"{2010 + number // 12}-{number % 12 + 1:02}", 1, 1, 1, 1) for number in range(180)
    ]
    ticks = age_chart(months).years
    assert 3 <= len(ticks) <= 6
    assert ticks[1].place == pytest.approx(100 * (int(ticks[1].text) - 2010) * 12 / 180, abs=0.01)


def test_a_few_months_are_no_slab_and_have_a_date() -> None:
    chart = age_chart([MonthFigures("2026-06", 3, 10, 20, 70)])
    (bar,) = chart.bars
    assert bar.width < WIDTH / 12 < WIDTH - bar.x + 0.01
    (tick,) = chart.years
    assert tick.text == "2026-06"
    assert tick.place == pytest.approx(1100 / 12, abs=0.01)
    # On its right a label of a month does not fit into the window of a phone.
    assert tick.is_left_of_place


def test_lines_begin_where_the_past_ends() -> None:
    forecast = large().forecast
    assert forecast is not None
    chart = forecast_chart(forecast)
    points = {
        name: [tuple(map(float, each.split(","))) for each in line.split()]
        for name, line in chart.lines.items()
    }
    assert list(points) == ["so-far", "without", "without-merges", "with-merges"]
    last = points["so-far"][-1]
    assert {line[0] for name, line in points.items() if name != "so-far"} == {last}
    assert {line[-1][0] for name, line in points.items() if name != "so-far"} == {WIDTH}
    # Up is less, as the zero is at the top.
    assert points["without"][-1][1] < points["without-merges"][-1][1] < points["with-merges"][-1][1]
    assert chart.now == last[0]


@pytest.mark.parametrize("number", [*range(300), 999, 1000, 1001, 123_456_789])
def test_axis_has_room_for_all_and_not_much_more(number: int) -> None:
    assert number <= round_up(number) <= max(1, 2 * number)


def test_charts_of_no_data() -> None:
    assert age_chart([]).bars == ()
