# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides which copies in cold are unneeded, from the read facts alone."""

from __future__ import annotations

from collections.abc import Collection

from ...formats.names import is_covered
from ...shard.copy_retention import retention_left
from ...shard.facts import PartitionFacts, RegisteredPart, ShardFacts


def unneeded_copies(
    shard: ShardFacts, partition: PartitionFacts, now: float, *, own: Collection[str]
) -> list[RegisteredPart]:
    """Return the copies of a partition that may be removed.

    These are:

    - copies of parts in hot, or of parts merged or mutated into a part in hot;
    - copies with a path in ``own``: no other run relies on them, because this run created them, or because no
      server has the part.

    A cold partition has none. Nor has any partition while a starting server may need the copies.
    """
    if partition.is_cold:
        return []
    if retention_left(shard, partition.state, now):
        return []
    return [
        part
        for replica, parts in partition.cold.items()
        for part in parts
        if part.znode.path in own or is_covered(part.name, [each.name for each in partition.hot[replica]])
    ]
