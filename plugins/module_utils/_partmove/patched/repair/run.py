# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs the partitions of one kind on one shard path, then audits whether they are consistent.

States of a partition: found → judged again → repaired; or left with a reason. Two reads without the lease
find the partitions. Then, for each paced batch, the repair takes the lease, reads and judges again, and acts
under that same lease. Partitions that are of another kind by now are left alone, and so is every partition
if the parts in cold are another cluster's. The next run finds partitions not reached by a killed run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import NoSuchTable, PartMoveError
from ...formats.layout import ShardLayout
from ...journal.events import Event
from ...journal.port import Journal
from ...run.pace import paced
from ..audit.audit import Row, ShardAudit, audit_shard
from ..audit.kind import FindingKind
from .by_copies import adopt, rewrite
from .by_registration import register
from .by_removal import remove_ghosts, remove_registrations, remove_unreadable
from .by_state import bring_back, clean, set_cold, set_hot
from .case import LeasedCase, NotRepaired, RepairCase, RepairContext, RepairOptions
from .judged import JudgedPartition, judge_again, not_judged

Remedy = Callable[[LeasedCase, Sequence[JudgedPartition]], "dict[str, NotRepaired]"]
"""Repairs partitions judged under the lease, and returns partition id → reason for each unrepaired one."""

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

_WHOLE = frozenset({FindingKind.FOREIGN})
"""Kinds that are repaired for the whole shard path at once, under one lease."""

_STILL = "the kind is still the same after the repair"
_UNCONFIRMED = "the repair was carried out, and could not be checked afterwards"


@dataclass
class RepairReport:
    """Each partition of the kind is in exactly one of the two once the repair is over."""

    shard_path: str
    repaired: list[Row] = field(default_factory=list)
    """The findings under the lease of the repair, by partition and replica."""
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
    audit = _audited(context, shard_path)
    before = _of_kind(audit, kind, only)
    # A partition that could not be judged may be of the kind, too.
    in_doubt = _of_kind(audit, FindingKind.NOT_JUDGED, only)
    report.left.update(
        {each: not_judged(rows[0].verdict) for each, rows in in_doubt.items() if each not in before}
    )
    if not before:
        _record(context.journal, report, kind)
        return report
    if kind is FindingKind.COLD_UNKNOWN and not options.cold_is_lost:
        left = NotRepaired(
            "the given cold ensemble is not the one that the parts went to",
            "Run part_repair with the ensemble that the servers have as <cold_zookeeper>; if this ensemble is"
            " lost for good, with cold_is_lost",
        )
        report.left.update(dict.fromkeys(before, left))
        _record(context.journal, report, kind)
        return report
    case = RepairCase(context, ShardLayout(shard_path), kind, sorted(before), options)
    parts = {each: sum(len(row.verdict.parts) for row in rows) for each, rows in before.items()}
    work = _Work()
    for batch in _paced(case, parts):
        _repair_batch(batch, work)
        context.on_progress(0, len(batch.partition_ids))
    report.left.update(work.left)
    _confirm(_audited(context, shard_path), kind, work, report)
    _record(context.journal, report, kind)
    return report


def kinds_found(
    context: RepairContext, shard_path: str, only: Collection[str] | None = None
) -> set[FindingKind]:
    """Return the kinds that an audit finds, or finds for the partitions in ``only``; none without a table.

    Raises PartMoveError if the shard path cannot be judged, EnsembleError and kin.
    """
    rows = _audited(context, shard_path).rows
    return {row.verdict.kind for row in rows if only is None or row.partition in only}


@dataclass
class _Work:
    """What was done under the leases. Each partition is judged, or left, or both if a remedy left it."""

    judged: dict[str, list[Row]] = field(default_factory=dict)
    left: dict[str, NotRepaired] = field(default_factory=dict)


def _paced(case: RepairCase, parts: Mapping[str, int]) -> Iterator[RepairCase]:
    """Yield the case in paced batches, each once the pace allows it; no lease is held meanwhile."""
    pace, clock = case.context.pace, case.context.clock
    case.context.on_progress(len(case.partition_ids), 0)
    if case.kind in _WHOLE:
        pace.wait(sum(map(_at_least_one, parts.values())), clock)
        yield case
        return
    for batch in paced(pace, clock, case.partition_ids, parts):
        yield replace(case, partition_ids=batch)


def _at_least_one(parts: int) -> int:
    return max(1, parts)


def _repair_batch(case: RepairCase, work: _Work) -> None:
    """Judge again and repair, both under one lease."""
    context = case.context
    with case.leased() as leased:
        again = judge_again(leased)
        work.left.update(again.left)
        if not again.judged:
            return
        rows = {each.partition_id: _rows(case, each) for each in again.judged}
        announced = (_repairing(row, context.backup) for of_one in rows.values() for row in of_one)
        context.journal.record(Event.REPAIRING, announced)
        work.judged.update(rows)
        work.left.update(REMEDIES[case.kind](leased, again.judged))


def _rows(case: RepairCase, partition: JudgedPartition) -> list[Row]:
    return [
        Row(case.layout.path, partition.partition_id, replica, verdict)
        for replica, verdict in sorted(partition.verdicts.items())
    ]


def _confirm(after: ShardAudit, kind: FindingKind, work: _Work, report: RepairReport) -> None:
    """Count partitions as repaired that the audit judges, and of which no replica has the kind any more."""
    still = _of_kind(after, kind, None)
    unjudged = _of_kind(after, FindingKind.NOT_JUDGED, None)
    for partition, findings in sorted(work.judged.items()):
        if partition in report.left:
            continue
        if partition in still:
            report.left[partition] = NotRepaired(_STILL, kind.remedy)
        elif partition in unjudged:
            reason = f"{_UNCONFIRMED}: {unjudged[partition][0].verdict.reason}"
            report.left[partition] = NotRepaired(reason, FindingKind.NOT_JUDGED.remedy)
        else:
            report.repaired += findings


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
