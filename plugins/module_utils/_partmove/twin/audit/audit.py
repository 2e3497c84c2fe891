# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Audits the twins of a shard path: what is not as it should be is told only if it is so in two looks.

Servers insert, merge, fetch and move while they are looked at, and runs go on.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import AccessDenied, FormatError
from ..move.tables import TwinTables
from .judge import TwinVerdict, Verdicts, judge
from .reader import TwinReader

_SECONDS_BETWEEN_LOOKS = 1.0


class TwinRow(NamedTuple):
    """A partition, or a replica whose tables are not as they must be."""

    shard_path: str
    partition: str
    """Empty for what is about the tables."""
    replica: str
    """Empty for what is about all replicas."""
    verdict: TwinVerdict


class TwinAudit(NamedTuple):
    """What one shard path is; the rows sorted by partition and replica.

    unjudged: why nothing of it could be judged; empty where it could.
    tables: those of the first replica, for statements; None where one has not both.
    """

    shard_path: str
    rows: tuple[TwinRow, ...]
    unjudged: str = ""
    tables: TwinTables | None = None


def audit_twins(reader: TwinReader, shard_path: str) -> TwinAudit:
    """Look once, and at what is not sound once more. Raises NoSuchTable, EnsembleError and kin."""
    try:
        look = reader.read(shard_path)
        verdicts: Verdicts = judge(look)
        unsound = {
            partition for (partition, _who), verdict in verdicts.items() if not verdict.kind.is_consistent
        }
        if unsound:
            reader.wait(_SECONDS_BETWEEN_LOOKS)
            again = reader.read(shard_path, None if look.tables is None else unsound)
            verdicts = _in_both(verdicts, judge(again))
    except (AccessDenied, FormatError) as error:
        return TwinAudit(shard_path, (), str(error))
    rows = (TwinRow(shard_path, *place, verdict) for place, verdict in sorted(verdicts.items()))
    tables = look.tables
    return TwinAudit(shard_path, tuple(rows), tables=None if tables is None else tables[0])


def _in_both(first: Verdicts, second: Verdicts) -> dict[tuple[str, str], TwinVerdict]:
    """The verdicts of the first look, in place of those that are not sound what the second one says.

    Drift that only one of the looks found is left out. What the first one could not judge stays so where the
    second one says nothing of it.
    """
    kept = {place: verdict for place, verdict in first.items() if not verdict.kind.is_inconsistent}
    told = {
        place: verdict
        for place, verdict in second.items()
        if not (first[place].kind.is_consistent if place in first else verdict.kind.is_inconsistent)
    }
    return {**kept, **told}
