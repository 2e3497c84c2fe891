# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the parts of a partition are registered, and what that means for a move."""

from __future__ import annotations

from enum import Enum

from .facts import Whereabouts
from .gate import Refusal, few


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
    """Where the partition is, over all replicas."""
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


def refusal_of(partition: Whereabouts) -> Refusal:
    """Why a partition that is ABSENT or DRIFTED is not moved."""
    if locate(partition) is Location.ABSENT:
        return Refusal(
            "partition_exists",
            "no part of the partition is registered in either ensemble",
            "Check the partition id (system.parts.partition_id) and the shard path",
        )
    state = "absent" if partition.state is None else partition.state.data.decode(errors="backslashreplace")
    counts = few(
        f"{replica} has {len(partition.hot[replica])} in hot and {len(names)} in cold"
        for replica, names in partition.cold.items()
    )
    return Refusal(
        "not_drifted",
        f"State is {state} while of its parts {counts}",
        "Audit the partition and repair it before it is moved",
    )
