# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits the twins of a shard path. An inconsistency is reported only if two reads find it.

Two reads are needed because servers insert, merge, fetch and move parts during the audit, and runs continue.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ...errors import AccessDenied, FormatError
from ...findings.two_reads import SECONDS_BETWEEN_READS, confirmed
from ...lease.bars import Hold
from ..move.tables import TwinTables
from .evidence import TwinShardRead, UnfinishedAlter
from .judge import judge
from .reader import TwinReader
from .verdict import TwinVerdict, Verdicts


class TwinRow(NamedTuple):
    """The verdict on a partition, a replica or a whole table."""

    shard_path: str
    partition: str
    """Partition id; empty for a verdict on tables."""
    replica: str
    """Name of the replica; empty for a verdict on all replicas."""
    verdict: TwinVerdict


class TwinAudit(NamedTuple):
    """The verdicts on a shard path, sorted by partition and replica.

    unjudged: why no partition could be judged; empty otherwise.
    tables: the tables of the first replica, for statements; None unless every replica has both tables.
    began: partition id → when the move of its record began, in milliseconds since 1970.
    hold, alter: what keeps runs from the shard path; None for nothing.
    """

    shard_path: str
    rows: tuple[TwinRow, ...]
    unjudged: str = ""
    tables: TwinTables | None = None
    began: Mapping[str, int] = MappingProxyType({})
    hold: Hold | None = None
    alter: UnfinishedAlter | None = None


def audit_twins(reader: TwinReader, shard_path: str) -> TwinAudit:
    """Judge a shard path, and read everything inconsistent a second time.

    An access error or an unreadable znode makes the whole shard path unjudged. Raises NoSuchTable and
    EnsembleError.
    """
    try:
        first = reader.read(shard_path)
        verdicts: Verdicts = judge(first)
        inconsistent = {
            partition for (partition, _replica), verdict in verdicts.items() if not verdict.kind.is_consistent
        }
        if inconsistent:
            reader.wait(SECONDS_BETWEEN_READS)
            second = reader.read(shard_path, None if first.tables is None else inconsistent)
            verdicts = _in_both(verdicts, judge(second))
    except (AccessDenied, FormatError) as error:
        return TwinAudit(shard_path, (), str(error))
    rows = (TwinRow(shard_path, *place, verdict) for place, verdict in sorted(verdicts.items()))
    tables = first.tables
    return TwinAudit(
        shard_path,
        tuple(rows),
        tables=None if tables is None else tables[0],
        began=_began(first),
        hold=first.hold,
        alter=first.alter,
    )


def _began(read: TwinShardRead) -> dict[str, int]:
    """Map partition ids to when the moves of their records began; without unreadable records."""
    records = {each: znode.record for each, znode in read.record_znodes.items()}
    return {each: record.began for each, record in records.items() if record is not None}


def _in_both(first: Verdicts, second: Verdicts) -> dict[tuple[str, str], TwinVerdict]:
    """Merge the verdicts of two reads.

    - A consistent verdict of the first read stays.
    - Otherwise the verdict of the second read counts.
    - An inconsistency is left out if only the first or only the second read found it.
    - NOT_JUDGED of the first read stays if the second read has no verdict.
    """
    settled = {place: verdict for place, verdict in first.items() if not verdict.kind.is_inconsistent}
    reread = {
        place: verdict
        for place, after in second.items()
        if (verdict := confirmed(first.get(place), after)) is not None
    }
    return {**settled, **reread}
