# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Return values that both audit modules share."""

from __future__ import annotations

from typing import Any

from .._partmove.findings.findings import AnyRow, Findings, KindT, RowT


def audit_result(report: Findings[RowT, KindT], now: float) -> dict[str, Any]:
    """Return all common values except the findings. ``now``: time of the audit in seconds since 1970."""
    return {
        "changed": False,
        "kinds": {kind.value: count for kind, count in report.kinds().items()},
        "drifted": report.is_drifted,
        "complete": report.is_complete,
        "unjudged": [{"shard_path": each.shard_path, "reason": each.unjudged} for each in report.unjudged()],
        "shard_paths": report.shard_paths,
        "summary": report.summary(),
        "metrics": report.metrics(now),
    }


def finding_as_result(row: AnyRow) -> dict[str, Any]:
    """Return one finding: the place, the verdict and the remedy."""
    verdict = row.verdict
    return {
        "shard_path": row.shard_path,
        "partition": row.partition,
        "replica": row.replica,
        "kind": verdict.kind.value,
        "means": verdict.kind.means,
        "parts": list(verdict.parts),
        "reason": verdict.reason,
        "remedy": verdict.kind.remedy,
        "can_wait": verdict.can_wait,
    }
