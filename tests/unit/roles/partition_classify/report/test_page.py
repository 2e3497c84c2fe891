# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a report: its content, its colours, and its layout in a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from partition_classify.report.figures import Amount, ReportFigures
from partition_classify.report.page import (
    count_text,
    duration_text,
    html_text,
    path_markup,
    share_text,
    short_text,
    size_text,
)
from support.classify.reports import empty, large
from support.html_page import (
    HOSTILE,
    SCRIPT,
    Page,
    check_page,
    check_same_elements,
    contrast,
    low_contrasts,
    palettes,
)
from support.servers.chromium import show


@pytest.mark.parametrize("figures", [large(), empty()], ids=["large", "empty"])
def test_page_is_self_contained(figures: ReportFigures) -> None:
    check_page(html_text(figures), SCRIPT)


def test_names_are_text_whatever_is_in_them() -> None:
    hostile = html_text(large(HOSTILE))
    check_same_elements(hostile, html_text(large()))
    assert f"{HOSTILE}_0" in "".join(Page(hostile).words)


def test_differences_of_another_policy_by_table() -> None:
    figures = large()
    words = " ".join(" ".join(Page(html_text(figures)).words).split())
    section = words[words.index("Comparison with the other policy") : words.index("Parts and merges")]
    assert (
        "The other policy would move 1,500,000 znodes more, of 50,000 partitions, and 123,000 less, of 4,100"
        in section
    )
    # More and less to move with their partitions, both together, and partitions to reheat.
    assert "_ 0 90,000 3,000 partitions 0 0 partitions +90,000 2 0" in section
    assert "_ less 0 0 partitions 1,800 60 partitions \N{MINUS SIGN}1,800 2 0" in section
    assert (
        "All tables, including 12 more with differences 1,500,000 50,000 partitions 123,000 4,100" in section
    )
    assert "The other policy does not fit the tables: rules[3], " in section
    assert section.count("More to move") == 1

    assert figures.comparison is not None
    same = {**figures.comparison, "tables": [], "misfits": []}
    words = " ".join(Page(html_text(replace(figures, comparison=same))).words)
    assert "Both policies move and reheat the same partitions." in words
    assert "does not fit" not in words
    assert "Comparison with the other policy" not in " ".join(Page(html_text(empty())).words)


def test_decisions_by_rule() -> None:
    figures = large()
    words = " ".join(" ".join(Page(html_text(figures)).words).split())
    section = words[words.index("Decisions by rule") : words.index("Comparison with the other policy")]
    moved, today = figures.hot.moved.partitions, figures.hot.today.partitions
    assert "_ [0-9] rules[0] 0 \N{EN DASH}" in section
    pins = "rules[1] pins unknown partitions: 201901"
    assert f"{pins} {count_text(moved)} {count_text(moved // 2)}" in section
    assert f"defaults {count_text(today // 2)} \N{EN DASH}" in section
    assert "Decisions by rule" not in " ".join(Page(html_text(empty())).words)


def test_unreadable_items_are_named_at_the_top() -> None:
    def page(*paths: str, count: int) -> str:
        first = [{"shard_path": path, "partition": path[-1:]} for path in paths]
        return html_text(replace(large(), unread={"count": count, "first": first}))

    def header(text: str) -> str:
        words = " ".join("".join(Page(text).words).split())
        return words[: words.index("As of")]

    assert "Not complete" not in header(html_text(large()))
    assert "Not complete" not in header(page(count=0))
    text = page(f"/hits{HOSTILE}", "/s", count=1_002)
    assert "Not complete: 1,002 tables, partitions and folders are unreadable" in header(text)
    assert f"/hits{HOSTILE} {HOSTILE[-1]}, /s s, and more." in header(text)
    check_same_elements(text, page("/hits", "/s", count=1_002))
    assert "/s s." in header(page("/s", count=1))


def test_page_stays_small_at_500_tables_and_five_years() -> None:
    figures = large()
    assert (len(figures.largest_tables), len(figures.months)) == (500, 60)
    assert len(html_text(figures).encode()) < 2_000_000


def test_browser_runs_the_script_of_the_page_only() -> None:
    text = html_text(empty())
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert {"http-equiv": "Content-Security-Policy", "content": policy} in Page(text).named("meta")


