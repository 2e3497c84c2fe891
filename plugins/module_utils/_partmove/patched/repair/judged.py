# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the partitions of a repair again, under its lease: what is of another kind by now is left alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ...binding.owner import Owner
from ..audit.evidence import PartitionEvidence
from ..audit.judge import Verdict, judge
from ..audit.kind import FindingKind
from ..audit.reader import ShardEvidence
from .case import LeasedCase, NotRepaired

_GONE = NotRepaired(
    "nothing of it is registered or on a disk by now",
    "Nothing is left to repair; part_audit_info says so",
)


class JudgedPartition(NamedTuple):
    """A partition that has the kind under the lease, too.

    verdicts: replica → verdict, for the replicas with this kind.
    """

    evidence: PartitionEvidence
    verdicts: Mapping[str, Verdict]

    @property
    def partition_id(self) -> str:
        """The partition id."""
        return self.evidence.partition_id


class JudgedAgain(NamedTuple):
    """Each partition of a case is in exactly one of the two."""

    judged: list[JudgedPartition]
    left: dict[str, NotRepaired]


def judge_again(leased: LeasedCase) -> JudgedAgain:
    """Judge the partitions of the case by the evidence under the lease."""
    again = JudgedAgain([], {})
    ids, evidence = leased.case.partition_ids, leased.evidence
    if evidence is None:
        again.left.update(dict.fromkeys(ids, _GONE))
        return again
    not_ours = refuse_owner(evidence)
    if not_ours is not None:
        again.left.update(dict.fromkeys(ids, not_ours))
        return again
    for each in ids:
        partition = evidence.partitions.get(each)
        verdicts = {} if partition is None else judge(partition)
        of_kind = {name: one for name, one in verdicts.items() if one.kind is leased.case.kind}
        why = _not_of_kind(verdicts.values(), leased.case.kind)
        if partition is None or why is not None:
            again.left[each] = why or _GONE
        else:
            again.judged.append(JudgedPartition(partition, of_kind))
    return again


def refuse_owner(evidence: ShardEvidence) -> NotRepaired | None:
    """Return a refusal if the parts in cold may be another cluster's, whatever the kind of a partition.

    Without a marker, nothing says whose they are. Then the cold ensemble must not belong to others alone.
    """
    if evidence.owner is Owner.OTHER_CLUSTER:
        kind = FindingKind.OTHER_CLUSTER
        return NotRepaired(kind.means, kind.remedy)
    binding = evidence.binding
    if evidence.owner is Owner.NOBODY and binding.pair.bound_hots and not binding.pair.is_bound:
        return NotRepaired(
            "no marker in cold says whose parts these are, and cold belongs to another hot ensemble",
            "Check the hosts and the chroots of hot and cold. If both clusters use this cold ensemble, bind"
            " this hot ensemble to it once with cold_owner, then run part_repair again",
        )
    return None


def not_judged(verdict: Verdict) -> NotRepaired:
    """Return why a partition is left that could not be judged."""
    return NotRepaired(
        verdict.reason,
        "Wait for the run that holds the lock; or start the server, or find out why it does not answer."
        " Then run part_repair again",
    )


def _not_of_kind(verdicts: Collection[Verdict], kind: FindingKind) -> NotRepaired | None:
    """Return why the partition is left; None if a replica has the kind, and all replicas could be judged."""
    for verdict in verdicts:
        if verdict.kind is FindingKind.NOT_JUDGED:
            return not_judged(verdict)
    kinds = {verdict.kind for verdict in verdicts}
    if kind in kinds:
        return None
    if not kinds:
        return _GONE
    worst = min(kinds, key=lambda each: each.rank)
    return NotRepaired(
        f"it is {worst.value} by now, no longer {kind.value}", worst.remedy or "Nothing: it is consistent"
    )
