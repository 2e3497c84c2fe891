# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a report: what it may contain, its colours, and how it is shown in a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from partition_classify.report.figures import DayFigures, ReportFigures
from partition_classify.report.page import html_text, months_of, short_text, size_text
from support.classify.reports import empty, large
from support.servers.chromium import show

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7 * 7 }}&amp;"


class Page(HTMLParser):
    """What a page is made of; fails where an element is not closed."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.mark.parametrize("figures", [large(), empty()], ids=["large", "empty"])
def test_page_needs_nothing_else_and_says_what_it_is(figures: ReportFigures) -> None:
    text = html_text(figures)
    page = Page(text)
    assert not re.search(r"(?i)https?:|//[a-z]|url\(|@import|<script|<link|<img|<iframe|\son\w+=", text)
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("title")) == len(page.named("h1")) == len(page.named("main")) == 1
    # Every table says what is in it, and every column what it is of.
    assert len(page.named("caption")) == len(page.named("table"))
    assert all("scope" in attributes for attributes in page.named("th"))
    assert all(attributes["tabindex"] == "0" for attributes in page.named("div") if "tabindex" in attributes)


def test_names_are_text_whatever_is_in_them() -> None:
    hostile, plain = Page(html_text(large(HOSTILE))), Page(html_text(large()))
    assert [each[0] for each in hostile.elements] == [each[0] for each in plain.elements]
    assert f"{HOSTILE}_0" in hostile.words
    assert {key for _tag, attributes in hostile.elements for key in attributes} == {
        key for _tag, attributes in plain.elements for key in attributes
    }


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


def palettes() -> dict[str, dict[str, str]]:
    found = re.findall(r":root \{(.*?)\}", html_text(empty()), re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in found)
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    palette = palettes()[scheme]
    assert palettes()["light"].keys() == palettes()["dark"].keys()
    pairs = [(text, ground) for text in ("text", "soft", "accent") for ground in ("page", "card")]
    pairs += [(name, name.removesuffix("-text")) for name in palette if name.endswith("-text")]
    pairs += [("text", "l0")]
    low = {pair: contrast(*(palette[name] for name in pair)) for pair in pairs}
    assert {pair: value for pair, value in low.items() if value < 4.5} == {}
    assert len(pairs) == 16


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shades_differ_in_lightness_and_not_in_hue_alone(scheme: str) -> None:
    palette = palettes()[scheme]
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
    assert shown.background == palettes()[scheme]["page"]
