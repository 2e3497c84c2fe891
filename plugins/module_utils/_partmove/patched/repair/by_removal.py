# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs by removal: removes unneeded part znodes from cold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...formats.names import PartName, is_covered
from ...formats.payload import payload_problem
from ...formats.state import State
from ...shard.parts import read_parts
from ...text import first_few
from ...tree.znodes import Delete, Op
from ...zip_strict import zip_strict
from ..audit.evidence import PartitionEvidence, ReplicaEvidence
from ..audit.judge import Verdict
from ..parts.operations import removal
from .by_state import set_states
from .case import LeasedCase, NotRepaired, RepairCase
from .judged import JudgedPartition

_AGAIN = NotRepaired("a znode changed while it was to be removed", "Run part_repair again")


def remove_registrations(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Remove cold part znodes of parts on no disk or in hot; never the last part znode of a part."""
    case = leased.case
    left: dict[str, NotRepaired] = {}
    parts: list[tuple[str, PartName]] = []
    for each in judged:
        needed = _needed(case, each.evidence, each.verdicts)
        if needed:
            left[each.partition_id] = needed
        else:
            parts += _paths(case, each.evidence, each.verdicts)
    read = read_parts(case.context.cold, parts)
    _commit(leased, [(part.name.partition_id, removal(part)) for part in read], left)
    return left


def remove_ghosts(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Remove cold part znodes of parts on no disk, then set the State of emptied partitions to HOT."""
    left = remove_registrations(leased, judged)
    evidence = leased.read_again().partitions
    emptied = [
        each.partition_id
        for each in judged
        if each.partition_id not in left
        and each.partition_id in evidence
        and not any(replica.active for replica in evidence[each.partition_id].replicas)
    ]
    return {**left, **set_states(leased, emptied, State.HOT)}


def remove_unreadable(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Remove znodes from cold that are no parts, or damaged copies of parts in hot."""
    case = leased.case
    left: dict[str, NotRepaired] = {}
    groups: list[tuple[str, list[Op]]] = []
    for each in judged:
        paths = sorted({path for verdict in each.verdicts.values() for path in verdict.parts})
        needed = _not_removable(case, each.evidence, paths)
        if needed:
            left[each.partition_id] = needed
            continue
        groups += [(each.partition_id, [op]) for path in paths for op in _deletes(case, path)]
    _commit(leased, groups, left)
    return left


def _needed(
    case: RepairCase, partition: PartitionEvidence, verdicts: Mapping[str, Verdict]
) -> NotRepaired | None:
    """Return a refusal if a part znode is the last one of a part that may be on a disk."""
    for replica in partition.replicas:
        if replica.name not in verdicts:
            continue
        names = set(verdicts[replica.name].parts)
        for part in (each for each in replica.cold if each.text in names):
            if replica.is_in_hot:
                if not is_covered(part, replica.hot) and (why := _last_of(case, partition, replica, part)):
                    return why
            elif not (case.options.replica_is_gone or _is_of_another(partition, part)):
                return NotRepaired(
                    f"{part.text} of replica {replica.name} is registered for no replica that hot has",
                    "If the server of that replica is gone for good, run part_repair with replica_is_gone",
                )
    return None


def _last_of(
    case: RepairCase, partition: PartitionEvidence, replica: ReplicaEvidence, part: PartName
) -> NotRepaired | None:
    """Return a refusal to remove the last registration of a part, unless it certainly is on no disk."""
    if _on_a_disk(partition, part):
        return NotRepaired(
            f"{part.text} of replica {replica.name} is on a disk and registered in cold only",
            "Run part_audit_info again: the partition has another kind by now",
        )
    if case.options.disks_are_mounted:
        return None
    # A server whose disk is not mounted answers as if it had no parts.
    return NotRepaired(
        f"{part.text} of replica {replica.name} is registered in cold only, and no server shows the part",
        "Check that every disk of every replica is mounted, then run part_repair with disks_are_mounted",
    )


def _on_a_disk(partition: PartitionEvidence, part: PartName) -> bool:
    """Return whether a server has the part, or a part that it was merged or mutated into."""
    return any(is_covered(part, each.active or ()) for each in partition.replicas if each.is_in_hot)


def _is_of_another(partition: PartitionEvidence, part: PartName) -> bool:
    return any(is_covered(part, (*each.hot, *each.cold)) for each in partition.replicas if each.is_in_hot)


def _paths(
    case: RepairCase, partition: PartitionEvidence, verdicts: Mapping[str, Verdict]
) -> list[tuple[str, PartName]]:
    return [
        (case.layout.replica(replica.name).part(part.text), part)
        for replica in partition.replicas
        if replica.name in verdicts
        for part in replica.cold
        if part.text in verdicts[replica.name].parts
    ]


def _not_removable(case: RepairCase, partition: PartitionEvidence, paths: list[str]) -> NotRepaired | None:
    """Return a refusal if an unreadable znode is in hot, or is the only registration of its part."""
    in_cold = [path for path, znode in zip_strict(paths, case.context.cold.read(paths)) if znode is not None]
    if in_cold != paths:
        return NotRepaired(
            f"hot has unreadable znodes: {first_few(sorted(set(paths) - set(in_cold)))}",
            "Find out which program wrote them, and remove them by hand",
        )
    for replica in partition.replicas:
        if case.options.replica_is_gone and not replica.is_in_hot:
            continue
        layout = case.layout.replica(replica.name)
        parts = [(path, part) for part in replica.cold if (path := layout.part(part.text)) in paths]
        for copy in read_parts(case.context.cold, parts):
            part, (data, children) = copy.name, copy.payload
            if payload_problem(data, dict(children)) is None:
                return NotRepaired(
                    f"the copy of {part.text} of replica {replica.name} in cold is intact, the part znode"
                    " in hot is damaged",
                    "Keep the copy, and let ClickHouse repair the part while it is hot (CHECK TABLE)",
                )
            if not is_covered(part, replica.hot):
                return NotRepaired(
                    f"{part.text} of replica {replica.name} is registered in cold only",
                    "Restore the znode from a backup (part_restore); system.parts shows the hash of the part",
                )
    return None


def _deletes(case: RepairCase, path: str) -> Iterator[Op]:
    """Yield the operations to delete a znode and all znodes below it, deepest first."""
    cold = case.context.cold
    names = cold.children([path])[0] or ()
    for name in names:
        yield from _deletes(case, f"{path}/{name}")
    znode = cold.read([path])[0]
    if znode is not None:
        yield Delete(path, znode.stat.version)


def _commit(leased: LeasedCase, groups: list[tuple[str, list[Op]]], left: dict[str, NotRepaired]) -> None:
    written = leased.shard.cold.commit(groups)
    left.update(dict.fromkeys((*written.rejected, *written.unknown), _AGAIN))
    written.raise_problem()
