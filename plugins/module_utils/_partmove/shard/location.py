# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The location of a partition: the classification used by moves, bringing back, State and part_info."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from ..formats.names import PartName, is_covered
from ..formats.state import State
from ..tree.znodes import Znode
from .facts import PartitionFacts, RegisteredNames

NamesByPartition = Mapping[str, Mapping[str, Sequence[PartName]]]
"""Replica → partition id → names of parts."""


class Location(Enum):
    """The ensembles in which a partition is registered, compared with its State.

    Causes:

    - A move changes HOT → COPIED → COLD. Bringing back changes COLD → COPIED → HOT. A killed run leaves HOT,
      COPIED or COLD.
    - DROP PARTITION of a COPIED partition leaves DROPPED.
    - Servers that worked on a COLD partition leave UNEVEN or MIXED.
    - STRAY has a cause outside of this collection.
    """

    ABSENT = "absent"
    """Registered in neither ensemble."""
    HOT = "hot"
    """Registered in hot only; State is not COLD."""
    COPIED = "copied"
    """Registered in hot, with copies in cold; State is not COLD."""
    DROPPED = "dropped"
    """Registered in cold only; State is HOT or missing: only copies remain."""
    COLD = "cold"
    """Registered in cold only, with the same parts for every replica; State is COLD."""
    UNEVEN = "uneven"
    """Registered in cold only, with different parts for some replicas; State is COLD."""
    MIXED = "mixed"
    """Registered in hot, or in both ensembles; State is COLD."""
    STRAY = "stray"
    """Registered in cold only; State is neither COLD nor HOT nor missing."""

    @property
    def summary(self) -> str:
        """One of four words: ``hot``, ``cold``, ``absent``, or ``drifted`` if State contradicts the parts.

        >>> Location.COPIED.summary, Location.MIXED.summary
        ('hot', 'drifted')
        """
        return _SUMMARIES.get(self, "drifted")


_SUMMARIES = {
    Location.ABSENT: "absent",
    Location.HOT: "hot",
    Location.COPIED: "hot",
    Location.COLD: "cold",
}


def locate(names: RegisteredNames | PartitionFacts) -> Location:
    """Return the location of the partition, from the names of all replicas.

    >>> locate(RegisteredNames(None, hot={"r1": ["1_0_0_0"], "r2": []}, cold={"r1": [], "r2": []}))
    <Location.HOT: 'hot'>
    """
    hot, cold = any(names.hot.values()), any(names.cold.values())
    if not hot and not cold:
        return Location.ABSENT
    if hot:
        if names.is_cold:
            return Location.MIXED
        return Location.COPIED if cold else Location.HOT
    if names.is_cold:
        return Location.COLD if names.are_even_in_cold else Location.UNEVEN
    is_hot = names.state is None or names.state.data == State.HOT.data
    return Location.DROPPED if is_hot else Location.STRAY


def partitions_only_in_cold(hot: NamesByPartition, cold: NamesByPartition) -> set[str]:
    """Return the ids of partitions with a part in cold that no part of the same replica in hot covers.

    Servers without the patch do not see such parts. A replica may be in one ensemble only.
    """
    return {
        partition_id
        for replica, partitions in cold.items()
        for partition_id, parts in partitions.items()
        if not all(is_covered(part, hot.get(replica, {}).get(partition_id, ())) for part in parts)
    }


def never_was_cold(state: Znode) -> bool:
    """Whether State shows that the partition was never switched.

    State is created once, as HOT, and never deleted. So an unchanged znode has version 0.
    """
    return state.stat.version == 0 and state.data != State.COLD.data


def was_brought_back(state: Znode | None) -> bool:
    """Whether State shows that the partition was cold and is hot again."""
    return state is not None and state.data == State.HOT.data and not never_was_cold(state)
