# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_audit_info: says of every partition of every replica what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._partmove.errors import NoSuchTable
from .._partmove.formats.layout import ShardLayout
from .._partmove.patched.audit.audit import Row, ShardAudit, audit_shard
from .._partmove.patched.audit.evidence import Disks
from .._partmove.patched.audit.reader import EvidenceReader
from .._partmove.patched.audit.report import AuditReport
from .._partmove.tree.ports import ZnodeReader
from .audit_answer import answer_of, finding_of
from .pacing import PaceOptions
from .resources import SERVERS_AT_ONCE, Resources, coordination_root, probe_of
from .shard_paths import DeniedZnodes, cold_paths_below, shard_paths_below, told_apart


class AuditPartitions:
    """Implements Task for part_audit_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any], disks: Disks | None = None) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be.

        ``disks`` tells what servers have on disk, in place of those that the options name.
        """
        self._root: str | None = params["root"]
        self._shard_paths = sorted({ShardLayout(path).path for path in params["shard_paths"] or ()})
        self._coordination_root = coordination_root(params)
        self._pace = PaceOptions.of(params)
        self._with_sound = params["details"] == "all"
        self._compare_all: bool = params["compare_content"]
        self._disks = disks or probe_of(params["clickhouse"])
        self._audits: list[ShardAudit] = []
        self._denied = DeniedZnodes()
        self._is_whole = False
        self._now = 0.0

    def result(self) -> dict[str, Any]:
        """What was found so far; complete, and with metrics, only once everything was looked at."""
        result = result_of(self._audits, self._now, with_sound=self._with_sound, unread=self._unread())
        return result if self._is_whole else {**result, "complete": False, "metrics": ""}

    def run(self, resources: Resources) -> None:
        """Audit one shard path after the other; while the ensembles are slow it waits between them."""
        hot, cold = resources.open_pair()
        progress = resources.open_progress("shard paths", "partitions of replicas")
        progress.expect(len(self._shard_paths))
        pace = resources.open_pace(self._pace, progress.announce, members=False)
        reader = EvidenceReader(
            hot, cold, self._disks, resources.clock, self._coordination_root, at_once=SERVERS_AT_ONCE
        )
        for shard_path in told_apart(hot, cold, self._paths(hot, cold)):
            pace.wait(0, resources.clock)
            rows = self._audit(reader, shard_path)
            progress.add(1, rows, f"done with {shard_path}")
        self._is_whole, self._now = True, resources.clock.now()

    def _paths(self, hot: ZnodeReader, cold: ZnodeReader) -> Iterator[str]:
        if self._root is None:
            yield from self._shard_paths
            return
        seen = set()
        for path in shard_paths_below(hot, self._root, self._coordination_root, self._denied.tell):
            seen.add(path)
            yield path
        # A table that was made or moved meanwhile is audited as well.
        for path in cold_paths_below(cold, self._root, self._coordination_root, self._denied.tell):
            if path not in seen:
                yield path

    def _unread(self) -> list[ShardAudit]:
        """Stands for tables that nobody can find, as a znode above them may not be read."""
        found = self._denied.besides(audit.shard_path for audit in self._audits)
        return [ShardAudit(each.path, (), f"{each.reason}. {each.remedy}.") for each in found]

    def _audit(self, reader: EvidenceReader, shard_path: str) -> int:
        """Returns how many partitions of replicas were judged."""
        try:
            audit = audit_shard(reader, shard_path, compare_all=self._compare_all)
        except NoSuchTable:
            if self._root is None:
                raise
            # The table was dropped after it was found below the root, or cold has nothing of it any more.
            return 0
        self._audits.append(audit)
        return len(audit.rows)


def result_of(
    audits: Sequence[ShardAudit],
    now: float,
    *,
    with_sound: bool = False,
    unread: Sequence[ShardAudit] = (),
) -> dict[str, Any]:
    """The result of the module; ``now`` is the time of the audit in seconds since 1970."""
    report = AuditReport(audits, unread)
    return {
        **answer_of(report, now),
        "findings": [_finding(row) for row in (report.rows if with_sound else report.findings)],
        "restart_unsafe": [each._asdict() for each in report.unsafe()],
    }


def _finding(row: Row) -> dict[str, Any]:
    return {**finding_of(row), "restart_unsafe": row.verdict.restart_unsafe}
