# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the parts of a partition are registered, and what that means for a move."""

from __future__ import annotations

from enum import Enum

from .facts import Whereabouts


class Location(Enum):
    """Where a partition is registered, with its State.

    A move takes HOT to COLD. Killed on the way it leaves HOT, with or without copies, or COLD;
    anything else was made by somebody else and is not touched.
    """

    HOT = "hot"
    """Registered in hot, State is not COLD; copies in cold may be there."""
    COLD = "cold"
    """Registered in cold only, State is COLD."""
    ABSENT = "absent"
    """Registered nowhere."""
    DRIFTED = "drifted"
    """State and registration contradict each other."""


def locate(partition: Whereabouts) -> Location:
    """Where the partition is, over all replicas.

    >>> locate(Whereabouts(None, hot={"r1": ["all_0_0_0"]}, cold={"r1": ["all_0_0_0"]}))
    <Location.HOT: 'hot'>
    >>> locate(Whereabouts(None, hot={"r1": []}, cold={"r1": ["all_0_0_0"]}))
    <Location.DRIFTED: 'drifted'>
    """
    hot, cold = any(partition.hot.values()), any(partition.cold.values())
    if not hot and not cold:
        return Location.ABSENT
    if hot and not partition.is_cold:
        return Location.HOT
    if not hot and partition.is_cold and _same_names_everywhere(partition):
        return Location.COLD
    return Location.DRIFTED


def _same_names_everywhere(partition: Whereabouts) -> bool:
    return len({frozenset(names) for names in partition.cold.values()}) == 1
