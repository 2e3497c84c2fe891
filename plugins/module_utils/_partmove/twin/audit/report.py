# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings of audits of twins, for people and for monitoring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...findings.findings import MOST_SHOWN, Findings
from ...findings.metrics import Family, Sample
from ...text import count_of, first_few
from .ages import age_families
from .audit import TwinAudit, TwinRow
from .kind import TwinKind


class TwinAuditReport(Findings[TwinRow, TwinKind]):
    """The verdicts on all partitions, tables and replicas, led by rows that readers see twice."""

    prefix = "partmove_twin_audit"
    counted = "partitions and tables"

    def __init__(self, audits: Sequence[TwinAudit], unread: Sequence[TwinAudit] = ()) -> None:
        super().__init__(TwinKind, audits, unread)
        self._twin_audits = sorted(audits, key=lambda audit: audit.shard_path)

    def seen_twice(self) -> list[TwinRow]:
        """Return the partitions whose rows readers of both tables see twice, or may see twice."""
        return [row for row in self.findings if row.verdict.kind.is_seen_twice]

    def missing(self) -> list[TwinRow]:
        """Return the partitions and tables of which the twin lacks rows that the ledger lists."""
        return [row for row in self.findings if row.verdict.kind.is_missing]

    def blocked(self) -> list[str]:
        """Return the shard paths of which no partition can move, because definitions differ; sorted."""
        rows = (row for row in self.findings if row.verdict.kind is TwinKind.TWIN_UNLIKE)
        return sorted({row.shard_path for row in rows})

    def urgent(self) -> Iterator[str]:
        """Yield lines about missing rows, rows seen twice, blocked tables and unfinished statements."""
        missing = self.missing()
        if missing:
            places = first_few([f"{row.shard_path} {row.partition}".rstrip() for row in missing], MOST_SHOWN)
            yield f"Twins lack rows that the ledger lists, or are other tables: {places}"
        rows = self.seen_twice()
        if rows:
            places = first_few([f"{row.shard_path} {row.partition}" for row in rows], MOST_SHOWN)
            partitions = count_of(len(rows), "partition")
            yield f"Rows that readers of both tables may see twice are in {partitions}: {places}"
        if self.blocked():
            places = first_few(self.blocked(), MOST_SHOWN)
            yield f"No partition of these tables can move (twin_alike): {places}"
        alters = [
            each.shard_path for each in self._twin_audits if each.alter and not each.alter.is_in_progress
        ]
        if alters:
            yield f"Statements of twin_alter are unfinished, run it again: {first_few(alters, MOST_SHOWN)}"

    def urgent_families(self) -> Iterator[Family]:
        """Yield the metrics of missing rows, of rows that readers may see twice, and of unfinished work."""
        yield Family(
            "partmove_twin_audit_missing",
            "Partitions and tables of which the twin lacks rows that the ledger lists.",
            (Sample(len(self.missing())),),
        )
        yield Family(
            "partmove_twin_audit_seen_twice",
            "Partitions whose rows readers of both tables may see twice.",
            (Sample(len(self.seen_twice())),),
        )
        yield from age_families(self._twin_audits)
