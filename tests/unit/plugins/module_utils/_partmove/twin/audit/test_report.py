# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows that readers may see twice come first, and are counted for monitoring."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    TwinRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.judge import TwinVerdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.report import (
    TwinAuditReport,
)
from support.exposition import parsed

PATH = "/t/01/hits"


def report_of(*kinds: TwinKind) -> TwinAuditReport:
    rows = (TwinRow(PATH, str(number), "", TwinVerdict(kind)) for number, kind in enumerate(kinds))
    return TwinAuditReport([TwinAudit(PATH, tuple(rows))])


def test_rows_seen_twice_come_first() -> None:
    report = report_of(TwinKind.COLD, TwinKind.ATTACHED, TwinKind.EQUAL, TwinKind.LATE)
    assert [row.partition for row in report.seen_twice()] == ["2", "1"]
    assert report.summary()[:2] == [
        f"Rows that readers of both tables may see twice are in 2 partitions: {PATH} 2, {PATH} 1",
        "Shard paths: 1; partitions and tables: 1 consistent, 3 inconsistent, 0 not judged",
    ]
    assert parsed(report.metrics(0.0))["partmove_twin_audit_seen_twice"] == {(): 2}


def test_without_rows_seen_twice_only_the_metric_remains() -> None:
    report = report_of(TwinKind.HOT)
    assert report.summary() == [
        "Shard paths: 1; partitions and tables: 1 consistent, 0 inconsistent, 0 not judged"
    ]
    assert parsed(report.metrics(0.0))["partmove_twin_audit_seen_twice"] == {(): 0}
