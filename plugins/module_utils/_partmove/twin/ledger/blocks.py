# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads how many block numbers a table has allocated, from the stat of znodes in hot."""

from __future__ import annotations

from collections.abc import Collection

from ...tree.ports import ZnodeReader
from ...tree.znodes import Stat
from ...zip_strict import zip_strict


def allocated(cversion: int, children: int) -> int:
    """Return how many children were ever created below a znode.

    Each creation and each deletion of a child increases ``cversion``; every child that is gone was deleted.

    >>> allocated(7, 1)  # four were created, and three of these deleted
    4
    """
    return (cversion + children) // 2


def read_hot_blocks(hot: ZnodeReader, shard_path: str, partition_ids: Collection[str]) -> dict[str, int]:
    """Map partitions to the number of allocated block numbers, less the number of mutations of the table.

    A mutation allocates one in each partition that it affects, so that only other statements increase the
    difference, which may be negative. Partitions that hot does not know are left out.
    """
    ids = sorted(partition_ids)
    paths = [f"{shard_path}/mutations", *(f"{shard_path}/block_numbers/{each}" for each in ids)]
    mutations, *znodes = hot.read(paths)
    count = 0 if mutations is None else _allocated(mutations.stat)
    return {
        each: _allocated(znode.stat) - count for each, znode in zip_strict(ids, znodes) if znode is not None
    }


def _allocated(stat: Stat) -> int:
    return allocated(stat.cversion, stat.num_children)
