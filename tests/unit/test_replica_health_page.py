# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about the health of replicas lists exactly the symptoms that the code knows."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.diagnosis import SYMPTOMS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operate" / "replica-health.md"


def test_the_page_has_every_symptom_as_the_code_has_it_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [
        (each.name, each.severity.value, f"{each.meaning} | {each.see} | {each.remedy}.") for each in SYMPTOMS
    ]
