# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits a shard path. An inconsistency is reported only if two reads of the shard path show it.

Servers insert, merge and drop parts during an audit. The first read compares names only. The inconsistent
partitions are read again, with the content of their parts. The second read counts only parts missing, or
unregistered, in the first read as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from ...errors import AccessDenied, BindingConflict, FormatError
from ...findings.two_reads import SECONDS_BETWEEN_READS
from .detached import DetachedFolder
from .details import RowDetails, details_of
from .judge import Verdict
from .kind import FindingKind
from .partitions import Mismatches, Partitions
from .reader import EvidenceReader, ShardEvidence
from .replicas import NO_PARTITION
from .verdicts import Verdicts, verdicts_of


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
    counted: kind → number of consistent rows left out of ``rows``.
    hosts: replica → the registered name of its server's host; empty if unknown.
    """

    shard_path: str
    rows: tuple[Row, ...]
    unjudged: str = ""
    written_by_another: tuple[str, ...] = ()
    detached: tuple[DetachedFolder, ...] = ()
    seconds: float = 0.0
    counted: Mapping[FindingKind, int] = MappingProxyType({})
    hosts: Mapping[str, str] = MappingProxyType({})

    @property
    def judged(self) -> int:
        """The number of partitions of replicas, counted ones included."""
        return len(self.rows) + sum(self.counted.values())


def audit_shard(
    reader: EvidenceReader, shard_path: str, *, compare_all: bool = False, list_all: bool = True
) -> ShardAudit:
    """Read the shard path once, and its inconsistent partitions again; with ``compare_all`` every partition.

    If hot does not have the shard path, the audit covers its leftovers in cold. Without ``list_all``,
    consistent rows are only counted, unless the report needs their details. Raises NoSuchTable if neither
    ensemble has anything there, EnsembleError and kin.
    """
    try:
        last = reader.read_anywhere(shard_path)
        silent, verdicts = last.silent, verdicts_of(last)
        doubtful = frozenset(last.partitions) if compare_all else verdicts.doubtful()
        if doubtful:
            if any(each.kind in _MAY_PASS for each in verdicts.by_rules()):
                reader.wait(SECONDS_BETWEEN_READS)
            before = _mismatches(last, verdicts)
            # The lists of a large table take much memory, and the second read has them anew.
            del last
            last = _after(before, reader.read_anywhere(shard_path, content_of=doubtful))
            verdicts = verdicts.confirmed_by(verdicts_of(last), doubtful)
    except (AccessDenied, BindingConflict, FormatError) as error:
        return ShardAudit(shard_path, (), str(error))
    counted: Counter[FindingKind] = Counter()
    rows = [*_rows(shard_path, verdicts, last.partitions, None if list_all else counted)]
    return ShardAudit(
        shard_path,
        (*rows, *_silent_rows(shard_path, silent, verdicts)),
        written_by_another=last.written_by_another,
        detached=last.detached,
        counted=dict(counted),
        hosts=last.hosts,
    )


_MAY_PASS = frozenset({FindingKind.UNREGISTERED, FindingKind.REGISTERED_FOR_ANOTHER, FindingKind.NOT_ON_DISK})
"""Kinds of a partition during an insert, fetch or drop of its server."""


def _mismatches(shard: ShardEvidence, verdicts: Verdicts) -> Mismatches:
    """Return the mismatches of a read. A settled partition has none."""
    return {
        each: {replica.name: replica.mismatches for replica in shard.partitions[each].replicas}
        for each in verdicts.of_rules
    }


def _after(before: Mismatches, second: ShardEvidence) -> ShardEvidence:
    """Return the second read, restricted to the mismatches of the first read."""
    return replace(second, partitions=replace(second.partitions, before=before))


def _silent_rows(shard_path: str, silent: Mapping[str, str], verdicts: Verdicts) -> Iterable[Row]:
    """Yield a row for each silent server of a replica without a verdict.

    No partition is registered for such a replica, but its disk may have parts that no ensemble registers.
    """
    judged = verdicts.judged_replicas()
    for replica, silence in sorted(silent.items()):
        if replica not in judged:
            yield Row(shard_path, NO_PARTITION, replica, Verdict(FindingKind.NOT_JUDGED, reason=silence))


def _rows(
    shard_path: str, verdicts: Verdicts, evidence: Partitions, counted: Counter[FindingKind] | None
) -> Iterator[Row]:
    """Yield the rows, sorted; with ``counted``, consistent rows are counted there instead."""
    if counted is not None:
        for kind, number in Counter(each.kind for each in verdicts.settled.values()).items():
            counted[kind] += number * len(verdicts.replicas)
    for partition in sorted(verdicts.of_rules if counted is not None else verdicts):
        known = evidence.get(partition) if partition in verdicts.of_rules else None
        for replica, verdict in sorted(verdicts[partition].items()):
            if counted is not None and _is_only_counted(verdict):
                counted[verdict.kind] += 1
                continue
            details = RowDetails() if known is None else details_of(known, replica, verdict)
            yield Row(shard_path, partition, replica, verdict, details)


def _is_only_counted(verdict: Verdict) -> bool:
    return verdict.kind.is_consistent and verdict.kind is not FindingKind.COPIES_NEEDED
