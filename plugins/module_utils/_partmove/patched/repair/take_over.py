# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes the parts in cold of a shard path over from another cluster, with proof.

The proof is one of:

- the consent of the other cluster, in the marker (`given_to`);
- the disks: each part in cold is active on the disk of its replica in this cluster, with the same hash;
- cold has no part at the shard path.

Under the lease of the shard path the proof is checked, then the marker is written with the version read.

A hot ensemble that may be a copy gets an identity of its own after the proof, and then takes the path over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from ...binding.owner import Owner
from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...formats.payload import registers_hash
from ...lease.held_lease import Leases
from ...shard.facts import RegisteredPart
from ...shard.parts import read_parts
from ...shard.reader import ShardReader
from ...text import first_few
from ...tree.ports import ZnodeReader, ZnodeStore
from ...tree.znodes import SetData
from ..audit.evidence import ReplicaEvidence
from ..audit.reader import EvidenceReader, ShardEvidence
from ..parts.bind import bind_owned
from ..parts.leased_shard import LeasedShard
from ..parts.pair import renew_identity


class NotOwned(PartMoveError):
    """Nothing proves that the parts in cold are of this cluster, or the shard path is not this cluster's."""


class Proof(Enum):
    """Why a shard path was taken over."""

    NONE_NEEDED = "none needed"
    """The shard path was this cluster's already."""
    NO_PARTS = "no parts"
    """Cold has no part of any replica at the shard path, so nothing can be another cluster's."""
    CONSENT = "consent"
    DISKS = "disks"


def take_over(
    hot: ZnodeStore,
    cold: ZnodeStore,
    leases: Leases,
    shard_path: str,
    evidence: EvidenceReader,
    name: str = "",
) -> Proof:
    """Make this cluster the owner of the shard path in cold, and return the proof.

    After the proof the cold ensemble lists hot, as `bind_owned` does.

    name: the name of the hot ensemble for people; by default its members and its chroot.

    Raises NotOwned with all unproven parts, NoSuchTable, LeaseHeld, LeaseLost, EnsembleError and kin.
    """
    with _leased(hot, cold, leases, shard_path) as leased:
        shard = leased.shard()
        if shard.owner is Owner.OURS and shard.binding.is_known:
            return Proof.NONE_NEEDED
        _refuse_unclaimed(shard.owner, shard_path)
        marker, pair = shard.binding.marker, shard.binding.pair
        # A consent names the identity, which copies of this hot ensemble have, too.
        is_given = marker is not None and bool(marker.given_to) and marker.given_to == pair.hot_id
        if is_given and not pair.is_copied:
            proof = Proof.CONSENT
        elif not shard.has_parts_in_cold:
            proof = Proof.NO_PARTS
        else:
            _refuse_unproven(cold, evidence.read(shard_path))
            proof = Proof.DISKS
        leased.confirm()
        if pair.is_copied:
            renew_identity(hot, cold, leases.root)
            shard = leased.shard()
        bind_owned(leased, shard, name)
    return proof


def give(hot: ZnodeStore, cold: ZnodeStore, leases: Leases, shard_path: str, hot_id: str) -> bool:
    """Let the hot ensemble with this id take the shard path over; return whether the marker changed.

    Raises NotOwned if the shard path is not this cluster's, and as `take_over` does.
    """
    with _leased(hot, cold, leases, shard_path) as leased:
        shard = leased.shard()
        binding = shard.binding
        marker = binding.marker
        if (
            shard.owner is not Owner.OURS
            or binding.cold is None
            or marker is None
            or not marker.is_identified
        ):
            raise NotOwned(
                f"The parts of {shard_path} in cold are not marked as those of this hot ensemble",
                remedy="Give the hosts of the hot ensemble that owns the shard path",
            )
        if marker.given_to == hot_id:
            return False
        data = marker._replace(given_to=hot_id).encode()
        leased.cold.commit(
            [(shard_path, [SetData(shard_path, data, binding.cold.stat.version)])]
        ).raise_problem()
        leased.cold.store.sync(shard_path)
        written = leased.binding().marker
        if written is None or written.given_to != hot_id:
            raise PartMoveError(
                f"The marker of {shard_path} in cold changed while the consent was to be written",
                remedy="Run again",
            )
    return True


@contextmanager
def _leased(hot: ZnodeStore, cold: ZnodeStore, leases: Leases, shard_path: str) -> Iterator[LeasedShard]:
    layout = ShardLayout(shard_path)
    reader = ShardReader(hot, cold, layout, leases.root, any_cold=True)
    lease = leases.acquire(shard_path)
    try:
        yield LeasedShard(hot, cold, reader, layout, lease)
    finally:
        leases.release(lease)


def _refuse_unclaimed(owner: Owner, shard_path: str) -> None:
    if owner in (Owner.FORMER, Owner.NOBODY):
        raise NotOwned(
            f"No other cluster owns the parts of {shard_path} in cold",
            remedy="Run part_audit_info on the shard path, then part_repair with the kind of the finding",
        )


def _refuse_unproven(cold: ZnodeReader, evidence: ShardEvidence) -> None:
    unproven = sorted(
        reason
        for partition in evidence.partitions.values()
        for replica in partition.replicas
        for reason in _unproven(cold, evidence.layout, replica)
    )
    if unproven:
        raise NotOwned(
            f"Nothing proves that {evidence.layout.path} in cold is of this cluster: {first_few(unproven)}",
            remedy="Check the hosts and the chroots of hot and cold. If the other cluster gives up the table,"
            " run cold_owner with state: given there, then run this again",
        )


def _unproven(cold: ZnodeReader, layout: ShardLayout, replica: ReplicaEvidence) -> Iterator[str]:
    """Yield a reason for each part in cold that is not on the disk of its replica with the same hash."""
    if replica.unreadable:
        yield f"unreadable znodes: {first_few(replica.unreadable)}"
    if not replica.cold:
        return
    if not replica.is_in_hot:
        yield f"hot has no replica {replica.name}"
        return
    if replica.active is None:
        yield f"replica {replica.name}: {replica.silence}"
        return
    folder = layout.replica(replica.name)
    paths = [(folder.part(part.text), part) for part in replica.cold]
    read = {each.name: each for each in read_parts(cold, paths)}
    for part in replica.cold:
        registered, shown = read.get(part), replica.hashes.get(part.text)
        if registered is None or shown is None or not _registers(registered, shown):
            yield f"{part.text} of replica {replica.name} is not on its disk with that hash"


def _registers(part: RegisteredPart, shown: str) -> bool:
    data, children = part.payload
    return registers_hash(data, dict(children), shown)
