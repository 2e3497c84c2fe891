# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits a shard path: what is not as it should be is told only if it is so in two looks.

Servers insert, merge and drop while they are looked at. One look goes by names; of the partitions that are
not sound then a second one also compares content, and concludes something only from those parts that were
not where they should be in the first look either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from ...errors import AccessDenied, BindingConflict, FormatError
from .evidence import FirstReadMismatches, PartitionEvidence
from .judge import Verdict, judge
from .kind import FindingKind
from .reader import EvidenceReader, ShardEvidence


class Row(NamedTuple):
    """One partition of one replica."""

    shard_path: str
    partition: str
    replica: str
    verdict: Verdict


class ShardAudit(NamedTuple):
    """What one shard path is; the rows sorted by partition and replica.

    unjudged: why nothing of it could be judged; empty where it could.
    """

    shard_path: str
    rows: tuple[Row, ...]
    unjudged: str = ""


def audit_shard(reader: EvidenceReader, shard_path: str, *, compare_all: bool = False) -> ShardAudit:
    """Look once, and at what is not sound once more; with ``compare_all`` compare all content.

    A shard path that hot does not have is audited for what cold has of it. Raises NoSuchTable where neither
    has anything, EnsembleError and kin.
    """
    try:
        first = reader.read_anywhere(shard_path)
        verdicts: _Verdicts = _verdicts(first)
        wanted = frozenset(verdicts) if compare_all else _unsound(verdicts)
        if wanted:
            if any(each.kind in _MAY_PASS for found in verdicts.values() for each in found.values()):
                reader.wait(_SECONDS_BETWEEN_LOOKS)
            second = _after(first, reader.read_anywhere(shard_path, content_of=wanted))
            verdicts = _in_both(verdicts, _verdicts(second), wanted)
    except (AccessDenied, BindingConflict, FormatError) as error:
        return ShardAudit(shard_path, (), str(error))
    return ShardAudit(shard_path, tuple(_rows(shard_path, verdicts)))


_Verdicts = Mapping[str, Mapping[str, Verdict]]
"""Partition id → replica → verdict."""

_MAY_PASS = frozenset({FindingKind.UNREGISTERED, FindingKind.REGISTERED_FOR_ANOTHER, FindingKind.NOT_ON_DISK})
"""Kinds that a server passes through while it inserts, fetches or drops parts."""
_SECONDS_BETWEEN_LOOKS = 1.0

_OF_CONTENT = frozenset({FindingKind.UNREADABLE, FindingKind.UNLIKE_DISK, FindingKind.COPIES_DIFFER})
"""Kinds that only a look at content finds, which is the second one."""


def _after(first: ShardEvidence, second: ShardEvidence) -> ShardEvidence:
    """The second look, for which only the doubts of the first one count."""
    before = {
        (partition.partition_id, replica.name): replica.doubts
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
    found = {each: judge(partition) for each, partition in shard.partitions.items()}
    if not shard.lock:
        return found
    reason = f"a run works on the table: {shard.lock}"
    return {
        each: {name: _under_lock(verdict, reason) for name, verdict in verdicts.items()}
        for each, verdicts in found.items()
    }


def _under_lock(verdict: Verdict, reason: str) -> Verdict:
    """What a run is in the middle of is not drift; what a restart would set aside is told in any case."""
    if not verdict.kind.is_inconsistent or verdict.restart_unsafe:
        return verdict
    return Verdict(FindingKind.NOT_JUDGED, verdict.parts, reason)


def _unsound(verdicts: _Verdicts) -> frozenset[str]:
    return frozenset(
        each for each, found in verdicts.items() if not all(one.kind.is_consistent for one in found.values())
    )


def _in_both(first: _Verdicts, second: _Verdicts, wanted: Collection[str]) -> _Verdicts:
    """The verdicts of the first look, in place of those on the partitions wanted what both looks say.

    A partition, or a replica, that only one of them found is left out unless it is sound.
    """
    again = {
        each: {
            name: settled
            for name, verdict in second.get(each, {}).items()
            if (settled := _settled(first[each].get(name), verdict)) is not None
        }
        for each in wanted
    }
    return {**first, **again}


def _settled(before: Verdict | None, after: Verdict) -> Verdict | None:
    if before is None:
        return None if after.kind.is_inconsistent else after
    return before if before.kind.is_consistent and after.kind not in _OF_CONTENT else after


def _rows(shard_path: str, verdicts: _Verdicts) -> Iterable[Row]:
    for partition, found in sorted(verdicts.items()):
        for replica, verdict in sorted(found.items()):
            yield Row(shard_path, partition, replica, verdict)
