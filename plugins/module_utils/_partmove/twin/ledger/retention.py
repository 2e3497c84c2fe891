# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whether retention explains that the twin lacks a partition, by lineage.

Retention leaves traces that a restored ensemble or a lost part does not leave:

- A TTL drops a part only after all its rows had expired, which the entry knows for each range of blocks.
- DROP PARTITION allocates a block number in each of the two tables. Those of mutations do not count.

Both count only if the auxiliary ensemble still knows every block number that the entry knows, so that it was
not set back to an earlier time, and if no part with the blocks is in ``detached/`` of any replica.
"""

from __future__ import annotations

from ...formats.names import PartName, parse_names
from ..move.tables import Parts, PartsOf
from .compare import uncovered
from .entry import BlockRange, LedgerEntry
from .servers import LostFacts

_WHERE = "system.parts"


def is_retention(entry: LedgerEntry, parts: PartsOf, partition_id: str, facts: LostFacts) -> bool:
    """Whether the blocks that the twin lacks were certainly dropped by a TTL, or from both tables."""
    names = parse_names((part.name for part in parts.cold), partition_id, _WHERE)
    ranges = uncovered(entry.ranges, names)
    if not ranges or facts.cold_blocks is None or folders_with(ranges, partition_id, facts):
        return False
    cold_blocks = facts.cold_blocks.get(partition_id, 0)
    if cold_blocks < entry.cold_blocks:
        return False
    if all(0 < each.expires <= facts.now for each in ranges):
        return True
    hot_blocks = facts.hot_blocks.get(partition_id)
    is_dropped_in_hot = not parts.hot and hot_blocks is not None and hot_blocks > entry.hot_blocks
    return not parts.cold and cold_blocks > entry.cold_blocks and is_dropped_in_hot


def folders_with(ranges: list[BlockRange], partition_id: str, facts: LostFacts) -> dict[str, list[str]]:
    """Map replicas to the folders in ``detached/`` that have blocks of the ranges."""
    found: dict[str, list[str]] = {}
    for replica, folders in facts.set_aside.get(partition_id, {}).items():
        for each in folders:
            (name,) = parse_names([each.part], partition_id, "system.detached_parts")
            if any(_overlap(name, blocks) for blocks in ranges):
                found.setdefault(replica, []).append(each.folder)
    return found


def uncovered_folders(parts: Parts, partition_id: str, facts: LostFacts) -> list[str]:
    """Return the folders that servers moved to ``detached/`` and whose blocks no active part has, sorted.

    The server writes a reason in front of the name of the part; a part that a user detached has none.
    """
    names = parse_names((part.name for part in parts), partition_id, _WHERE)
    found = set()
    for folders in facts.set_aside.get(partition_id, {}).values():
        for each in folders:
            (name,) = parse_names([each.part], partition_id, "system.detached_parts")
            blocks = BlockRange(name.min_block, name.max_block)
            if each.folder != each.part and uncovered([blocks], names):
                found.add(each.folder)
    return sorted(found)


def _overlap(name: PartName, blocks: BlockRange) -> bool:
    return name.min_block <= blocks.last and blocks.first <= name.max_block
