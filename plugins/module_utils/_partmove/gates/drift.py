# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates at a partition that is nowhere, or not where its State says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..shard.facts import RegisteredNames, state_text
from ..shard.location import Location, locate
from ..text import first_few
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
    counts = first_few(
        f"{replica} has {len(names.hot[replica])} in hot and {len(parts)} in cold"
        for replica, parts in names.cold.items()
    )
    state = "absent" if names.state is None else state_text(names.state)
    return Refusal(
        GateName.NOT_DRIFTED,
        f"State is {state} while of its parts {counts}",
        f"{_WAY_OUT[location]}; {_AUDIT}",
    )


def refuse_unregistered(on_disk: Mapping[str, Sequence[str]]) -> Refusal:
    """Why nothing is done with a partition that is on disk and that no ensemble knows.

    ``on_disk``: replica → names of its active parts.
    """
    found = first_few(f"{replica} has {first_few(names)}" for replica, names in sorted(on_disk.items()))
    return Refusal(
        GateName.REGISTERED,
        f"parts of it are active on disk and registered in neither ensemble: {found}",
        "Do not restart the server, which would set them aside: see that cold is the ensemble that the"
        " servers have as <cold_zookeeper>; part_audit_info then tells what is so, and part_repair"
        " registers them",
    )


def refuse_untold() -> Refusal:
    """Why a partition that no ensemble knows, and State says to be cold, is not taken for a dropped one."""
    return Refusal(
        GateName.REGISTERED,
        "State is COLD and neither ensemble registers a part of it: it was dropped while it was cold, or cold"
        " has lost it, which only the servers can tell",
        "Give clickhouse, so that they are asked; where that cannot be and system.parts of every replica has"
        " none of it, set State to HOT with partition_state; where one has it, do not restart its server and"
        " run part_audit_info",
    )


_BRING_BACK = "Bring it back with part_move and the state hot, and give clickhouse"
_WAY_OUT = {
    Location.UNEVEN: _BRING_BACK,
    Location.MIXED: _BRING_BACK,
    Location.DROPPED: "Remove what no server has any more: part_move with the state hot, and clickhouse;"
    " where the servers do have it, set State to COLD with partition_state",
    Location.STRAY: "Set State with partition_state to COLD if the servers have the parts, or else to HOT",
}
_AUDIT = "part_audit_info tells what each replica has of it, and part_repair repairs what is left"
