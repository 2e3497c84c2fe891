# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which replicas have the data of a part, active or in the folder ``detached``."""

from __future__ import annotations

from ...formats.names import PartName, detached_part, is_covered
from .evidence import PartitionEvidence, ReplicaEvidence


def others_of(partition: PartitionEvidence, replica: ReplicaEvidence) -> list[ReplicaEvidence]:
    """Return the other replicas in hot; for replicas in cold alone, no server can be asked."""
    return [each for each in partition.replicas if each.is_in_hot and each.name != replica.name]


def has_part(partition: PartitionEvidence, replica: ReplicaEvidence, part: PartName) -> bool:
    """Return whether the server of the replica has the part, active or detached by the server itself."""
    return is_covered(part, replica.active or ()) or is_detached_by_server(partition, replica, part)


def is_detached_by_server(partition: PartitionEvidence, replica: ReplicaEvidence, part: PartName) -> bool:
    """Return whether the server itself detached a part registered in cold alone.

    A server puts a reason before the name of such a folder. DETACH PARTITION puts none, and detaches the part
    on every replica. A part detached by DETACH PARTITION may be attached by now, and must not be put back
    then.
    """
    if part.text not in (replica.detached or ()):
        return is_detached(replica, part)
    return any(is_covered(part, other.active or ()) for other in others_of(partition, replica))


def is_detached(replica: ReplicaEvidence, part: PartName) -> bool:
    """Return whether the folder has the part, under its own name or after a reason (``ignored_…``)."""
    return any(part.text in (each, detached_part(each)) for each in replica.detached or ())
