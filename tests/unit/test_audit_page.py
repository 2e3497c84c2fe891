# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about audits lists exactly the kinds and the figures that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import ShardAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import (
    AuditReport,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operate" / "audit.md").read_text(encoding="utf-8")


def test_the_page_has_every_kind_as_the_code_has_it_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (unsafe )?\| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [
        (
            kind.value,
            "unsafe " if kind.restart_unsafe else "",
            f"{kind.means[0].upper()}{kind.means[1:]}.",
            "Nothing." if kind.is_consistent else f"{kind.remedy}.",
        )
        for kind in FindingKind
    ]


def test_the_page_has_every_figure_and_no_other() -> None:
    metrics = AuditReport([ShardAudit("/t", ())]).metrics(0.0)
    names = re.findall(r"^# TYPE (\w+)", metrics, re.MULTILINE)
    assert re.findall(r"^\| `(partmove_audit_\w+)", PAGE, re.MULTILINE) == names
