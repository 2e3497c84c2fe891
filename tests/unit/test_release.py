# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is released, and what is refused before anything is written."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from release import PAGES, UNRELEASED, added_in, problem, with_version

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("version", "released", "changed", "said"),
    [
        ("1.0.0", (), (), None),
        ("0.1.0", (), (), None),
        ("1.10.0", ("1.9.0", "1.2.0"), (), None),
        ("1.0", (), (), "the version '1.0' is not of the form 1.2.3: give another one"),
        ("1.0.0-rc1", (), (), "the version '1.0.0-rc1' is not of the form 1.2.3: give another one"),
        ("1.2.0", ("1.2.0",), (), "1.2.0 is released, and 1.2.0 is not later: give a later version"),
        (
            "1.9.0",
            ("1.2.0", "1.10.0"),
            (),
            "1.10.0 is released, and 1.9.0 is not later: give a later version",
        ),
        (
            "0.0.9",
            (),
            (),
            "galaxy.yml has version 0.1.0, and 0.0.9 is earlier: give 0.1.0 or a later one",
        ),
        ("1.0.0", (), ("?? a", " M b"), "2 files are not committed, such as ?? a: commit or remove them"),
    ],
)
def test_releases_that_cannot_be_made_are_refused(
    version: str, released: Sequence[str], changed: Sequence[str], said: str | None
) -> None:
    assert problem(version, "0.1.0", released, changed) == said


def test_only_the_version_itself_is_replaced() -> None:
    text = "olap-partmove-0.1.0.tar.gz; 0.1.0. 10.1.0 0.1.0.1 0.1.01"
    assert with_version(text, "0.1.0", "1.0.0") == "olap-partmove-1.0.0.tar.gz; 1.0.0. 10.1.0 0.1.0.1 0.1.01"


def test_what_was_added_in_an_unreleased_version_is_added_in_the_released_one() -> None:
    text = "version_added: 0.1.0\n  a:\n    version_added: 0.1.0\n  b:\n    version_added: 0.0.9\n# of 0.1.0"
    assert added_in(text, "0.1.0", "1.0.0") == (
        "version_added: 1.0.0\n  a:\n    version_added: 1.0.0\n  b:\n    version_added: 0.0.9\n# of 0.1.0"
    )


def test_the_summary_of_an_unreleased_version_says_so_in_the_known_words() -> None:
    released = yaml.safe_load((ROOT / "changelogs/changelog.yaml").read_text())["releases"]
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    fragments = (ROOT / "changelogs/fragments").glob("*.yml")
    assert sum(UNRELEASED in each.read_text() for each in fragments) == (version not in released)


def test_every_file_that_names_the_version_is_known() -> None:
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    asked = ("README.md", "galaxy.yml", "docs/", "roles/", "playbooks/", "meta/", "plugins/module_utils/")
    command = ["git", "grep", "--files-with-matches", "--fixed-strings", version, "--", *asked]
    named = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(named) == set(PAGES)
