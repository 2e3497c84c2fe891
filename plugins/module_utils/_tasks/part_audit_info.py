# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_audit_info: report the state of every partition of every replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._partmove.errors import NoSuchTable
from .._partmove.patched.audit.audit import Row, ShardAudit, audit_shard
from .._partmove.patched.audit.detached import DetachedFolder
from .._partmove.patched.audit.evidence import Disks
from .._partmove.patched.audit.reader import EvidenceReader
from .._partmove.patched.audit.report import AuditReport, RepairStep
from .._partmove.text import format_time
from .._partmove.tree.ports import Clock, ZnodeReader
from .audit_answer import audit_result, finding_as_result
from .pacing import PaceOptions
from .resources import SERVERS_AT_ONCE, Resources, coordination_root, probe_of
from .shard_paths import (
    DeniedZnodes,
    UnreadPath,
    cold_paths_below,
    given_shard_paths,
    no_table_at,
    no_table_below,
    shard_paths_below,
    with_ensembles_checked,
)


class PartAuditInfo:
    """Implements Task for part_audit_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any], disks: Disks | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values.

        disks: reports the parts on disk, used instead of the servers that the options name.
        """
        self._root: str | None = params["root"]
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._coordination_root = coordination_root(params)
        self._pace = PaceOptions.of(params)
        self._with_consistent = params["details"] == "all"
        self._compare_all: bool = params["compare_content"]
        self._skips_missing: bool = params["skip_missing"] or self._root is not None
        self._disks = disks or probe_of(params["clickhouse"])
        self._audits: list[ShardAudit] = []
        self._denied = DeniedZnodes()
        self._has_table_in_hot = False
        self._is_finished = False
        self._now = 0.0

    def result(self) -> dict[str, Any]:
        """Return the findings so far. Complete, and with metrics, only after the whole audit."""
        result = result_of(
            self._audits, self._now, with_consistent=self._with_consistent, unread=self._unread()
        )
        return result if self._is_finished else {**result, "complete": False, "metrics": ""}

    def run(self, resources: Resources) -> None:
        """Audit one shard path after the other, with pauses while an ensemble is slow."""
        hot, cold = resources.open_pair()
        progress = resources.open_progress("shard paths", "partitions of replicas")
        progress.expect(len(self._shard_paths))
        pace = resources.open_pace(self._pace, progress.announce, members=False)
        reader = EvidenceReader(
            hot, cold, self._disks, resources.clock, self._coordination_root, at_once=SERVERS_AT_ONCE
        )
        for shard_path in with_ensembles_checked(hot, cold, self._paths(hot, cold)):
            pace.wait(0, resources.clock)
            rows = self._audit(reader, shard_path, resources.clock)
            progress.add(1, rows, f"done with {shard_path}")
        self._is_finished, self._now = True, resources.clock.now()

    def _paths(self, hot: ZnodeReader, cold: ZnodeReader) -> Iterator[str]:
        if self._root is None:
            yield from self._shard_paths
            return
        seen = set()
        for path in shard_paths_below(hot, self._root, self._coordination_root, self._denied.add):
            seen.add(path)
            self._has_table_in_hot = True
            yield path
        # Also audit tables that were created or moved meanwhile.
        for path in cold_paths_below(cold, self._root, self._coordination_root, self._denied.add):
            if path not in seen:
                yield path

    def _unread(self) -> list[ShardAudit]:
        """Return audits that stand for the tables that were not audited, and for those that are not there."""
        found = self._denied.outside(audit.shard_path for audit in self._audits)
        missing = self._missing() if self._is_finished and not found else []
        return [ShardAudit(each.path, (), f"{each.reason}. {each.remedy}.") for each in (*found, *missing)]

    def _missing(self) -> list[UnreadPath]:
        """Return the root without a table in hot, or the shard paths if all of them were skipped."""
        if self._root is not None:
            return [] if self._has_table_in_hot else [no_table_below(self._root)]
        return [] if self._audits else list(map(no_table_at, self._shard_paths))

    def _audit(self, reader: EvidenceReader, shard_path: str, clock: Clock) -> int:
        """Audit one shard path; return the number of judged partitions of replicas."""
        begun = clock.now()
        try:
            audit = audit_shard(
                reader, shard_path, compare_all=self._compare_all, list_all=self._with_consistent
            )
        except NoSuchTable:
            if not self._skips_missing:
                raise
            # The table was dropped, or lost its last part in cold, after the search below the root found it,
            # or before the repair.
            return 0
        self._audits.append(audit._replace(seconds=max(0.0, clock.now() - begun)))
        return audit.judged


def result_of(
    audits: Sequence[ShardAudit],
    now: float,
    *,
    with_consistent: bool = False,
    unread: Sequence[ShardAudit] = (),
) -> dict[str, Any]:
    """Return the result of the module. ``now``: time of the audit in seconds since 1970."""
    report = AuditReport(audits, unread)
    return {
        **audit_result(report, now),
        "findings": [_finding(row) for row in (report.rows if with_consistent else report.findings)],
        "repair_order": [_step(each) for each in report.repair_order()],
        "waiting_copies": report.waiting_copies()._asdict(),
        "restart_unsafe": [each._asdict() for each in report.unsafe()],
        "written_by_another": [each._asdict() for each in report.written_by_another()],
        "detached": [_detached(path, folder) for path, folder in report.detached()],
    }


def _detached(shard_path: str, folder: DetachedFolder) -> dict[str, str]:
    return {
        "shard_path": shard_path,
        "partition": folder.partition,
        "replica": folder.replica,
        "folder": folder.folder,
        "needed": folder.need.value,
    }


def _step(step: RepairStep) -> dict[str, Any]:
    moment = format_time(step.newest_write) if step.newest_write else ""
    known = {"kind": step.kind.value, "shard_paths": list(step.shard_paths), "newest_write": moment}
    return {**step._asdict(), **known}


def _finding(row: Row) -> dict[str, Any]:
    return {
        **finding_as_result(row),
        "restart_unsafe": row.verdict.restart_unsafe,
        "statements": list(row.details.statements),
    }
