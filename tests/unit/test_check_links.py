# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check of the links of pages, on pages of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from check_links import Link, anchor_of, anchors, broken, links


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Use it", "use-it"),
        ("1. Install", "1-install"),
        ("How do I try it in an hour?", "how-do-i-try-it-in-an-hour"),
        ("`part_move`: moves partitions", "part_move-moves-partitions"),
        ("Before & after", "before--after"),
        ("Hot/cold — and *back*", "hotcold--and-back"),
        ("The [page](page.md#x) of __twins__ and _all_", "the-page-of-twins-and-all"),
        ("Options of zk_hot_members", "options-of-zk_hot_members"),
        ("`<cold_zookeeper>` and `*.xml`", "cold_zookeeper-and-xml"),
        ("Größe auf Deutsch", "größe-auf-deutsch"),
        ("![badge](badge.svg) Status <br>", "status"),
    ],
)
def test_the_anchor_of_a_heading_is_that_of_github(heading: str, anchor: str) -> None:
    assert anchor_of(heading) == anchor


def test_headings_with_the_same_text_are_numbered_and_code_has_none() -> None:
    text = "# A\n\n## A ##\n```sh\n# not a heading\n```\n### A\n<a id='own'></a>\n#hashtag\n<!--\n# B\n-->\n"
    assert anchors(text) == {"a", "a-1", "a-2", "own"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See [one](a.md) and [two](b.md#c 'title').", [Link(1, "a.md"), Link(1, "b.md#c")]),
        ("\n![picture](images/a.png)", [Link(2, "images/a.png")]),
        ("[![badge](a.svg)](b.md)", [Link(1, "a.svg"), Link(1, "b.md")]),
        ("[a](<b.md>) [b](c_(d).md)", [Link(1, "b.md"), Link(1, "c_(d).md")]),
        ("[one][1]\n\n[1]: a.md", [Link(3, "a.md")]),
        ('<img src="a.png">', [Link(1, "a.png")]),
        ("[a](https://example.com/b) [c](mailto:d@e) [f](//g)", []),
        ("`[a](b.md)` and ``[`c`](d.md)``", []),
        ("A `code\nspan [a](b.md)` and\n[c](d.md)", [Link(3, "d.md")]),
        ("```\n[a](b.md)\n```\n[c](d.md)", [Link(4, "d.md")]),
        ("````\n```\n[a](b.md)\n````\n[c](d.md)", [Link(5, "d.md")]),
        ("An open ` mark.\n\n[c](d.md) and ` again", [Link(3, "d.md")]),
        ("<!-- [a](b.md) -->", []),
    ],
)
def test_links_are_found_but_for_those_of_code_and_other_sites(text: str, found: list[Link]) -> None:
    assert list(links(text)) == found


def test_links_that_lead_nowhere_are_listed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "b.md").write_text("# Here\n")
    (tmp_path / "docs" / "a%20b.png").touch()
    page = tmp_path / "a.md"
    page.write_text(
        "# Top\n"
        "[good](docs/b.md) [good](docs/b.md#here) [good](#top) [good](/docs/b.md) [good](docs/)\n"
        "[bad](docs/c.md)\n[bad](docs/b.md#there)\n[bad](#here)\n[bad](../elsewhere.md)\n![bad](docs/a%20b.png)\n"
    )

    assert list(broken(page, tmp_path)) == [
        "a.md:3: docs/c.md: there is no such file",
        "a.md:4: docs/b.md#there: there is no such heading",
        "a.md:5: #here: there is no such heading",
        "a.md:6: ../elsewhere.md: is outside of the repository",
        "a.md:7: docs/a%20b.png: there is no such file",
    ]
