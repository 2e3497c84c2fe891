# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The index of decisions lists each decision once, and all decisions have the same form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "internals" / "adr"
DECISIONS = sorted(FOLDER.glob("0*.md"))
SECTIONS = ["Context", "Decision", "Alternatives", "Consequences"]


def title_of(page: Path) -> str:
    """Return the heading of a decision: its number and its title."""
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def test_the_index_lists_every_decision_once_with_its_title() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+)\) \|$", index, flags=re.MULTILINE)
    listed = {(name, f"{number}. {title}") for number, title, name in rows}
    assert len(rows) == len(listed)
    assert listed == {(page.name, title_of(page)) for page in DECISIONS}


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_its_sections_and_a_next_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert title_of(page).startswith(f"{int(page.name[:4])}. ")
    assert re.findall(r"^## (.+)$", text, flags=re.MULTILINE) == SECTIONS
    assert text.splitlines()[-1].startswith("Next: ")