@pytest.mark.parametrize("kind", ["now", "gated", "after"])
def test_headline_and_tiles_have_the_numbers_of_the_figures(kind: str) -> None:
    figures = large()
    words = " ".join("".join(Page(html_text(figures)).words).split())
    header = words[: words.index("As of")]
    assert count_text(getattr(figures.hot, kind).znodes) in (words if kind == "after" else header)
    today = figures.hot.today.znodes
    now, gated = (share_text(each.znodes, today) for each in (figures.hot.now, figures.hot.gated))
    # What can go now comes first.
    assert header.index(" ".join(now.split())) < header.index(" ".join(gated.split()))
    assert f"after {count_text(figures.merges.partitions)} merges" in header


def test_page_shows_how_long_moves_take() -> None:
    figures = large()
    section = _section(html_text(figures), "How long moves take")
    assert len(figures.durations) == 5
    for each in figures.durations:
        seconds = (each.first, each.first_full_speed, each.daily, each.daily_full_speed)
        shown = " ".join(" ".join(duration_text(second).split()) for second in seconds)
        assert f"{each.round_trip_ms:g} ms {shown}" in section
    assert "How long moves take" not in html_text(empty())


def _section(text: str, heading: str) -> str:
    words = " ".join(" ".join(Page(text).words).split())
    begin = words.index(heading)
    return words[begin : words.index("max_parts_per_second", begin)]


def test_page_shows_the_gain_of_both_ways() -> None:
    figures = large()
    hot = figures.hot
    ways = [share_text(each.znodes, hot.today.znodes) for each in (hot.one_part, hot.moved)]
    gains = (
        "By way: patched: {} can go now, the rest after merges;"
        " twin: {} can go now, because a cold twin accepts partitions with several parts."
    )
    # As in a plan that is for cold twins.
    for each in (hot, replace(hot, now=hot.moved, gated=hot.gated - hot.gated)):
        words = " ".join("".join(Page(html_text(replace(figures, hot=each))).words).split())
        assert gains.format(*(" ".join(way.split()) for way in ways)) in words
    same = html_text(replace(figures, hot=replace(hot, one_part=hot.moved)))
    assert "because none of these partitions has several parts." in "".join(Page(same).words)


def test_forecast_of_the_twin_way_is_that_with_merges() -> None:
    figures = large()
    assert figures.forecast is not None
    sentence = "The twin way needs no merges: its forecast is the line with this policy and its merges."
    assert sentence in " ".join("".join(Page(html_text(figures)).words).split())
    equal = [replace(each, without_merges=each.with_merges) for each in figures.forecast.to_come]
    without_gated = replace(figures, forecast=replace(figures.forecast, to_come=tuple(equal)))
    assert sentence not in " ".join("".join(Page(html_text(without_gated)).words).split())


def test_rest_in_hot_is_what_stays_and_what_comes_back() -> None:
    hot = replace(large().hot, reheated=Amount(partitions=1, znodes=1_200))
    hot = replace(hot, after=hot.today - hot.moved + hot.reheated)
    words = " ".join(" ".join(Page(html_text(replace(large(), hot=hot))).words).split())
    stay = count_text(hot.today.znodes - hot.moved.znodes)
    assert f"{count_text(hot.after.znodes)} {stay} stay, 1,200 come back; " in words
    assert "1,200 come back from cold, of 1 partition: in hot afterwards, but not in hot today" in words
    none = replace(hot, reheated=Amount())
    assert f"{stay} stay; " in " ".join(" ".join(Page(html_text(replace(large(), hot=none))).words).split())


def test_table_heads_begin_with_a_capital() -> None:
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', html_text(large()))
    assert len(heads) > 30
    assert [head for head in heads if not re.match(r"[A-Z][a-z]+( [a-z]+)*$", head)] == []


def test_long_names_may_be_broken_after_a_slash_and_an_underscore() -> None:
    assert path_markup("/a/<b>_c") == "/<wbr>a/<wbr>&lt;b&gt;_<wbr>c"


def test_unknown_bytes_are_shown_as_unknown() -> None:
    figures = large()
    merges = replace(figures.merges, unknown=figures.merges.partitions, bytes_on_disk=0)
    words = "".join(Page(html_text(replace(figures, merges=merges))).words)
    assert "is unknown: no server was asked" in words
    assert "unknown" in "".join(Page(html_text(figures)).words)


def test_same_figures_give_the_same_bytes() -> None:
    assert html_text(large()) == html_text(large())


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


