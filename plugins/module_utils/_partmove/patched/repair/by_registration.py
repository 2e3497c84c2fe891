# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs by registration: registers parts on disk, from bytes of other replicas or of former part znodes."""

from __future__ import annotations

from collections.abc import Sequence

from ...formats.names import PartName
from ...formats.payload import registers_hash
from ...formats.state import State
from ...gates.judge import REHEAT_GATES, refuse_partitions
from ...shard.facts import PartitionFacts
from ...tree.znodes import Create, Op, SetData
from ..audit.evidence import PartitionEvidence, ReplicaEvidence
from ..audit.judge import Verdict
from ..audit.kind import FindingKind
from ..audit.statements import statements_of
from .case import LeasedCase, NotRepaired
from .judged import JudgedPartition
from .sources import Source, Sources, read_sources

_SOURCE = "Run part_repair again with registrations, a backup that has the part znode."
_BY_HAND = (
    "find one server with every part of the partition that any replica has, and on this server alone ALTER"
    " TABLE … DETACH PARTITION ID and then ATTACH PARTITION ID; without such a server rows would be missing."
    " Do not restart the server before"
)


class _Refused(Exception):
    """The reason and the remedy of a partition that cannot be repaired."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.left = NotRepaired(reason, remedy)


def register(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Register the parts on disk, each from a source with the same hash as the disk.

    Sources are the part znodes of other replicas, and the given registrations.
    """
    read = leased.shard.read([each.partition_id for each in judged])
    facts = list(read.partitions.values())
    refused = refuse_partitions(read.shard, facts, leased.shard.taken_at, gates=REHEAT_GATES)
    left = {each: NotRepaired(why.reason, why.remedy) for each, why in refused.items()}
    todo = [each for each in judged if each.partition_id not in left]
    parts = {part for each in todo for verdict in each.verdicts.values() for part in verdict.parts}
    sources = read_sources(leased.case, [each.evidence for each in todo], parts)
    for each in todo:
        try:
            _register(leased, read.partitions[each.partition_id], sources, each)
        except _Refused as refusal:
            left[each.partition_id] = refusal.left
    return left


def _register(leased: LeasedCase, facts: PartitionFacts, sources: Sources, judged: JudgedPartition) -> None:
    partition, verdicts = judged.evidence, judged.verdicts
    case = leased.case
    in_hot: list[Op] = []
    in_cold: list[Op] = []
    for replica in (each for each in partition.replicas if each.name in verdicts):
        names = set(verdicts[replica.name].parts)
        for part in (each for each in replica.active or () if each.text in names):
            source = _source(sources, partition, replica, part)
            path = case.layout.replica(replica.name).part(part.text)
            ops = in_cold if source.is_cold else in_hot
            ops.append(Create(path, source.data))
            ops += [Create(f"{path}/{name}", data) for name, data in sorted(source.children.items())]
    is_all_in_hot = not in_cold and (case.kind is FindingKind.COLD_UNKNOWN or not facts.only_in_cold)
    if in_hot and partition.state is not None and partition.is_cold and is_all_in_hot:
        in_hot.append(SetData(partition.state.path, State.HOT.data, partition.state.stat.version))
    if in_cold:
        leased.shard.cold.ensure([case.layout.replica(each).parts for each in sorted(verdicts)])
        leased.shard.cold.commit([(partition.partition_id, in_cold)]).raise_problem()
    if in_hot:
        leased.shard.hot.commit([(partition.partition_id, in_hot)], leased.facts.fence).raise_problem()


def _source(
    sources: Sources, partition: PartitionEvidence, replica: ReplicaEvidence, part: PartName
) -> Source:
    """Return the first source with the same hash as the part on disk; raises _Refused if there is none."""
    shown = replica.hashes.get(part.text)
    if shown is None:
        raise _Refused(
            f"the server of replica {replica.name} does not show the hash of {part.text}",
            _remedy(partition, is_provable=False),
        )
    for source in sources.of(replica.name, part.text):
        if registers_hash(source.data, source.children, shown):
            return source
    raise _Refused(
        f"{part.text} of replica {replica.name} is on disk, and no known part znode has the hash of its data",
        _remedy(partition, is_provable=True),
    )


def _remedy(partition: PartitionEvidence, *, is_provable: bool) -> str:
    """Return the remedy for a part without a source, with the SQL where it is certain to keep all rows.

    is_provable: whether the server shows the hash that a part znode of another source would be compared with.
    """
    verdict = Verdict(FindingKind.UNREGISTERED)
    statements = [each for one in partition.replicas for each in statements_of(partition, one, verdict)]
    by_hand = _BY_HAND
    if statements:
        by_hand = f"run these statements, and do not restart the server before: {'; '.join(statements)}"
    return f"{_SOURCE} Or {by_hand}" if is_provable else f"{by_hand[0].upper()}{by_hand[1:]}"
