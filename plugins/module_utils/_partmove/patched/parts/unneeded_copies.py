# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which copies in cold are needed no more: decided from what was read, and nothing else."""

from __future__ import annotations

from collections.abc import Collection

from ...formats.names import is_covered
from ...shard.copy_retention import seconds_needed
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts


def unneeded_copies(
    shard: ShardFacts, partition: PartitionFacts, now: float, *, own: Collection[str]
) -> list[RegisteredPart]:
    """The copies of a partition that may be removed: those of parts that hot still has, or has replaced.

    Of those that hot has not only the ``own`` ones, paths of copies that nobody else relies on: such as were
    created by this run, or such as no server has the part of. None of a partition that is cold, nor while a
    server that is starting may need them.
    """
    if partition.is_cold:
        return []
    if seconds_needed(shard, partition.state, now):
        return []
    return [
        part
        for replica, parts in partition.cold.items()
        for part in parts
        if part.znode.path in own or is_covered(part.name, [each.name for each in partition.hot[replica]])
    ]
