# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of copies: adopting the copies of another tool, and writing copies anew from hot."""

from __future__ import annotations

from collections.abc import Sequence

from ...formats.names import is_covered
from ...formats.state import is_cold
from ...gates.judge import REHEAT_GATES, refuse_shard
from ...gates.names import GateName
from ...shard.parts import read_parts
from ...text import first_few
from ...tree.znodes import Znode
from ..audit.evidence import PartitionEvidence
from ..audit.judge import judge, only_cold
from ..audit.kind import FindingKind
from ..parts.bind import bind
from ..parts.copies import ColdCopies
from .case import LeasedCase, NotRepaired, RepairCase
from .judged import JudgedPartition


def adopt(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Mark the parts in cold as those of this table, for the whole shard path or not at all.

    Every part in cold has to equal the part in hot, or has to be on the replica's disk as registered. Other
    tools must have stopped writing there.
    """
    ids = [each.partition_id for each in judged]
    refusal = refuse_shard(leased.facts, REHEAT_GATES)
    if refusal is not None and refusal.gate is not GateName.SAME_TABLE:
        return dict.fromkeys(ids, NotRepaired(refusal.reason, refusal.remedy))
    evidence = leased.read_again(whole=True)
    for partition in evidence.partitions.values():
        reason = _not_adoptable(partition)
        if reason:
            left = NotRepaired(
                f"partition {partition.partition_id} of the table cannot be adopted: {reason}",
                "Repair the partitions of other kinds first; the shard path is adopted as a whole",
            )
            return dict.fromkeys(ids, left)
    still_written = _too_fresh(leased, list(evidence.partitions.values()))
    if still_written:
        return dict.fromkeys(ids, still_written)
    bind(leased.shard, leased.facts)
    return {}


def rewrite(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Write differing copies anew from hot, which is equal to the disk."""
    left: dict[str, NotRepaired] = {}
    read = leased.shard.read([each.partition_id for each in judged])
    for partition in read.partitions.values():
        strays = partition.only_in_cold
        if strays:
            left[partition.partition_id] = NotRepaired(
                f"cold has parts that hot does not have: {first_few(part.znode.path for part in strays)}",
                "First bring the partition back (part_move with state: hot), then run part_repair again",
            )
    passed = [each for each in read.partitions.values() if each.partition_id not in left]
    if passed:
        ColdCopies(leased.shard, {}).make(read.shard, passed)
    return left


def _not_adoptable(partition: PartitionEvidence) -> str:
    """Return why the parts in cold do not belong to this table, or ""."""
    verdicts = judge(partition)
    for replica in partition.replicas:
        if not replica.cold:
            continue
        verdict = verdicts[replica.name]
        if verdict.kind is not FindingKind.FOREIGN:
            return f"for replica {replica.name} its kind is {verdict.kind.value}"
        if replica.differing:
            return f"copies of replica {replica.name} differ from hot: {first_few(sorted(replica.differing))}"
        lacking = [part.text for part in only_cold(replica) if not is_covered(part, replica.active or ())]
        if lacking:
            return f"replica {replica.name} does not have {first_few(lacking)} on disk"
    return ""


def _too_fresh(leased: LeasedCase, partitions: list[PartitionEvidence]) -> NotRepaired | None:
    """Return a refusal if another tool wrote so recently that it may still be at work."""
    case = leased.case
    marked = [each.state for each in partitions if each.state is not None and is_cold(each.state.data)]
    times = [(znode.stat.mtime, znode.path) for znode in (*marked, *_copies(case, partitions))]
    newest, where = max(times, default=(0, ""))
    age = leased.shard.taken_at - newest / 1000
    if age >= case.options.quiet:
        return None
    return NotRepaired(
        f"{where} was written {max(0, round(age))} s ago, less than {case.options.quiet:g} s, so another tool"
        " may still be at work",
        "Stop the other tool for good, wait, and run part_repair again; or give a shorter quiet",
    )


def _copies(case: RepairCase, partitions: list[PartitionEvidence]) -> list[Znode]:
    names = [
        (case.layout.replica(replica.name).part(part.text), part)
        for partition in partitions
        for replica in partition.replicas
        for part in replica.cold
    ]
    return [part.znode for part in read_parts(case.context.cold, names)]
