# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides the kind of a partition for each replica, from the evidence alone.

The first matching rule decides. The rules come in this order:

- parts that a server would detach at its next start;
- registered parts without data;
- parts in cold of another table, replica or tool;
- whether State matches the location of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ...binding.owner import Owner
from ...formats.names import PartName, not_covered
from .evidence import PartitionEvidence, ReplicaEvidence
from .holders import has_part, is_detached, is_detached_by_server, others_of
from .kind import FindingKind

SECONDS_COPIES_MAY_STAY = 2 * 86_400
"""How long the next runs may take to remove copies that nobody needs: two runs of every night."""


class Verdict(NamedTuple):
    """The kind of a partition for one replica.

    parts: names of the affected parts, sorted; for an unreadable znode, paths.
    reason: why the partition could not be judged; otherwise empty.
    blocks_start: whether both ensembles register a part missing on disk: then the table does not load.
    only_copies: whether hot registers each affected part intact: then a server starts as if cold had none.
    can_wait: whether the inconsistency is harmless so far, because later runs are expected to end it.
    """

    kind: FindingKind
    parts: tuple[str, ...] = ()
    reason: str = ""
    blocks_start: bool = False
    only_copies: bool = False
    can_wait: bool = False

    @property
    def restart_unsafe(self) -> bool:
        """Whether a restart of the server would detach parts, or leave the server without the table."""
        return (self.kind.restart_unsafe and not self.only_copies) or self.blocks_start


Rule = Callable[[PartitionEvidence, ReplicaEvidence], "Verdict | None"]


def judge(partition: PartitionEvidence) -> dict[str, Verdict]:
    """Return replica → verdict."""
    return {each.name: _judge_replica(partition, each) for each in partition.replicas}


def only_cold(replica: ReplicaEvidence) -> list[PartName]:
    """Return the parts in cold, without parts registered in hot or merged or mutated into a part in hot."""
    return not_covered(replica.cold, replica.hot)


