# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the action for a finding takes: SQL, znodes, and the time until copies may go."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from .evidence import PartitionEvidence, ReplicaEvidence
from .judge import Verdict, only_cold
from .kind import FindingKind
from .statements import statements_of

_REGISTERED_ANEW = frozenset(
    {FindingKind.UNREGISTERED, FindingKind.REGISTERED_FOR_ANOTHER, FindingKind.COLD_UNKNOWN}
)


class RowDetails(NamedTuple):
    """Details of the finding of one partition of one replica.

    statements: the SQL of the remedy, with real names.
    znodes: the number of znodes of the parts that a repair creates, deletes or replaces.
    newest_write: time of the newest write to State or to parts in cold, in milliseconds since 1970; 0 if
        unknown.
    seconds_needed: seconds until the copies may be removed; infinite while a replica is inactive.
    """

    statements: tuple[str, ...] = ()
    znodes: int = 0
    newest_write: int = 0
    seconds_needed: float = 0.0


def details_of(partition: PartitionEvidence, replica: str, verdict: Verdict) -> RowDetails:
    """Return the details of a verdict; none if the evidence does not have the replica any more."""
    found = next((each for each in partition.replicas if each.name == replica), None)
    if found is None or (verdict.kind.is_consistent and verdict.kind is not FindingKind.COPIES_NEEDED):
        return RowDetails()
    state = partition.state if partition.is_cold else None
    return RowDetails(
        statements_of(partition, found, verdict),
        _znodes(partition, found, verdict),
        max(found.cold_mtime, 0 if state is None else state.stat.mtime),
        partition.seconds_needed if verdict.kind is FindingKind.COPIES_NEEDED else 0.0,
    )


def _znodes(partition: PartitionEvidence, replica: ReplicaEvidence, verdict: Verdict) -> int:
    """Count the znodes of the parts; a part whose content nobody read counts as one znode."""
    if verdict.kind is FindingKind.UNREADABLE:
        return len(verdict.parts)
    if verdict.kind in _REGISTERED_ANEW:
        # The replica has no znode of its own to count.
        each_of = [max(one.znodes.get(name, 1) for one in partition.replicas) for name in verdict.parts]
        return sum(each_of)
    if verdict.kind is FindingKind.HALF_COLD:
        parts = only_cold(replica)
    else:
        parts = [part for part in replica.cold if part.text in verdict.parts]
    return sum(replica.znodes.get(part.text, 1) for part in parts)


def seconds_until(seconds: float) -> int | None:
    """Return whole seconds; None for an infinite time, which nobody can tell.

    >>> seconds_until(90.2), seconds_until(inf)
    (90, None)
    """
    return None if seconds == inf else round(seconds)
