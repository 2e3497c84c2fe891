# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gates for the disks of parts: whether an ATTACH clones the parts there by hard links."""

from __future__ import annotations

from collections.abc import Mapping

from ...gates.gate import Refusal
from ...gates.names import GateName
from .tables import ActivityInProgress, Parts, TwinTables


def refuse_disks(tables: TwinTables, activity: ActivityInProgress, source: Parts) -> Refusal | None:
    """Return why the server of a replica would not link the parts of the source; None if it would."""
    largest = _largest(source)
    return (
        _refuse_shared(tables, activity, largest)
        or _refuse_no_links(tables, activity, largest)
        or _refuse_room(tables, activity, largest)
    )


def _refuse_shared(
    tables: TwinTables, activity: ActivityInProgress, largest: Mapping[str, int]
) -> Refusal | None:
    """Refuse parts with a zero-copy lock: a server looks for it in the ensemble of the destination."""
    why = next((activity.shared[disk] for disk in sorted(largest) if disk in activity.shared), "")
    if not why:
        return None
    return Refusal(
        GateName.NO_SHARED_STORAGE,
        f"{tables.server}: {why}, so that an ATTACH would fail or copy all data: the zero-copy lock of the"
        " part is in the ensemble of the source",
        "Move the partition to a local disk (ALTER TABLE … MOVE PARTITION), or leave tables with zero-copy"
        " replication out of the plan",
    )


def _refuse_no_links(
    tables: TwinTables, activity: ActivityInProgress, largest: Mapping[str, int]
) -> Refusal | None:
    disks = ["", *sorted(largest)]
    why = next((activity.no_links[disk] for disk in disks if disk in activity.no_links), "")
    if not why:
        return None
    return Refusal(
        GateName.LINKS_MADE,
        f"{tables.server}: {why}, so that an ATTACH would fail or copy all data",
        "Move the partition to a disk that can be written to (ALTER TABLE … MOVE PARTITION), reset the"
        " setting, and run again",
    )


def _refuse_room(
    tables: TwinTables, activity: ActivityInProgress, largest: Mapping[str, int]
) -> Refusal | None:
    for disk, size in sorted(largest.items()):
        free = activity.free_bytes.get(disk)
        if free is None or free < size:
            shown = "an unknown amount" if free is None else f"{free} bytes"
            return Refusal(
                GateName.ROOM_FOR_CLONES,
                f"{tables.server} has a part of {size} bytes on the disk {disk!r}, of which {shown} is free;"
                " links need no room, but the server reserves it",
                "Make room on the disk, and run again",
            )
    return None


def _largest(parts: Parts) -> Mapping[str, int]:
    """Map each disk with a part to the size of the largest one."""
    sizes: dict[str, int] = {}
    for part in parts:
        sizes[part.disk] = max(sizes.get(part.disk, 0), part.bytes_on_disk)
    return sizes
