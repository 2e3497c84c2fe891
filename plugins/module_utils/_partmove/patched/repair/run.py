# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs the partitions of one kind on one shard path, then audits whether they are consistent.

States of a partition: found → repaired, or left with a reason. Two reads without the lease find the
partitions. Each repair reads them again under the lease, and leaves partitions alone that changed meanwhile.
The next run finds partitions not reached by a killed run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from ...errors import NoSuchTable, PartMoveError
from ...formats.layout import ShardLayout
from ...journal.events import Event
from ...journal.port import Journal
from ...run.batches import paced_batches
from ..audit.audit import Row, ShardAudit, audit_shard
from ..audit.judge import Verdict
from ..audit.kind import FindingKind
from .by_copies import adopt, rewrite
from .by_registration import register
from .by_removal import remove_ghosts, remove_registrations, remove_unreadable
from .by_state import bring_back, clean, set_cold, set_hot
from .case import NotRepaired, RepairCase, RepairContext, RepairOptions

Remedy = Callable[[RepairCase], "dict[str, NotRepaired]"]
"""Repairs the partitions of the case, and returns partition id → reason for each unrepaired one."""

REMEDIES: Mapping[FindingKind, Remedy] = {
    FindingKind.UNREGISTERED: register,
    FindingKind.REGISTERED_FOR_ANOTHER: register,
    FindingKind.UNREADABLE: remove_unreadable,
    FindingKind.COLD_UNKNOWN: register,
    FindingKind.FOREIGN: adopt,
    FindingKind.COPIES_DIFFER: rewrite,
    FindingKind.HALF_COLD: bring_back,
    FindingKind.COLD_UNMARKED: set_cold,
    FindingKind.HOT_MARKED_COLD: set_hot,
    FindingKind.GHOST: remove_ghosts,
    FindingKind.FORMER_TABLE: remove_registrations,
    FindingKind.DROPPED: remove_registrations,
    FindingKind.ANOTHER_REPLICA: remove_registrations,
    FindingKind.COPIES_LEFT: clean,
    FindingKind.EMPTY_MARKED_COLD: set_hot,
}
"""The repair of each repairable kind; all other kinds need manual action, or time."""

_STILL = "the kind is still the same after the repair"


@dataclass
class RepairReport:
    """Each partition of the kind is in exactly one of the two once the repair is over."""

    shard_path: str
    repaired: list[Row] = field(default_factory=list)
    """The findings before the repair, by partition and replica."""
    left: dict[str, NotRepaired] = field(default_factory=dict)


def repair_shard(
    context: RepairContext,
    shard_path: str,
    kind: FindingKind,
    options: RepairOptions,
    *,
    only: Collection[str] | None = None,
) -> RepairReport:
    """Repair the partitions of a kind, or only those in ``only``; partitions of other kinds are left out.

    Raises PartMoveError if the shard path cannot be judged, LeaseHeld, LeaseLost, EnsembleError and kin. No
    partition is half repaired then, and running again continues.
    """
    report = RepairReport(shard_path)
    before = _of_kind(_audited(context, shard_path), kind, only)
    if not before:
        return report
    if kind is FindingKind.COLD_UNKNOWN and not options.cold_is_lost:
        left = NotRepaired(
            "the given cold ensemble is not the one that the parts went to",
            "Run part_repair with the ensemble that the servers have as <cold_zookeeper>; if this ensemble is"
            " lost for good, with cold_is_lost",
        )
        report.left.update(dict.fromkeys(before, left))
        return report
    case = RepairCase(context, ShardLayout(shard_path), kind, _verdicts(before), options)
    rows = [row for rows_of_one in before.values() for row in rows_of_one]
    context.journal.record(Event.REPAIRING, (_repairing(row, context.backup) for row in rows))
    report.left.update(_remedied(case))
    after = _of_kind(_audited(context, shard_path), kind, before.keys())
    for partition, findings in sorted(before.items()):
        if partition in report.left:
            continue
        if partition in after:
            report.left[partition] = NotRepaired(_STILL, kind.remedy)
        else:
            report.repaired += findings
    _record(context.journal, report, kind)
    return report


def _remedied(case: RepairCase) -> dict[str, NotRepaired]:
    """Repair in paced batches, and wait between their leases."""
    left: dict[str, NotRepaired] = {}
    parts = {
        each: sum(len(verdict.parts) for verdict in verdicts.values())
        for each, verdicts in case.found.items()
    }
    pace = case.context.pace
    case.context.on_progress(len(case.found), 0)
    for batch, count in paced_batches(case.partition_ids, parts, pace.parts_at_once):
        pace.wait(count, case.context.clock)
        found = {each: case.found[each] for each in batch}
        left.update(REMEDIES[case.kind](replace(case, found=found)))
        case.context.on_progress(0, len(batch))
    return left


def _repairing(row: Row, backup: str) -> dict[str, object]:
    return {**_event(row), "parts": list(row.verdict.parts), "backup": backup}


def _event(row: Row) -> dict[str, object]:
    """Return the journal fields of a finding."""
    return {
        "shard_path": row.shard_path,
        "partition": row.partition,
        "replica": row.replica,
        "kind": row.verdict.kind.value,
    }


def _record(journal: Journal, report: RepairReport, kind: FindingKind) -> None:
    """Write the outcome of the repair to the journal."""
    journal.record(Event.REPAIRED, map(_event, report.repaired))
    left = (
        {"shard_path": report.shard_path, "partition": each, "kind": kind.value, "reason": why.reason}
        for each, why in sorted(report.left.items())
    )
    journal.record(Event.LEFT, left)


def _audited(context: RepairContext, shard_path: str) -> ShardAudit:
    """Return the audit; without rows if neither hot nor cold has anything of the table any more."""
    try:
        audit = audit_shard(context.evidence(), shard_path)
    except NoSuchTable:
        return ShardAudit(shard_path, ())
    if audit.unjudged:
        raise PartMoveError(f"{shard_path} cannot be judged: {audit.unjudged}")
    return audit


def _of_kind(audit: ShardAudit, kind: FindingKind, only: Collection[str] | None) -> dict[str, list[Row]]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in audit.rows:
        if row.verdict.kind is kind and (only is None or row.partition in only):
            rows[row.partition].append(row)
    return dict(rows)


def _verdicts(rows: Mapping[str, list[Row]]) -> dict[str, dict[str, Verdict]]:
    return {each: {row.replica: row.verdict for row in of_one} for each, of_one in rows.items()}
