# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each operation that must not meet a cold part has its page, and what the page says to run is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = [
    f"patched/{each}" for each in ("drop", "detach", "rewrite", "copy-partitions", "late-insert", "replica")
]
PAGES = [
    *OPERATIONS,
    "patched/cold-lost",
    "patched/go-back",
    "patched/reheat",
    "operate/repair",
    "twin/move",
    "twin/reheat",
]
HEADINGS = ["When", "The danger", "Steps", "How to see that it worked", "Rollback"]


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", OPERATIONS)
def test_a_page_says_when_why_how_and_how_to_come_back(page: str) -> None:
    headings = re.findall(r"^## (.+)$", text_of(page), re.MULTILINE)
    assert headings[: len(HEADINGS)] == HEADINGS


@pytest.mark.parametrize("page", PAGES)
def test_the_index_of_pages_names_the_page(page: str) -> None:
    assert f"({page}.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_playbooks_of_a_page_are_there_and_know_its_variables(page: str) -> None:
    text = text_of(page)
    playbooks = set(re.findall(r"ansible-playbook olap\.partmove\.(\w+)", text))
    assert all((ROOT / "playbooks" / f"{each}.yml").is_file() for each in playbooks)
    known = {name for role in (ROOT / "roles").glob("*/meta/argument_specs.yml") for name in options_of(role)}
    head = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "playbooks").rglob("*.yml")))
    prefixes = "part_move|partition_classify|twin_move|partmove_repair|while_hot|drop"
    used = set(re.findall(rf"\b((?:{prefixes})_[a-z_]+)\b", text)) - {"while_hot"}
    assert {name for name in used if name not in known and name not in head} == set()


def options_of(path: Path) -> list[str]:
    spec: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
    return [name for entry in spec.values() for name in entry.get("options", {})]
