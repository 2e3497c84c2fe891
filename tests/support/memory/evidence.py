# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence of an audit in few words: names of parts, separated by blanks."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import (
    PartName,
    parse_part_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    FirstReadMismatches,
    PartitionEvidence,
    ReplicaEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

DAY = "20190101"
A, B, AB = f"{DAY}_0_0_0", f"{DAY}_1_1_0", f"{DAY}_0_1_1"
"""Two parts of the day, and what they are merged into."""


def parts(text: str) -> tuple[PartName, ...]:
    """The parts with these names."""
    return tuple(parse_part_name(name, 1, name) for name in text.split())


def replica(  # noqa: PLR0913 - each is a field of the evidence
    name: str = "r1",
    *,
    hot: str = "",
    cold: str = "",
    disk: str | None = "",
    detached: str = "",
    in_hot: bool = True,
    differing: str = "",
    unlike_disk: str = "",
    unreadable: str = "",
    damaged_copies: str = "",
    before: tuple[str, str] | None = None,
) -> ReplicaEvidence:
    """One replica; without a ``disk`` its server is silent.

    ``before``: what was unregistered, and what was missing, in an earlier look.
    """
    return ReplicaEvidence(
        name=name,
        is_in_hot=in_hot,
        hot=parts(hot),
        cold=parts(cold),
        active=None if disk is None else parts(disk),
        detached=None if disk is None else frozenset(detached.split()),
        silence=f"the server of {name} is silent" if disk is None else "",
        differing=frozenset(differing.split()),
        unlike_disk=frozenset(unlike_disk.split()),
        unreadable=tuple(unreadable.split()),
        damaged_copies=frozenset(damaged_copies.split()),
        before=None
        if before is None
        else FirstReadMismatches(*(frozenset(names.split()) for names in before)),
    )


def partition(
    *replicas: ReplicaEvidence,
    state: str = "",
    owner: Owner = Owner.OURS,
    cold_is_known: bool = True,
    seconds_needed: float = 0.0,
) -> PartitionEvidence:
    """The partition of the day, with the State that is given, or none."""
    stat = Stat(1, 1, 0, 0, 0, 0, 0, 0, len(state), 0, 1)
    return PartitionEvidence(
        partition_id=DAY,
        state=Znode("/t/State", state.encode(), stat) if state else None,
        replicas=replicas,
        owner=owner,
        cold_is_known=cold_is_known,
        seconds_needed=seconds_needed,
    )
