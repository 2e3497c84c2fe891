# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Advice that deletes states the condition that makes it safe.

Other tests compare the tables of these pages with the texts of the code.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("census.md", "operate/audit.md", "operate/replica-health.md", "twin/audit.md", "reference/gates.md")
# Statements in capitals are those that a gate waits for.
DELETES = re.compile(
    r"\b([Dd]rop|[Rr]emove|[Dd]elete|[Ff]orget)\b[^.]*\b(folder|replicas?|znodes?|tables?|parts?|partition)\b"
)
CONDITION = re.compile(r"\b(only|never|do not|if|once|as long as|refuses|TTL)\b", re.IGNORECASE)
BY_HAND = re.compile(r"\b(deleteall|rmr)\b")
RECORD = "zkCli.sh -server hot1:2181 deleteall <record>"
"""Only records of this collection are deleted by hand, as a finding of an audit says."""


def remedies(page: str) -> list[str]:
    """Return the last cell of each row of the page's tables."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| `") and line.endswith("|")]
    return [row.rstrip(" |").rpartition("| ")[2] for row in rows]


@pytest.mark.parametrize("page", PAGES)
def test_every_remedy_that_deletes_has_a_condition(page: str) -> None:
    texts = remedies(page)
    assert texts
    found = [text for text in texts if DELETES.search(text)]
    assert [text for text in found if not CONDITION.search(text)] == []


def test_no_page_deletes_znodes_of_tables_by_hand() -> None:
    lines = {
        line.strip()
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for line in page.read_text(encoding="utf-8").splitlines()
        if BY_HAND.search(line)
    }
    assert lines == {RECORD}


def test_remedies_that_delete_are_found() -> None:
    texts = ["Start the replica, or drop the replica for good.", "Delete the znode when nobody needs it."]
    assert all(DELETES.search(text) and not CONDITION.search(text) for text in texts)
