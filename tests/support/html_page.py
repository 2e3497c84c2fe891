# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an HTML page is made of, and whether its colours can be read."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

REPORT = Path(__file__).resolve().parents[2] / "roles/partition_classify/files/partition_classify/report"
STYLE = (REPORT / "page.css").read_text(encoding="utf-8")
"""The rules that all pages have, with all colours."""

SCRIPT = (REPORT / "page.js").read_text(encoding="utf-8")
"""The script that all pages have."""

SCRIPT_DIGEST = (REPORT / "page.js.sha256").read_text(encoding="utf-8").strip()
"""What the policy of a page names the script by."""

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7 * 7 }}&amp;"
"""A name that would be more than text where it is not escaped."""

_FROM_ELSEWHERE = re.compile(r"(?i)https?:|//[a-z]|url\(|@import|<script|<link|<img|<iframe|\son\w+=")


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
        """Take the beginning of an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Take the end of the element that was begun last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]


def check_page(text: str, script: str = "") -> None:
    """Fail where the page needs something else, or does not say what it and its tables are.

    ``script`` is the one that it may have.
    """
    page = Page(text)
    assert not _FROM_ELSEWHERE.search(text.replace(f"<script>{script}</script>", "", 1) if script else text)
    assert page.named("html") == [{"lang": "en"}]
    # Charts have titles too.
    assert text.partition("</head>")[0].count("<title>") == 1
    assert len(page.named("h1")) == len(page.named("main")) == 1
    # Every table says what is in it, and every column what it is of.
    assert len(page.named("caption")) == len(page.named("table"))
    assert all("scope" in attributes for attributes in page.named("th"))
    assert all(attributes["tabindex"] == "0" for attributes in page.named("div") if "tabindex" in attributes)


def check_same_elements(one: str, other: str) -> None:
    """Fail where two pages that differ in text alone differ in more; a line may end at other places."""
    first, second = (Page(text.replace("<wbr>", "")) for text in (one, other))
    assert [each[0] for each in first.elements] == [each[0] for each in second.elements]
    assert {key for _tag, attributes in first.elements for key in attributes} == {
        key for _tag, attributes in second.elements for key in attributes
    }


def palettes() -> dict[str, dict[str, str]]:
    """Return the colours of all pages by name, for ``light`` and ``dark``."""
    found = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in found)
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Of two colours, 4.5 being enough for text."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def low_contrasts(palette: dict[str, str]) -> dict[tuple[str, str], float]:
    """Pairs of the colours of text and of what is below it that cannot be read."""
    pairs = [(text, ground) for text in ("text", "soft", "accent") for ground in ("page", "card")]
    pairs += [(name, name.removesuffix("-text")) for name in palette if name.endswith("-text")]
    found = {pair: contrast(*(palette[name] for name in pair)) for pair in pairs}
    return {pair: value for pair, value in found.items() if value < 4.5}
