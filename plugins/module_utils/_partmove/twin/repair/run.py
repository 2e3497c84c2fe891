# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs the partitions of one kind on one shard path, then audits whether they are consistent.

States of a partition: found → judged again → repaired; or left with a reason. Two reads without the lease
find the partitions. Kinds that a move leaves are finished by a move in the direction of the record. For the
other kinds the repair takes the lease for each partition, judges again, and acts under that same lease. The
next run finds partitions not reached by a killed run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Union

from ...errors import NotPermitted, PartMoveError, UserRefused
from ...journal.events import Event
from ...journal.port import Journal
from ...lease.lease import Lease
from ...run.under_lease import work_under_leases
from ..audit.audit import TwinAudit, TwinRow, audit_twins
from ..audit.judge import judge
from ..audit.kind import TwinKind
from ..audit.verdict import ALL_REPLICAS, NO_PARTITION, TwinVerdict
from ..ledger.moves import MoveLedgers
from ..move.gates import refuse_tables
from ..move.partition import TwinOptions
from ..move.report import TwinReport
from ..move.run import TwinMoveContext, TwinRun
from ..move.servers import read_replicas
from ..move.tables import Side, TwinTables
from .by_attach import AttachRepair
from .by_restore import restore_replicas
from .by_rows import RowsRepair
from .context import TwinRepairContext
from .report import LeftAsIs, NotRepaired, RepairedTwin, TwinRepairReport
from .shard import RepairShard

_Remedy = Callable[[RepairShard, str, TwinVerdict], Union[RowsRepair, AttachRepair]]

BY_ROWS = (TwinKind.UNKNOWN, TwinKind.EQUAL, TwinKind.EQUAL_IN_PART, TwinKind.AS_MANY_ROWS)
"""The kinds that are repaired by comparing rows."""
BY_MOVE = tuple(kind for kind in TwinKind if kind.is_begun)
"""The kinds that a killed run leaves, which a move finishes."""
REMEDIES: Mapping[TwinKind, _Remedy] = {
    **dict.fromkeys(BY_ROWS, RowsRepair),
    TwinKind.SET_ASIDE: AttachRepair,
}
"""The kinds that are repaired partition by partition → the remedy."""
REPAIRED = frozenset({*REMEDIES, *BY_MOVE, TwinKind.NOT_READY})
"""All kinds that a repair ends; the other ones need manual action, or time."""

_STILL = "the kind is still the same after the repair"


def repair_twins(
    context: TwinRepairContext, shard_path: str, kind: TwinKind, only: Collection[str] | None = None
) -> TwinRepairReport:
    """Repair the partitions of a kind, or only those in ``only``; partitions of other kinds are left out.

    Raises PartMoveError if the shard path cannot be judged, EnsembleError and kin. No row is lost then, and
    running again continues.
    """
    report = TwinRepairReport(shard_path)
    audit = _audited(context, shard_path)
    before = _of_kind(audit, kind, only)
    for each, row in _of_kind(audit, TwinKind.NOT_JUDGED, only).items():
        report.left[each] = NotRepaired(row.verdict.reason, TwinKind.NOT_JUDGED.remedy)
    if before:
        context.on_progress(len(before), 0)
        if kind is TwinKind.NOT_READY:
            _restore(context, before, report)
        elif kind in REMEDIES:
            _repair_partitions(context, kind, before, report)
        else:
            _finish_moves(context, before, report)
        if not context.check_mode:
            _confirm(_audited(context, shard_path), kind, before, report)
    _record(context.journal, report, kind)
    return report


def _finish_moves(
    context: TwinRepairContext, before: Mapping[str, TwinRow], report: TwinRepairReport
) -> None:
    """Finish the records of the shard path, each in its direction; begin no new move."""
    move = TwinMoveContext(
        context.hot,
        context.clock,
        context.journal,
        context.leases,
        context.servers,
        context.readers,
        MoveLedgers(context.servers),
        context.pace,
        context.check_mode,
    )
    moved = TwinReport(report.shard_path)
    _announce(context.journal, before, sorted(before))
    # A run finishes all records, and moves only the partitions that it is asked for: none.
    TwinRun(move, Side.COLD, TwinOptions(), moved).carry_out([])
    report.statements += moved.statements
    for each in before:
        refusal = moved.unfinished.get(each)
        if refusal is not None:
            report.left[each] = NotRepaired.by(refusal)
            continue
        finished = moved.finished.get(each)
        what = "its move was undone" if finished is None or finished.undone else "its move was finished"
        report.repaired[each] = RepairedTwin(each, what, {}, {}, {})
    context.on_progress(0, len(before))


def _restore(context: TwinRepairContext, before: Mapping[str, TwinRow], report: TwinRepairReport) -> None:
    """Repair the findings about the tables of a shard path, all at once."""

    def restore(lease: Lease) -> None:
        _announce(context.journal, before, sorted(before))
        with _outcome(report, NO_PARTITION):
            report.repaired[NO_PARTITION] = restore_replicas(context, report, lease)

    refusal = work_under_leases(context.leases, report.shard_path, restore)
    if refusal is not None:
        report.left[NO_PARTITION] = NotRepaired.by(refusal)
    context.on_progress(0, len(before))


@contextmanager
def _outcome(report: TwinRepairReport, partition_id: str) -> Iterator[None]:
    """Report why a partition is left, and what a server does not let the user do."""
    try:
        yield
    except LeftAsIs as left:
        report.left[partition_id] = left.why
    except (NotPermitted, UserRefused) as error:
        report.left[partition_id] = NotRepaired.by(error)
        report.error = error


