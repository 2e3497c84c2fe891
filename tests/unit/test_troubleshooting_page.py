# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every message that the page about troubleshooting quotes is one that the collection prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operate" / "troubleshooting.md").read_text(encoding="utf-8")
FIRST_CELLS = re.findall(r"^\| (`.*?) \| ", PAGE, flags=re.MULTILINE)
FRAGMENTS = [fragment for cell in FIRST_CELLS for fragment in re.findall(r"`([^`]+)`", cell)]
FOLDERS = ("plugins", "roles", "playbooks")
SUFFIXES = frozenset({".py", ".yml", ".j2"})


@pytest.fixture(scope="module")
def sources() -> str:
    """Return all that is shipped, with each run of white space as one space, as messages may be folded."""
    files = [
        path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES
    ]
    return " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in files)


def test_the_page_has_messages() -> None:
    assert len(FIRST_CELLS) >= 35
    assert len(set(FIRST_CELLS)) == len(FIRST_CELLS)


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_quoted_message_is_in_the_collection(sources: str, fragment: str) -> None:
    assert fragment.strip() in sources
