# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings of audits of twins, for people and for monitoring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...findings.findings import MOST_SHOWN, Findings
from ...findings.metrics import Family, Sample
from ...text import count_of, first_few
from .audit import TwinAudit, TwinRow
from .kind import TwinKind


class TwinAuditReport(Findings[TwinRow, TwinKind]):
    """The verdicts on all partitions, tables and replicas, led by rows that readers see twice."""

    prefix = "partmove_twin_audit"
    counted = "partitions and tables"

    def __init__(self, audits: Sequence[TwinAudit], unread: Sequence[TwinAudit] = ()) -> None:
        super().__init__(TwinKind, audits, unread)

    def seen_twice(self) -> list[TwinRow]:
        """Return the partitions whose rows readers of both tables see twice, or may see twice."""
        return [row for row in self.findings if row.verdict.kind.is_seen_twice]

    def urgent(self) -> Iterator[str]:
        """Yield a line about rows that readers may see twice."""
        rows = self.seen_twice()
        if rows:
            places = first_few([f"{row.shard_path} {row.partition}" for row in rows], MOST_SHOWN)
            partitions = count_of(len(rows), "partition")
            yield f"Rows that readers of both tables may see twice are in {partitions}: {places}"

    def urgent_families(self) -> Iterator[Family]:
        """Yield the metric of rows that readers may see twice."""
        yield Family(
            "partmove_twin_audit_seen_twice",
            "Partitions whose rows readers of both tables may see twice.",
            (Sample(len(self.seen_twice())),),
        )
