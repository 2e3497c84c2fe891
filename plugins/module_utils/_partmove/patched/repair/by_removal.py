# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs that remove registrations from cold which belong to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...formats.names import PartName, is_covered
from ...formats.payload import payload_problem
from ...formats.state import State
from ...shard.parts import read_parts
from ...text import first_few
from ...tree.znodes import Delete, Op
from ...zip_strict import zip_strict
from ..audit.evidence import PartitionEvidence
from ..audit.judge import Verdict
from ..parts.operations import removal
from .by_state import set_states
from .case import CaseRead, LeasedCase, NotRepaired, RepairCase

_AGAIN = NotRepaired("it changed while it was to be removed", "Run again")


def remove_registrations(case: RepairCase) -> dict[str, NotRepaired]:
    """Remove parts from cold that are on no disk, or that hot registers; never the last one of a part."""
    left: dict[str, NotRepaired] = {}
    with case.leased() as leased:
        parts: list[tuple[str, PartName]] = []
        for partition, found in leased.look().still(left):
            kept = _needed(case, partition, found)
            if kept:
                left[partition.partition_id] = kept
            else:
                parts += _paths(case, partition, found)
        read = read_parts(case.context.cold, parts)
        _commit(leased, [(part.name.partition_id, removal(part)) for part in read], left)
    return left


def remove_ghosts(case: RepairCase) -> dict[str, NotRepaired]:
    """Remove parts that are on no disk, then let State say HOT where nothing is left of a partition."""
    left = remove_registrations(case)
    found = case.context.evidence().read(case.layout.path).partitions
    emptied = [
        each
        for each in case.partition_ids
        if each not in left and each in found and not any(one.active for one in found[each].replicas)
    ]
    return {**left, **set_states(case, emptied, State.HOT)}


def remove_unreadable(case: RepairCase) -> dict[str, NotRepaired]:
    """Remove znodes from cold that are no parts, or no sound ones of parts that hot has."""
    left: dict[str, NotRepaired] = {}
    with case.leased() as leased:
        look = leased.look()
        groups: list[tuple[str, list[Op]]] = []
        for partition, found in look.still(left):
            paths = sorted({path for verdict in found.values() for path in verdict.parts})
            kept = _last_of_theirs(look, partition, paths)
            if kept:
                left[partition.partition_id] = kept
                continue
            groups += [(partition.partition_id, [op]) for path in paths for op in _deletes(case, path)]
        _commit(leased, groups, left)
    return left


def _needed(
    case: RepairCase, partition: PartitionEvidence, found: Mapping[str, Verdict]
) -> NotRepaired | None:
    """Why what was found has to stay: it is the last registration of something that may be on a disk."""
    for replica in partition.replicas:
        if replica.name not in found:
            continue
        names = set(found[replica.name].parts)
        for part in (each for each in replica.cold if each.text in names):
            if replica.is_in_hot:
                if not is_covered(part, replica.hot) and _on_a_disk(partition, part):
                    return NotRepaired(
                        f"{part.text} of replica {replica.name} is on a disk and registered nowhere else",
                        "Audit again: it is of another kind by now",
                    )
            elif not (case.options.replica_is_gone or _is_of_another(partition, part)):
                return NotRepaired(
                    f"{part.text} of replica {replica.name} is registered for no replica that hot has",
                    "If the server of that replica is gone for good, say so with replica_is_gone",
                )
    return None


def _on_a_disk(partition: PartitionEvidence, part: PartName) -> bool:
    """Whether a server has the part itself, or one that came of it."""
    return any(is_covered(part, each.active or ()) for each in partition.replicas if each.is_in_hot)


def _is_of_another(partition: PartitionEvidence, part: PartName) -> bool:
    return any(is_covered(part, (*each.hot, *each.cold)) for each in partition.replicas if each.is_in_hot)


def _paths(
    case: RepairCase, partition: PartitionEvidence, found: Mapping[str, Verdict]
) -> list[tuple[str, PartName]]:
    return [
        (case.layout.replica(replica.name).part(part.text), part)
        for replica in partition.replicas
        if replica.name in found
        for part in replica.cold
        if part.text in found[replica.name].parts
    ]


def _last_of_theirs(look: CaseRead, partition: PartitionEvidence, paths: list[str]) -> NotRepaired | None:
    """Why znodes that are not understood have to stay: hot has them, or has nothing in place of them."""
    in_cold = [
        path for path, znode in zip_strict(paths, look.case.context.cold.read(paths)) if znode is not None
    ]
    if in_cold != paths:
        return NotRepaired(
            f"hot has what is not understood: {first_few(sorted(set(paths) - set(in_cold)))}",
            "Find out what wrote it, and remove it by hand",
        )
    for replica in partition.replicas:
        if look.case.options.replica_is_gone and not replica.is_in_hot:
            continue
        layout = look.case.layout.replica(replica.name)
        parts = [(path, part) for part in replica.cold if (path := layout.part(part.text)) in paths]
        for copy in read_parts(look.case.context.cold, parts):
            part, (data, children) = copy.name, copy.payload
            if payload_problem(data, dict(children)) is None:
                return NotRepaired(
                    f"what cold has of {part.text} of replica {replica.name} is sound, what hot has is not",
                    "Keep the copy, and let ClickHouse put the part right while it is hot (CHECK TABLE)",
                )
            if not is_covered(part, replica.hot):
                return NotRepaired(
                    f"{part.text} of replica {replica.name} is registered in cold only",
                    "Put the znode back from a backup of it; system.parts tells the hash of the part",
                )
    return None


def _deletes(case: RepairCase, path: str) -> Iterator[Op]:
    """What deletes a znode with all below it, deepest first."""
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