# --- colours: text has to be readable, and marks have to be seen and told apart, for everyone ---------------


PALETTES = palettes()
MARKS = ("go", "merge", "keep", "none")
"""Colours of marks for numbers: bars, areas of charts, and lines."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    palette = PALETTES[scheme]
    assert low_contrasts(palette) == {}
    assert contrast(palette["text"], palette["code"]) >= 4.5
    assert {"go-text", "merge-text", "keep-text"} <= palette.keys()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_are_seen(scheme: str) -> None:
    palette = PALETTES[scheme]
    contrasts = {
        (mark, ground): contrast(palette[mark], palette[ground])
        for mark in MARKS
        for ground in ("page", "card")
    }
    assert {pair: value for pair, value in contrasts.items() if value < 3} == {}


def test_no_mark_has_another_colour() -> None:
    styles = re.findall(r"<style>(.*?)</style>", html_text(empty()), re.DOTALL)[0]
    used = re.findall(r"([^{}]+)\{[^{}]*?(?:fill|stroke|background): (var\(--[\w-]+\)|#\w+)", styles)
    others = {
        "var(--page)",
        "var(--card)",
        "var(--line)",
        "var(--code)",
        "var(--good)",
        "var(--drift)",
        "#fff",
    }
    marks = {colour for _selector, colour in used} - others
    assert marks == {f"var(--{name})" for name in MARKS}
    # What has the colour of no mark is no mark.
    grounds = " ".join(selector for selector, colour in used if colour in others)
    assert not re.search(r"\b(bar|curve|mark|dot|stack)\b", grounds)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_differ_in_lightness_and_what_can_go_is_the_strongest(scheme: str) -> None:
    palette = PALETTES[scheme]
    shades = [palette[kind] for kind in ("keep", "merge", "go")]
    from_card = [contrast(shade, palette["card"]) for shade in shades]
    assert from_card == sorted(from_card)
    assert all(contrast(one, other) >= 1.8 for one, other in pairwise(shades))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 2600), (390, 5200)])
def test_page_fits_into_its_window(tmp_path: Path, width: int, height: int, scheme: str) -> None:
    """At the width of a laptop and of a phone; the screenshots stay in the folder of the test."""
    page = tmp_path / "report.html"
    page.write_text(html_text(large()), encoding="utf-8")
    opened = 'for (const each of document.querySelectorAll("details")) each.open = true;'
    told = "parent.document.body.dataset.told = page.scrollWidth;"
    shown = show(page, tmp_path, width=width, height=height, scheme=scheme, script=opened + told)
    assert (shown.inner_width, shown.console) == (width, [])
    assert shown.scroll_width <= width
    assert shown.told is not None
    assert int(shown.told) <= width
    assert shown.background == PALETTES[scheme]["page"]


def test_page_of_one_month_fits_into_the_window_of_a_phone(tmp_path: Path) -> None:
    figures = large()
    page = tmp_path / "report.html"
    page.write_text(html_text(replace(figures, months=figures.months[-1:])), encoding="utf-8")
    assert show(page, tmp_path, width=390, height=5200, scheme="light").scroll_width <= 390


def test_nothing_is_said_of_merges_that_are_not_needed() -> None:
    figures = large()
    said = ("without the merges", "after both moves")
    assert all(words in html_text(figures) for words in said)
    text = html_text(replace(figures, hot=replace(figures.hot, gated=Amount())))
    assert not any(words in text for words in said)
    assert "after the move" in text


SEARCH = """
const lists = [...document.querySelectorAll("details")].map((each) => each.open);
const box = document.getElementById("listed-search");
const shown = () => [...document.querySelectorAll("#listed tbody tr")].filter((row) => !row.hidden).length;
const found = [lists.some((each) => each), box.parentNode.hidden, shown()];
for (const words of ["NAME_123", "name clickhouse _49", "nowhere", ""]) {
  box.value = words;
  box.dispatchEvent(new Event("input"));
  found.push(shown(), box.parentNode.querySelector("output").textContent);
}
parent.document.body.dataset.told = found.join("; ");
"""


def test_tables_are_folded_and_can_be_searched(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(html_text(large()), encoding="utf-8")
    shown = show(page, tmp_path, width=1280, height=800, scheme="light", script=SEARCH)
    assert shown.console == []
    assert shown.told == "false; false; 500; 1; 1 of 500; 11; 11 of 500; 0; 0 of 500; 500; 500 of 500"
