# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows that readers may see twice come first, and are counted for monitoring."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    TwinRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    UnfinishedAlter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.report import (
    TwinAuditReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict
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


def test_missing_rows_come_before_rows_seen_twice() -> None:
    report = report_of(TwinKind.EQUAL, TwinKind.LOST, TwinKind.COLD, TwinKind.SET_ASIDE)
    assert [row.partition for row in report.missing()] == ["1", "3"]
    assert report.summary()[0] == (
        f"Twins lack rows that the ledger lists, or are other tables: {PATH} 1, {PATH} 3"
    )
    assert report.is_drifted
    assert parsed(report.metrics(0.0))["partmove_twin_audit_missing"] == {(): 2}
    assert parsed(report_of(TwinKind.COLD).metrics(0.0))["partmove_twin_audit_missing"] == {(): 0}


def test_tables_of_which_nothing_can_move_are_named() -> None:
    report = report_of(TwinKind.COLD, TwinKind.TWIN_UNLIKE, TwinKind.TWIN_UNLIKE)
    assert report.blocked() == [PATH]
    assert report.summary()[0] == f"No partition of these tables can move (twin_alike): {PATH}"
    assert report_of(TwinKind.COLD, TwinKind.TWIN_MISSING).blocked() == []


def test_unfinished_statements_are_named_unless_a_run_may_be_at_work() -> None:
    def first_line(*, is_in_progress: bool) -> str:
        alter = UnfinishedAlter("/z", 1000, is_in_progress)
        return TwinAuditReport([TwinAudit(PATH, (), alter=alter)]).summary()[0]

    assert first_line(is_in_progress=False) == (
        f"Statements of twin_alter are unfinished, run it again: {PATH}"
    )
    assert first_line(is_in_progress=True).startswith("Shard paths: 1; ")
