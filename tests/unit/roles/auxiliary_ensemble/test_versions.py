# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions that the role accepts."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
TASKS = ROOT / "roles" / "auxiliary_ensemble" / "tasks" / "server_state.yml"
MINIMUM = "21.1"
"""The first version with tables in auxiliary ensembles, by the change log of ClickHouse."""


def test_the_oldest_version_is_the_one_that_the_refusal_names() -> None:
    tasks = TASKS.read_text(encoding="utf-8")
    assert re.findall(r"version\('([^']*)', '>='\)", tasks) == [MINIMUM]
    assert f"Bring it to {MINIMUM} or later first." in tasks


def test_pages_name_the_same_version() -> None:
    page = (ROOT / "docs" / "twin" / "auxiliary-ensemble.md").read_text(encoding="utf-8")
    assert f"| ClickHouse before {MINIMUM} | refused" in page
    assert f"{MINIMUM} and later" in (ROOT / "README.md").read_text(encoding="utf-8")
