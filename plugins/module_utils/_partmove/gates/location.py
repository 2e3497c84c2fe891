# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates at a partition without part znodes, or with part znodes where its State does not point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..shard.facts import RegisteredNames, state_text
from ..shard.location import Location, locate
from ..text import count_of, first_few
from .gate import Refusal
from .names import GateName


def refuse_location(names: RegisteredNames) -> Refusal:
    """Return the refusal of a partition from whose location no run starts, with the command for a better one.

    Raises KeyError for the locations from which a run starts (hot, copied, cold).
    """
    location = locate(names)
    if location is Location.ABSENT:
        return Refusal(
            GateName.PARTITION_EXISTS,
            "no part of the partition is registered in either ensemble",
            "Check the partition id (system.parts.partition_id) and the shard path",
        )
    counts = first_few(
        f"{replica} has {count_of(len(names.hot[replica]), 'part')} in hot and {len(parts)} in cold"
        for replica, parts in names.cold.items()
    )
    state = "absent" if names.state is None else state_text(names.state)
    return Refusal(
        GateName.NOT_DRIFTED,
        f"State is {state}, but {counts}",
        f"{_REMEDY[location]}. {_AUDIT}",
    )


def refuse_unregistered(on_disk: Mapping[str, Sequence[str]]) -> Refusal:
    """Return the refusal of a partition on the disks of servers, but without part znodes in either ensemble.

    ``on_disk``: replica → names of its active parts.
    """
    parts = first_few(f"{replica} has {first_few(names)}" for replica, names in sorted(on_disk.items()))
    return Refusal(
        GateName.REGISTERED,
        f"parts of the partition are active on disk and registered in neither ensemble: {parts}",
        "Do not restart the server: a restart moves the parts to detached/. Check that cold is the ensemble"
        " that the servers have as <cold_zookeeper>. Then run part_audit_info, and register the parts with"
        " part_repair",
    )


def refuse_dropped_or_lost() -> Refusal:
    """Return the refusal of a partition that is COLD and unregistered while no server can be asked.

    Without an answer of the servers, a partition lost from cold cannot be distinguished from a dropped one.
    """
    return Refusal(
        GateName.REGISTERED,
        "State is COLD and neither ensemble registers a part of the partition: either the partition was"
        " dropped while it was cold, or cold has lost its part znodes. Only the servers know which",
        "Run again with the option clickhouse, so that the servers are asked. If they cannot be asked: where"
        " system.parts of every replica has no part of the partition, set State to HOT with partition_state;"
        " where a replica has one, do not restart its server and run part_audit_info",
    )


_BRING_BACK = "Bring the partition back: part_move with state: hot and the option clickhouse"
_REMEDY = {
    Location.UNEVEN: _BRING_BACK,
    Location.MIXED: _BRING_BACK,
    Location.DROPPED: "If no server has the parts any more, remove their part znodes from cold: part_move"
    " with state: hot and the option clickhouse. If the servers have the parts, set State to COLD with"
    " partition_state",
    Location.STRAY: "Set State with partition_state: to COLD if the servers have the parts, otherwise to HOT",
}
_AUDIT = "part_audit_info lists what each replica has, and part_repair repairs the rest"
