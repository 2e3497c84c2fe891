# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits a shard path. An inconsistency is reported only if two reads of the shard path show it.

Servers insert, merge and drop parts during an audit. The first read compares names only. The inconsistent
partitions are read again, with the content of their parts. The second read counts only parts missing, or
unregistered, in the first read as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...errors import AccessDenied, BindingConflict, FormatError
from ...findings.two_reads import SECONDS_BETWEEN_READS, confirmed
from .detached import DetachedFolder
from .details import RowDetails, details_of
from .evidence import FirstReadMismatches, PartitionEvidence
from .judge import Verdict, judge
from .kind import FindingKind
from .reader import EvidenceReader, ShardEvidence
from .replicas import NO_PARTITION


class Row(NamedTuple):
    """The verdict on one partition of one replica, with what the action for it takes."""

    shard_path: str
    partition: str
    replica: str
    verdict: Verdict
    details: RowDetails = RowDetails()


class ShardAudit(NamedTuple):
    """The audit of one shard path; the rows are sorted by partition and replica.

    unjudged: why no row could be judged; empty if the audit was possible.
    written_by_another: the partitions that another tool wrote after the last run, sorted.
    detached: the part folders in ``detached`` of the replicas, sorted.
    seconds: how long the audit took; 0.0 if nobody measured it.
    """

    shard_path: str
    rows: tuple[Row, ...]
    unjudged: str = ""
    written_by_another: tuple[str, ...] = ()
    detached: tuple[DetachedFolder, ...] = ()
    seconds: float = 0.0


def audit_shard(reader: EvidenceReader, shard_path: str, *, compare_all: bool = False) -> ShardAudit:
    """Read the shard path once, and its inconsistent partitions again; with ``compare_all`` every partition.

    If hot does not have the shard path, the audit covers its leftovers in cold. Raises NoSuchTable if neither
    ensemble has anything there, EnsembleError and kin.
    """
    try:
        first = last = reader.read_anywhere(shard_path)
        verdicts: _Verdicts = _verdicts(first)
        doubtful = frozenset(verdicts) if compare_all else _inconsistent(verdicts)
        if doubtful:
            if any(each.kind in _MAY_PASS for replicas in verdicts.values() for each in replicas.values()):
                reader.wait(SECONDS_BETWEEN_READS)
            last = _with_first_mismatches(first, reader.read_anywhere(shard_path, content_of=doubtful))
            verdicts = _confirmed(verdicts, _verdicts(last), doubtful)
    except (AccessDenied, BindingConflict, FormatError) as error:
        return ShardAudit(shard_path, (), str(error))
    rows = (*_rows(shard_path, verdicts, last.partitions), *_silent_rows(shard_path, first.silent, verdicts))
    return ShardAudit(shard_path, rows, written_by_another=last.written_by_another, detached=last.detached)


_Verdicts = Mapping[str, Mapping[str, Verdict]]
"""Partition id → replica → verdict."""

_MAY_PASS = frozenset({FindingKind.UNREGISTERED, FindingKind.REGISTERED_FOR_ANOTHER, FindingKind.NOT_ON_DISK})
"""Kinds of a partition during an insert, fetch or drop of its server."""

_OF_CONTENT = frozenset({FindingKind.UNREADABLE, FindingKind.UNLIKE_DISK, FindingKind.COPIES_DIFFER})
"""Kinds found by the second read alone, because the first read compares no content."""


def _with_first_mismatches(first: ShardEvidence, second: ShardEvidence) -> ShardEvidence:
    """Return the second read, restricted to the mismatches of the first read."""
    before = {
        (partition.partition_id, replica.name): replica.mismatches
        for partition in first.partitions.values()
        for replica in partition.replicas
    }

    def after(partition: PartitionEvidence) -> PartitionEvidence:
        replicas = tuple(
            replace(each, before=before.get((partition.partition_id, each.name), FirstReadMismatches()))
            for each in partition.replicas
        )
        return replace(partition, replicas=replicas)

    return replace(second, partitions={name: after(each) for name, each in second.partitions.items()})


def _verdicts(shard: ShardEvidence) -> dict[str, dict[str, Verdict]]:
    by_partition = {each: judge(partition) for each, partition in shard.partitions.items()}
    if not shard.lock:
        return by_partition
    reason = f"a run works on the table: {shard.lock}"
    return {
        each: {name: _under_lock(verdict, reason) for name, verdict in verdicts.items()}
        for each, verdicts in by_partition.items()
    }


def _under_lock(verdict: Verdict, reason: str) -> Verdict:
    """Replace an inconsistency by NOT_JUDGED, because the running move may cause it.

    A verdict with an unsafe restart stays: the operator has to know it in any case.
    """
    if not verdict.kind.is_inconsistent or verdict.restart_unsafe:
        return verdict
    return Verdict(FindingKind.NOT_JUDGED, verdict.parts, reason)


def _inconsistent(verdicts: _Verdicts) -> frozenset[str]:
    return frozenset(
        each
        for each, replicas in verdicts.items()
        if not all(verdict.kind.is_consistent for verdict in replicas.values())
    )


def _confirmed(first: _Verdicts, second: _Verdicts, doubtful: Collection[str]) -> _Verdicts:
    """Return the verdicts of the first read; for doubtful partitions, the verdicts of both reads together.

    An inconsistent partition or replica is left out unless both reads have it.
    """
    again = {
        each: {
            name: settled
            for name, verdict in second.get(each, {}).items()
            if (settled := confirmed(first[each].get(name), verdict, only_in_second=_OF_CONTENT)) is not None
        }
        for each in doubtful
    }
    return {**first, **again}


def _silent_rows(shard_path: str, silent: Mapping[str, str], verdicts: _Verdicts) -> Iterable[Row]:
    """Yield a row for each silent server of a replica without a verdict.

    No partition is registered for such a replica, but its disk may have parts that no ensemble registers.
    """
    judged = set[str]().union(*verdicts.values())
    for replica, silence in sorted(silent.items()):
        if replica not in judged:
            yield Row(shard_path, NO_PARTITION, replica, Verdict(FindingKind.NOT_JUDGED, reason=silence))


def _rows(shard_path: str, verdicts: _Verdicts, evidence: Mapping[str, PartitionEvidence]) -> Iterable[Row]:
    for partition, replicas in sorted(verdicts.items()):
        known = evidence.get(partition)
        for replica, verdict in sorted(replicas.items()):
            details = RowDetails() if known is None else details_of(known, replica, verdict)
            yield Row(shard_path, partition, replica, verdict, details)
