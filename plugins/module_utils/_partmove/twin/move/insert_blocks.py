# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The INSERTs that a table recognises when a client repeats them, and forgets once their parts are dropped.

A table remembers the block id of each INSERT for a window of time and number, in znodes below its path. DROP
PART deletes the ids of the dropped part, so that the same rows can be inserted again. A move to the twin
drops the parts, and nothing can keep the ids: an id without its part makes a server write the rows again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from ...tree.ports import ZnodeReader
from .attach_log import CLONE_BLOCK

_FOLDERS = ("blocks", "async_blocks", "deduplication_hashes")
"""Folders of block ids, below the path of a table; newer versions use the last one."""


def count_insert_blocks(hot: ZnodeReader, shard_path: str, partition_ids: Collection[str]) -> dict[str, int]:
    """Map each partition to the number of its block ids that the table remembers; without zeros.

    The name of a block id is the partition id, an underscore, and a hash or a token. Ids of clones are left
    out: no INSERT repeats them. Raises EnsembleError.
    """
    folders = hot.children([f"{shard_path}/{each}" for each in _FOLDERS])
    names = (name for folder in folders for name in folder or () if CLONE_BLOCK not in name)
    found = Counter(name.partition("_")[0] for name in names)
    return {each: found[each] for each in sorted(partition_ids) if found[each]}
