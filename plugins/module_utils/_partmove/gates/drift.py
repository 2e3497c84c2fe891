# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates at a partition that is nowhere, or not where its State says."""

from __future__ import annotations

from ..shard.facts import RegisteredNames, state_text
from ..shard.location import Location, locate
from ..text import few
from .gate import Refusal
from .names import GateName


def refuse_location(names: RegisteredNames) -> Refusal:
    """Why a partition that no run starts from where it is stays there."""
    location = locate(names)
    if location is Location.ABSENT:
        return Refusal(
            GateName.PARTITION_EXISTS,
            "no part of the partition is registered in either ensemble",
            "Check the partition id (system.parts.partition_id) and the shard path",
        )
    counts = few(
        f"{replica} has {len(names.hot[replica])} in hot and {len(parts)} in cold"
        for replica, parts in names.cold.items()
    )
    state = "absent" if names.state is None else state_text(names.state)
    return Refusal(
        GateName.NOT_DRIFTED,
        f"State is {state} while of its parts {counts}",
        _WAY_OUT.get(location, "Give the servers with clickhouse, and bring it back with the state hot"),
    )


_WAY_OUT = {
    Location.DROPPED: "Remove what no server has any more: part_move with the state hot, and clickhouse;"
    " where the servers do have it, set State to COLD with partition_state",
    Location.STRAY: "Set State with partition_state to COLD if the servers have the parts, or else to HOT",
}
