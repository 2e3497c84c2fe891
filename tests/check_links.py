# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check the relative links of all pages: of README.md, roles, docs/. Files, pictures and headings exist.

Addresses of other sites are not checked. Anchors are those that GitHub gives to headings.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A code span ends within its paragraph.
_CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_NAMED = re.compile(r"<[a-z][^>]*?\s(?:id|name)=[\"']([^\"']+)[\"']", re.IGNORECASE)
_LINKS = (
    # [text](target "title"), and images with a ! before.
    re.compile(r"\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?(?:\s+[\"'(][^)]*)?\)"),
    # [name]: target
    re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE),
    re.compile(r"<(?:a|img|source)\s[^>]*?(?:href|src|srcset)=[\"']([^\"']+)[\"']", re.IGNORECASE),
)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


class Link(NamedTuple):
    """A link of a page."""

    line: int
    target: str


def links(text: str) -> Iterator[Link]:
    """Yield the links of a Markdown text to this repository, those of code and comments left out."""
    for pattern in (_FENCE, _COMMENT, _CODE):
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    for pattern in _LINKS:
        for found in pattern.finditer(text):
            if not ELSEWHERE.match(found[1]):
                yield Link(text.count("\n", 0, found.start(1)) + 1, found[1])


def anchors(text: str) -> set[str]:
    """Return the anchors of a Markdown text: of its headings and of HTML elements with a name."""
    text = _COMMENT.sub("", _FENCE.sub("", text))
    found: set[str] = set(_NAMED.findall(_CODE.sub("", text)))
    times: dict[str, int] = {}
    for heading in _HEADING.findall(text):
        anchor = anchor_of(heading)
        number = times.get(anchor, 0)
        times[anchor] = number + 1
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub gives to the first heading with this text.

    >>> anchor_of("What `make sandbox` does, & [why](why.md)")
    'what-make-sandbox-does--why'
    """
    # What is in code is text, whatever it looks like.
    shown = "".join(
        piece if number % 3 == 2 else "" if number % 3 else _rendered(piece)
        for number, piece in enumerate(_CODE.split(heading))
    )
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def broken(page: Path, root: Path = ROOT) -> Iterator[str]:
    """Yield one line for each link of the page that leads nowhere."""
    for line, target in sorted(links(page.read_text(encoding="utf-8"))):
        path, _mark, anchor = unquote(target).partition("#")
        base = root if path.startswith("/") else page.parent
        file = (base / path.lstrip("/")).resolve() if path else page
        place = f"{page.relative_to(root)}:{line}: {target}"
        if not file.is_relative_to(root):
            yield f"{place}: is outside of the repository"
        elif not file.exists():
            yield f"{place}: there is no such file"
        elif anchor and file.suffix == ".md" and anchor not in _anchors_of(file):
            yield f"{place}: there is no such heading"


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages to check."""
    everywhere = ("*.md", "docs/**/*.md", "roles/*/*.md", ".github/*.md")
    return [page for pattern in everywhere for page in sorted(root.glob(pattern))]


def main() -> int:
    """Print every broken link; return 1 where there is one."""
    found = [line for page in pages() for line in broken(page)]
    for line in found:
        print(line)
    return 1 if found else 0


@cache
def _anchors_of(page: Path) -> set[str]:
    return anchors(page.read_text(encoding="utf-8"))


def _rendered(text: str) -> str:
    """Return the text that Markdown without code shows: no pictures, tags, emphasis or addresses."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<[^>]+>", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    return re.sub(r"(?<!\w)(_{1,2})(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", text).replace("*", "")


if __name__ == "__main__":
    sys.exit(main())