def _judge_replica(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict:
    for rule in _RULES:
        verdict = rule(partition, replica)
        if verdict is not None:
            return verdict
    return _by_state(partition, replica)


def _unreadable(_partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    if not replica.unreadable:
        return None
    # A starting server reads the names of the parts in cold, and no data. So a damaged copy of a part that
    # hot registers intact is like any other copy. An unreadable name is never a damaged copy.
    only_copies = all(path in replica.damaged_copies for path in replica.unreadable)
    return Verdict(
        FindingKind.UNREADABLE,
        replica.unreadable,
        blocks_start=_blocks_start(replica),
        only_copies=only_copies,
    )


def _blocks_start(replica: ReplicaEvidence) -> bool:
    """Return whether both ensembles register a part missing on disk; a silent server counts as missing it."""
    return any(part in replica.cold for part in replica.missing(replica.hot))


def _other_cluster(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    """Match all parts in cold below the marker of another cluster; no repair touches them."""
    if partition.owner is not Owner.OTHER_CLUSTER or not replica.cold:
        return None
    return _verdict(FindingKind.OTHER_CLUSTER, replica.cold)._replace(blocks_start=_blocks_start(replica))


def _another_replica(_partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    return None if replica.is_in_hot else _verdict(FindingKind.ANOTHER_REPLICA, replica.cold)


def _silent(_partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    return Verdict(FindingKind.NOT_JUDGED, reason=replica.silence) if replica.active is None else None


def _unregistered(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    parts = replica.unregistered()
    if not parts:
        return None
    if partition.is_cold and not partition.cold_is_known:
        return _verdict(FindingKind.COLD_UNKNOWN, parts)
    of_others = {part.text for other in others_of(partition, replica) for part in (*other.hot, *other.cold)}
    all_of_others = all(part.text in of_others for part in parts)
    return _verdict(FindingKind.REGISTERED_FOR_ANOTHER if all_of_others else FindingKind.UNREGISTERED, parts)


def _of_another_cold(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    """Match parts in a cold ensemble to which the table is not bound; no run counts on them."""
    parts = only_cold(replica) if partition.is_cold and not partition.cold_is_known else []
    return _verdict(FindingKind.COLD_UNKNOWN, parts) if parts else None


def _not_on_disk(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    """Match registered parts without an active part on disk."""
    missing, missing_hot = replica.missing(only_cold(replica)), replica.missing(replica.hot)
    detached = [part for part in missing if is_detached_by_server(partition, replica, part)]
    detached += [part for part in missing_hot if is_detached(replica, part)]
    blocks_start = _blocks_start(replica)
    if detached:
        return _verdict(FindingKind.SET_ASIDE, detached)._replace(blocks_start=blocks_start)
    if missing:
        return _only_registered(partition, replica, missing)._replace(blocks_start=blocks_start)
    if missing_hot:
        return _verdict(FindingKind.NOT_ON_DISK, missing_hot)._replace(blocks_start=blocks_start)
    return None


def _only_registered(
    partition: PartitionEvidence, replica: ReplicaEvidence, missing: Sequence[PartName]
) -> Verdict:
    """Return the verdict on parts registered in cold alone and missing on the replica's disk."""
    others = others_of(partition, replica)
    if any(has_part(partition, other, part) for other in others for part in missing):
        return _verdict(FindingKind.LACKS_DATA, missing)
    silent = next((other for other in others if other.active is None), None)
    if silent is not None:
        return Verdict(FindingKind.NOT_JUDGED, _names(missing), f"replica {silent.name}: {silent.silence}")
    if partition.owner is Owner.FORMER:
        return _verdict(FindingKind.FORMER_TABLE, missing)
    return _verdict(FindingKind.GHOST if partition.is_cold else FindingKind.DROPPED, missing)


def _without_data(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    """Match a replica without any part of a partition that is cold for other replicas."""
    others = others_of(partition, replica)
    if replica.hot or replica.cold or any(other.hot for other in others):
        return None
    parts = [part for other in others for part in other.cold if has_part(partition, other, part)]
    return _verdict(FindingKind.LACKS_DATA, parts) if parts else None


def _unlike_disk(_partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    unlike = replica.unlike_disk
    return Verdict(FindingKind.UNLIKE_DISK, tuple(sorted(unlike))) if unlike else None


def _of_others(partition: PartitionEvidence, _replica: ReplicaEvidence) -> Verdict | None:
    """Match parts in cold, of any replica, without a marker of this table."""
    replicas = [each for each in partition.replicas if each.is_in_hot]
    parts = [part for each in replicas for part in each.cold]
    if not parts or partition.owner is Owner.OURS:
        return None
    # A copy that differs from hot was made of another table, or of an earlier part of the same name.
    is_former = partition.owner is Owner.FORMER or any(each.differing for each in replicas)
    if is_former and not any(only_cold(each) for each in replicas):
        return _verdict(FindingKind.FORMER_TABLE, parts)
    return _verdict(FindingKind.FOREIGN, parts)


def _ghosts_elsewhere(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    """Match a replica beside cold parts of other replicas that are on no disk.

    The rows may be in parts of other names by now. So these part znodes have to go before the partition is
    brought back, and no folder may be copied in their place.
    """
    others = others_of(partition, replica)
    absent = [
        part
        for other in others
        for part in other.missing(only_cold(other))
        if not any(has_part(partition, each, part) for each in (replica, *others))
    ]
    if not absent or not _has_other_parts(partition, absent):
        return None
    silent = next((each for each in sorted(others, key=_by_name) if each.active is None), None)
    if silent is not None:
        return Verdict(FindingKind.NOT_JUDGED, _names(absent), f"replica {silent.name}: {silent.silence}")
    return _verdict(FindingKind.GHOST if partition.is_cold else FindingKind.DROPPED, absent)


def _has_other_parts(partition: PartitionEvidence, absent: Sequence[PartName]) -> bool:
    """Return whether a replica registers other parts of the partition than the absent ones."""
    replicas = [each for each in partition.replicas if each.is_in_hot]
    return any(part not in absent for each in replicas for part in (*each.hot, *each.cold))


def _by_name(replica: ReplicaEvidence) -> str:
    return replica.name


def _differing(_partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict | None:
    differing = replica.differing
    return Verdict(FindingKind.COPIES_DIFFER, tuple(sorted(differing))) if differing else None


_RULES: tuple[Rule, ...] = (
    _unregistered,
    _unreadable,
    _other_cluster,
    _another_replica,
    _silent,
    _of_another_cold,
    _not_on_disk,
    _without_data,
    _unlike_disk,
    _of_others,
    _ghosts_elsewhere,
    _differing,
)


def _by_state(partition: PartitionEvidence, replica: ReplicaEvidence) -> Verdict:
    """Compare State with the location of the parts; the registered parts are exactly the parts on disk."""
    replicas = [each for each in partition.replicas if each.is_in_hot]
    in_cold_only = [part for each in replicas for part in only_cold(each)]
    if any(each.hot for each in replicas):
        if in_cold_only:
            return _verdict(FindingKind.HALF_COLD, in_cold_only)
        return _hot(partition, replica, has_copies=any(each.cold for each in replicas))
    if in_cold_only and replica.cold:
        # A replica without any part has matched `_without_data` before.
        is_even = len({_names(each.cold) for each in replicas if each.cold}) == 1
        return _cold(partition, replica, is_even=is_even)
    return Verdict(
        FindingKind.EMPTY_MARKED_COLD if partition.is_cold and not in_cold_only else FindingKind.EMPTY
    )


def _hot(partition: PartitionEvidence, replica: ReplicaEvidence, *, has_copies: bool) -> Verdict:
    """Return the verdict where hot registers every part on disk."""
    if partition.is_cold:
        return _verdict(FindingKind.HOT_MARKED_COLD, replica.hot)
    if not has_copies:
        return Verdict(FindingKind.HOT)
    if partition.seconds_needed:
        return _verdict(FindingKind.COPIES_NEEDED, replica.cold)
    return _verdict(FindingKind.COPIES_LEFT, replica.cold)._replace(can_wait=_is_recent(partition))


def _is_recent(partition: PartitionEvidence) -> bool:
    """Return whether State or a copy was written within SECONDS_COPIES_MAY_STAY."""
    state = partition.state
    writes = [each.cold_mtime for each in partition.replicas if each.is_in_hot]
    newest = max([*writes, 0 if state is None else state.stat.mtime])
    return partition.now - newest / 1000 < SECONDS_COPIES_MAY_STAY


def _cold(partition: PartitionEvidence, replica: ReplicaEvidence, *, is_even: bool) -> Verdict:
    """Return the verdict where cold alone registers the parts on disk."""
    if not partition.is_cold:
        return _verdict(FindingKind.COLD_UNMARKED, replica.cold)
    if not is_even:
        return _verdict(FindingKind.UNEVEN, replica.cold)
    return _verdict(
        FindingKind.SEVERAL_COLD_PARTS if len(replica.cold) > 1 else FindingKind.COLD, replica.cold
    )


def _verdict(kind: FindingKind, parts: Iterable[PartName]) -> Verdict:
    return Verdict(kind, _names(parts))


def _names(parts: Iterable[PartName]) -> tuple[str, ...]:
    return tuple(sorted({part.text for part in parts}))
