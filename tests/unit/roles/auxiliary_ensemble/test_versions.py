# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions that the role accepts."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.versions import (
    OLDEST_WITH_AUXILIARY_TABLES,
)

ROOT = Path(__file__).resolve().parents[4]
TASKS = ROOT / "roles" / "auxiliary_ensemble" / "tasks" / "server_state.yml"
MINIMUM = str(OLDEST_WITH_AUXILIARY_TABLES)


def test_the_oldest_version_is_the_one_that_the_refusal_names() -> None:
    tasks = TASKS.read_text(encoding="utf-8")
    assert re.findall(r"version\('([^']*)', '>='\)", tasks) == [MINIMUM]
    assert f"Bring it to {MINIMUM} or later first." in tasks


def test_pages_name_the_same_version() -> None:
    page = (ROOT / "docs" / "twin" / "auxiliary-ensemble.md").read_text(encoding="utf-8")
    assert f"| ClickHouse before {MINIMUM} | refused" in page
    assert f"{MINIMUM} and later" in (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "reference" / "clickhouse-versions.md").read_text(encoding="utf-8")
    assert f"came with ClickHouse {MINIMUM}, according to its change log" in " ".join(page.split())


def test_modules_name_no_other_minimum() -> None:
    """Texts of modules that speak of the first version with such tables, or of a change of them."""
    modules = [path.read_text(encoding="utf-8") for path in (ROOT / "plugins" / "modules").glob("*.py")]
    named = [each for text in modules for each in re.findall(r"(?:ClickHouse|version) (\d\d\.\d+)\b", text)]
    assert named
    assert set(named) == {MINIMUM}