def _repair_partitions(
    context: TwinRepairContext, kind: TwinKind, before: Mapping[str, TwinRow], report: TwinRepairReport
) -> None:
    """Repair the partitions one after the other, each under a lease of its own."""
    for each, row in before.items():
        if report.error is not None:
            # The next partition would meet the same error.
            report.left[each] = NotRepaired.by(report.error)
            continue
        context.pace.wait(len(row.verdict.parts), context.clock)
        refusal = work_under_leases(
            context.leases, report.shard_path, partial(_repair_partition, context, kind, each, report)
        )
        if refusal is not None:
            report.left[each] = NotRepaired.by(refusal)
        context.on_progress(0, 1)


def _repair_partition(
    context: TwinRepairContext, kind: TwinKind, partition_id: str, report: TwinRepairReport, lease: Lease
) -> None:
    """Judge again and repair, both under the lease."""
    with _outcome(report, partition_id):
        verdict, tables = _judge_again(context, kind, partition_id, report.shard_path)
        shard = context.open(lease, tables, report)
        row = TwinRow(report.shard_path, partition_id, ALL_REPLICAS, verdict)
        _announce(context.journal, {partition_id: row}, [partition_id])
        try:
            report.repaired[partition_id] = REMEDIES[kind](shard, partition_id, verdict).carry_out()
        except LeftAsIs:
            # What is hidden from readers follows the records that are left.
            shard.readers.after(tables, {})
            raise


def _judge_again(
    context: TwinRepairContext, kind: TwinKind, partition_id: str, shard_path: str
) -> tuple[TwinVerdict, Sequence[TwinTables]]:
    """Return the verdict under the lease, and the tables. Raises LeftAsIs if the kind is another one."""
    # The lock is the one of this run.
    read = context.reader().read(shard_path, [partition_id])._replace(lock="")
    verdicts = judge(read)
    verdict = verdicts.get((partition_id, ALL_REPLICAS))
    if read.tables is None or verdict is None:
        reasons = [each.reason or each.kind.value for each in verdicts.values()] or ["it has no parts"]
        raise LeftAsIs(f"it cannot be judged: {reasons[0]}", TwinKind.NOT_JUDGED.remedy)
    if verdict.kind is not kind:
        remedy = verdict.kind.remedy or "Nothing: it is consistent"
        raise LeftAsIs(f"it is {verdict.kind.value} by now, no longer {kind.value}", remedy)
    refusal = refuse_tables(shard_path, read.tables)
    if refusal is not None:
        raise LeftAsIs(refusal.reason, refusal.remedy)
    return verdict, read.tables


def _confirm(
    after: TwinAudit, kind: TwinKind, before: Mapping[str, TwinRow], report: TwinRepairReport
) -> None:
    """Count partitions as repaired only if the audit judges them, and as another kind."""
    still, unjudged = _of_kind(after, kind, None), _of_kind(after, TwinKind.NOT_JUDGED, None)
    for each in before:
        if each in report.left:
            report.repaired.pop(each, None)
        elif each in still:
            report.repaired.pop(each)
            report.left[each] = NotRepaired(_STILL, "Run twin_repair again")
        elif each in unjudged or "" in unjudged:
            report.repaired.pop(each)
            row = unjudged.get(each) or unjudged[""]
            reason = f"the repair was carried out, and could not be checked: {row.verdict.reason}"
            report.left[each] = NotRepaired(reason, TwinKind.NOT_JUDGED.remedy)


def _announce(journal: Journal, rows: Mapping[str, TwinRow], ids: Sequence[str]) -> None:
    events = ({**_event(rows[each]), "parts": list(rows[each].verdict.parts), "backup": ""} for each in ids)
    journal.record(Event.REPAIRING, events)


def _event(row: TwinRow) -> dict[str, object]:
    """Return the journal fields of a finding."""
    return {
        "shard_path": row.shard_path,
        "partition": row.partition,
        "replica": row.replica,
        "kind": row.verdict.kind.value,
    }


def _record(journal: Journal, report: TwinRepairReport, kind: TwinKind) -> None:
    """Write the outcome of the repair to the journal."""
    of_all = {"shard_path": report.shard_path, "kind": kind.value}
    repaired = ({**of_all, "partition": each, "replica": ""} for each in sorted(report.repaired))
    journal.record(Event.REPAIRED, repaired)
    left = ({**of_all, "partition": each, "reason": why.reason} for each, why in sorted(report.left.items()))
    journal.record(Event.LEFT, left)


def _audited(context: TwinRepairContext, shard_path: str) -> TwinAudit:
    """Return the audit. Raises PartMoveError if the shard path cannot be judged."""
    audit = audit_twins(context.reader(), shard_path)
    if audit.unjudged:
        raise PartMoveError(f"{shard_path} cannot be judged: {audit.unjudged}")
    if any(row.replica and row.verdict.kind is TwinKind.NOT_JUDGED for row in audit.rows):
        _raise_if_refused(context, shard_path)
    return audit


def _raise_if_refused(context: TwinRepairContext, shard_path: str) -> None:
    """Raise UserRefused or NotPermitted if a server does not let the user read its tables."""
    for each in read_replicas(context.hot, shard_path):
        try:
            context.servers.pair(shard_path, each)
        except (NotPermitted, UserRefused):
            raise
        except PartMoveError:
            continue  # The audit has reported the server as silent.


def _of_kind(audit: TwinAudit, kind: TwinKind, only: Collection[str] | None) -> dict[str, TwinRow]:
    """Map partitions of the kind to their rows; a row about tables has the partition ''."""
    return {
        row.partition: row
        for row in audit.rows
        if row.verdict.kind is kind and (only is None or not row.partition or row.partition in only)
    }
