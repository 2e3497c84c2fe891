# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What audits found, for people and for monitoring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...findings.findings import MOST_SHOWN, Findings
from ...findings.metrics import Family, Sample
from ...text import first_few
from .audit import Row, ShardAudit
from .kind import FindingKind


class UnsafeReplica(NamedTuple):
    """A replica whose server must not be restarted before something is done."""

    shard_path: str
    replica: str


class AuditReport(Findings[Row, FindingKind]):
    """Every partition of every replica; first of all the servers that must not be restarted."""

    prefix = "partmove_audit"
    counted = "partitions of replicas"

    def __init__(self, audits: Sequence[ShardAudit], unread: Sequence[ShardAudit] = ()) -> None:
        super().__init__(FindingKind, audits, unread)

    def unsafe(self) -> list[UnsafeReplica]:
        """The replicas whose restart would set parts aside, or leave the server without the table; sorted."""
        return sorted({UnsafeReplica(row.shard_path, row.replica) for row in self._unsafe_rows()})

    def urgent(self) -> Iterator[str]:
        """Lines about the servers that must not be restarted."""
        by_path: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self._unsafe_rows():
            by_path[row.shard_path].append(row)
        for path, rows in sorted(by_path.items()):
            replicas = ", ".join(sorted({row.replica for row in rows}))
            kinds = ", ".join(dict.fromkeys(row.verdict.kind.value for row in rows))
            partitions = first_few(sorted({row.partition for row in rows}), MOST_SHOWN)
            yield f"DO NOT RESTART {replicas} ({path}): {kinds} in partition {partitions}"

    def urgent_families(self) -> Iterator[Family]:
        """The figure about these servers."""
        yield Family(
            "partmove_audit_restart_unsafe",
            "1 for a replica whose server must not be restarted before something is done.",
            tuple(Sample(1, tuple(each._asdict().items())) for each in self.unsafe()),
        )

    def _unsafe_rows(self) -> list[Row]:
        return [row for row in self.findings if row.verdict.restart_unsafe]
