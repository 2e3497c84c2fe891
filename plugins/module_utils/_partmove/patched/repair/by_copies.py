# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of copies: adopting the copies of another tool, and writing copies anew from hot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...formats.names import is_covered
from ...formats.state import is_cold
from ...gates.judge import REHEAT_GATES, refuse_shard
from ...gates.names import GateName
from ...shard.parts import read_parts
from ...text import first_few
from ...tree.znodes import Znode
from ..audit.evidence import PartitionEvidence, ReplicaEvidence
from ..audit.judge import Verdict, judge, only_cold
from ..audit.kind import FindingKind
from ..parts.bind import bind
from ..parts.copies import ColdCopies
from .case import LeasedCase, NotRepaired, RepairCase, RepairOptions
from .judged import JudgedPartition

_OTHERS_FIRST = "Repair the partitions of other kinds first; the shard path is adopted as a whole"


def adopt(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Mark the parts in cold as those of this table, for the whole shard path or not at all.

    Every part in cold has to equal the part in hot, or has to be on the replica's disk as registered. Other
    tools must have stopped writing there. All obstacles are reported at once: a run that only waits for the
    other tool says so.
    """
    evidence = leased.read_again(whole=True)
    partitions = list(evidence.partitions.values())
    obstacles = [
        *_closed_gate(leased),
        *(obstacle for each in partitions for obstacle in _obstacles(each, leased.case.options)),
    ]
    still_written = _too_fresh(leased, partitions)
    if not obstacles and still_written is None:
        bind(leased.shard, leased.facts)
        return {}
    return dict.fromkeys([each.partition_id for each in judged], _together(obstacles, still_written))


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


def _together(obstacles: Sequence[NotRepaired], still_written: NotRepaired | None) -> NotRepaired:
    """Return all reasons and remedies as one; a remedy of several obstacles is named once."""
    reasons, remedies = [first_few([each.reason for each in obstacles])], [each.remedy for each in obstacles]
    if still_written is not None:
        reasons.append(still_written.reason)
        remedies.append(still_written.remedy)
    if not obstacles:
        reasons = [*reasons[1:], "nothing else is in the way"]
    return NotRepaired("; ".join(reasons), ". ".join(dict.fromkeys(remedies)))


def _closed_gate(leased: LeasedCase) -> Iterator[NotRepaired]:
    refusal = refuse_shard(leased.facts, REHEAT_GATES)
    # That the parts are not of this table is what adoption is for.
    if refusal is not None and refusal.gate is not GateName.SAME_TABLE:
        yield NotRepaired(refusal.reason, refusal.remedy)


def _obstacles(partition: PartitionEvidence, options: RepairOptions) -> Iterator[NotRepaired]:
    """Yield why the parts in cold do not belong to this table, at most one reason for each replica."""
    verdicts = judge(partition)
    for replica in partition.replicas:
        obstacle = _obstacle(replica, verdicts[replica.name], options) if replica.cold else None
        if obstacle is not None:
            reason = f"partition {partition.partition_id} of the table cannot be adopted: {obstacle.reason}"
            yield NotRepaired(reason, obstacle.remedy)


def _obstacle(replica: ReplicaEvidence, verdict: Verdict, options: RepairOptions) -> NotRepaired | None:
    if verdict.kind is not FindingKind.FOREIGN:
        return NotRepaired(f"for replica {replica.name} its kind is {verdict.kind.value}", _OTHERS_FIRST)
    if replica.differing:
        differing = first_few(sorted(replica.differing))
        return NotRepaired(f"copies of replica {replica.name} differ from hot: {differing}", _OTHERS_FIRST)
    alone = only_cold(replica)
    lacking = [part.text for part in alone if not is_covered(part, replica.active or ())]
    if lacking:
        return NotRepaired(
            f"replica {replica.name} does not have {first_few(lacking)} on disk", _OTHERS_FIRST
        )
    # A name alone proves nothing: another table at the path may have given it to other data.
    names = {part.text for part in alone} & {part.text for part in replica.active or ()}
    unproven = sorted(name for name in names if replica.hashes.get(name) is None)
    if unproven and not options.without_hashes:
        return NotRepaired(
            f"the server of replica {replica.name} does not show the hash of {first_few(unproven)}",
            "If the version of the server shows no hashes, and no other table was ever at the path: run"
            " part_repair with without_hashes",
        )
    return None


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
