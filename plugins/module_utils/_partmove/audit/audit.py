# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits a shard path: what is not as it should be is told only if it is so in two looks.

Servers insert, merge and drop while they are looked at. One look goes by names; of the partitions that are
not sound then a second one also compares content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors import BoundElsewhere, FormatError
from .judge import Verdict, judge
from .kind import Kind
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

    Raises NoSuchTable, EnsembleError and kin.
    """
    try:
        first = reader.read(shard_path)
        verdicts = _verdicts(first)
        wanted = verdicts.keys() if compare_all else _unsound(verdicts)
        if wanted:
            second = reader.read(shard_path, content_of=wanted)
            again = {each: found for each, found in _verdicts(second).items() if each in wanted}
            verdicts = {**verdicts, **_in_both(verdicts, again, compare_all=compare_all)}
    except (BoundElsewhere, FormatError) as error:
        return ShardAudit(shard_path, (), str(error))
    return ShardAudit(shard_path, tuple(_rows(shard_path, verdicts)))


_Verdicts = Mapping[str, Mapping[str, Verdict]]
"""Partition id → replica → verdict."""


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
    if not verdict.kind.is_drift or verdict.kind.restart_unsafe:
        return verdict
    return Verdict(Kind.NOT_JUDGED, verdict.parts, reason)


def _unsound(verdicts: _Verdicts) -> frozenset[str]:
    return frozenset(
        each for each, found in verdicts.items() if not all(one.kind.is_sound for one in found.values())
    )


def _in_both(first: _Verdicts, second: _Verdicts, *, compare_all: bool) -> dict[str, dict[str, Verdict]]:
    """What the second look says, but where the first one found it sound."""
    return {
        each: {
            name: before
            if not compare_all and (before := first[each].get(name)) is not None and before.kind.is_sound
            else verdict
            for name, verdict in found.items()
        }
        for each, found in second.items()
    }


def _rows(shard_path: str, verdicts: _Verdicts) -> Iterable[Row]:
    for partition, found in sorted(verdicts.items()):
        for replica, verdict in sorted(found.items()):
            yield Row(shard_path, partition, replica, verdict)
