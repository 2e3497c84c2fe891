# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a partition is: the one answer that moves, their way back, State and part_info go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from ..formats.names import PartName, is_covered
from ..formats.state import State
from ..tree.znodes import Znode
from .facts import PartitionFacts, RegisteredNames

NamesByPartition = Mapping[str, Mapping[str, Sequence[PartName]]]
"""Replica → partition id → names of its parts."""


class Location(Enum):
    """Where the parts of a partition are registered, and whether its State says so.

    A move takes HOT to COPIED and that to COLD; the way back takes COLD to COPIED and that to HOT. A run that
    is killed leaves one of these three. DROPPED is left by a DROP PARTITION of a copied one, UNEVEN and MIXED
    by servers that worked on a cold partition; STRAY was made by something else.
    """

    ABSENT = "absent"
    """Registered in neither ensemble."""
    HOT = "hot"
    """Registered in hot only, and State is not COLD."""
    COPIED = "copied"
    """Registered in hot, with copies in cold, and State is not COLD."""
    DROPPED = "dropped"
    """Registered in cold only, and State says HOT or is not there: the copies were left."""
    COLD = "cold"
    """Registered in cold only, the same parts for every replica, and State is COLD."""
    UNEVEN = "uneven"
    """Registered in cold only, not the same parts for every replica, and State is COLD."""
    MIXED = "mixed"
    """Registered in hot, or in both, although State is COLD."""
    STRAY = "stray"
    """Registered in cold only, and State says neither COLD nor HOT."""

    @property
    def told(self) -> str:
        """In one of four words: ``hot``, ``cold``, ``absent`` or ``drifted``, where State is not true.

        >>> Location.COPIED.told, Location.MIXED.told
        ('hot', 'drifted')
        """
        return _TOLD.get(self, "drifted")


_TOLD = {
    Location.ABSENT: "absent",
    Location.HOT: "hot",
    Location.COPIED: "hot",
    Location.COLD: "cold",
}


def locate(names: RegisteredNames | PartitionFacts) -> Location:
    """Where the partition is, over all replicas.

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
    """Ids of the partitions with a part that only cold registers: hot has neither it nor what it became.

    A server without the patch knows nothing of such a part. A replica may be there in one ensemble only.
    """
    return {
        partition_id
        for replica, partitions in cold.items()
        for partition_id, parts in partitions.items()
        if not all(is_covered(part, hot.get(replica, {}).get(partition_id, ())) for part in parts)
    }


def never_was_cold(state: Znode) -> bool:
    """Whether State tells that no switch changed it: it is created as HOT, once, and never deleted."""
    return state.stat.version == 0 and state.data != State.COLD.data


def was_brought_back(state: Znode | None) -> bool:
    """Whether State tells that the partition was cold and is hot again."""
    return state is not None and state.data == State.HOT.data and not never_was_cold(state)
