# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a report: what it may contain, its colours, and how it is shown in a browser."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from partition_classify.report.figures import DayFigures, ReportFigures
from partition_classify.report.page import html_text, months_of, short_text, size_text
from support.classify.reports import empty, large
from support.html_page import (
    HOSTILE,
    Page,
    check_page,
    check_same_elements,
    contrast,
    low_contrasts,
    luminance,
    palettes,
)
from support.servers.chromium import show


@pytest.mark.parametrize("figures", [large(), empty()], ids=["large", "empty"])
def test_page_needs_nothing_else_and_says_what_it_is(figures: ReportFigures) -> None:
    check_page(html_text(figures))


def test_names_are_text_whatever_is_in_them() -> None:
    hostile = html_text(large(HOSTILE))
    check_same_elements(hostile, html_text(large()))
    assert f"{HOSTILE}_0" in Page(hostile).words


def test_page_stays_small() -> None:
    assert len(html_text(large()).encode()) < 300_000


def test_same_figures_give_the_same_bytes() -> None:
    assert html_text(large()) == html_text(large())


def test_calendar_has_every_day_once_at_its_weekday() -> None:
    days = [DayFigures(when, 1, 3, 0) for when in ("2023-12-31", "2024-02-29")]
    months = months_of(days)
    assert [month.name for month in months] == ["February 2024", "January 2024", "December 2023"]
    for month in months:
        for week in month.weeks:
            assert [cell.day.weekday() for cell in week if cell] == [
                number for number, cell in enumerate(week) if cell
            ]
    cells = [cell for month in months for week in month.weeks for cell in week if cell]
    assert len({cell.day for cell in cells}) == len(cells) == 29 + 31 + 31
    assert [cell.day.isoformat() for cell in sorted(cells) if cell.level] == ["2023-12-31", "2024-02-29"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (9949, "9.9k"),
        (9999, "10k"),
        (999_499, "999k"),
        (999_999, "1.0M"),
    ],
)
def test_short_numbers(number: int, text: str) -> None:
    assert short_text(number) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (-(1 << 30), "\u22121.0 GiB")]
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size).replace("\u00a0", " ") == text


# --- colours: text has to be readable, and shades have to differ, for everyone ---------------


PALETTES = palettes(html_text(empty()))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    palette = PALETTES[scheme]
    assert low_contrasts(palette) == {}
    assert contrast(palette["text"], palette["l0"]) >= 4.5
    assert len([name for name in palette if name.endswith("-text")]) == 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shades_differ_in_lightness_and_not_in_hue_alone(scheme: str) -> None:
    palette = PALETTES[scheme]
    shades = [palette[f"l{level}"] for level in range(1, 6)]
    values = [luminance(shade) for shade in shades]
    assert values == sorted(values, reverse=scheme == "light")
    assert all(contrast(one, other) >= 1.3 for one, other in pairwise(shades))
    bars = ("keep", "merge", "go")
    assert all(contrast(palette[one], palette[other]) >= 1.8 for one, other in pairwise(bars))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 2600), (390, 5200)])
def test_page_fits_into_its_window(tmp_path: Path, width: int, height: int, scheme: str) -> None:
    """At the width of a laptop and of a phone; the screenshots stay in the folder of the test."""
    page = tmp_path / "report.html"
    page.write_text(html_text(large()), encoding="utf-8")
    shown = show(page, tmp_path, width=width, height=height, scheme=scheme)
    assert (shown.inner_width, shown.console) == (width, [])
    assert shown.scroll_width <= width
    assert shown.background == PALETTES[scheme]["page"]
