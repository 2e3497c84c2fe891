# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about audits of twins lists exactly the kinds and the figures that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import TwinAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.report import (
    TwinAuditReport,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "twin" / "audit.md").read_text(encoding="utf-8")
PASSES = {TwinKind.UNEVEN, TwinKind.NOT_JUDGED}


def ended_by(kind: TwinKind) -> str:
    if kind.is_consistent:
        return ""
    if kind.is_begun or kind is TwinKind.LATE:
        return "a run "
    return "waiting " if kind in PASSES else "manual action "


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def test_the_page_has_every_kind_as_the_code_has_it_and_no_other() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (a run |manual action |waiting )?\| (.+) \| (.+) \|$", PAGE, re.MULTILINE
    )
    assert rows == [
        (
            kind.value,
            ended_by(kind),
            sentence(kind.means),
            "Nothing." if kind.is_consistent else sentence(kind.remedy),
        )
        for kind in TwinKind
    ]


def test_every_kind_is_shown_on_servers() -> None:
    names = ("audit", "ledger", "readers")
    files = [ROOT / "tests" / "integration" / f"test_twin_{name}.py" for name in names]
    shown = "".join(file.read_text(encoding="utf-8") for file in files)
    missing = [
        kind for kind in TwinKind if f"TwinKind.{kind.name}" not in shown and f'"{kind.value}"' not in shown
    ]
    assert not missing


def test_the_page_has_every_figure_and_no_other() -> None:
    metrics = TwinAuditReport([TwinAudit("/t", ())]).metrics(0.0)
    names = re.findall(r"^# TYPE (\w+)", metrics, re.MULTILINE)
    assert re.findall(r"^\| `(partmove_twin_audit_\w+)", PAGE, re.MULTILINE) == names
