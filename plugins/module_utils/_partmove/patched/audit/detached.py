# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which part folders in ``detached`` are needed.

DETACH PARTITION leaves a folder on every replica, and ATTACH PARTITION uses the folders of one server only.
The attached part has another name. Names alone do not prove that an active part has the rows of a folder:
parts on both sides of a detached part can be merged into one that covers it by number, without its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import NamedTuple

from ...errors import FormatError
from ...formats.names import PartName, detached_part, parse_part_name
from .evidence import PartitionEvidence, ReplicaEvidence


class Need(Enum):
    """Whether a folder is needed."""

    YES = "yes"
    """No replica has an active part of the partition, or only other replicas have the part active."""
    COMPARE = "compare"
    """Active parts of other names may have the rows, or a server is silent."""
    NO = "no"
    """The replica has an active part of that name."""


class DetachedFolder(NamedTuple):
    """A folder of a part in ``detached`` of a replica."""

    partition: str
    replica: str
    folder: str
    need: Need


def detached_folders(
    listed: Mapping[str, Collection[str]], partitions: Mapping[str, PartitionEvidence], format_version: int
) -> tuple[DetachedFolder, ...]:
    """Return the folders with a valid part name, sorted. ``listed``: replica → folders in ``detached``."""
    found = []
    for replica, folders in listed.items():
        for folder in folders:
            part = _part_of(folder, partitions, format_version)
            if part is not None:
                need = _need(partitions.get(part.partition_id), replica, part)
                found.append(DetachedFolder(part.partition_id, replica, folder, need))
    return tuple(sorted(found))


def _part_of(
    folder: str, partitions: Mapping[str, PartitionEvidence], format_version: int
) -> PartName | None:
    """Return the part of the folder; None if the name has none."""
    # A partition id may look like the reason of a server, as ``all`` does.
    text = folder if folder.partition("_")[0] in partitions else detached_part(folder)
    try:
        return parse_part_name(text, format_version, folder)
    except FormatError:
        return None


def _need(partition: PartitionEvidence | None, replica: str, part: PartName) -> Need:
    replicas: tuple[ReplicaEvidence, ...] = () if partition is None else partition.replicas
    in_hot = [each for each in replicas if each.is_in_hot]
    holders = {each.name for each in in_hot if part in (each.active or ())}
    if replica in holders:
        return Need.NO
    if holders:
        return Need.YES
    if any(each.active is None or each.active for each in in_hot):
        return Need.COMPARE
    return Need.YES
