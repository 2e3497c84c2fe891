# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where servers keep track of parts outside the replicas: zero-copy locks, pins, moves between shards."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from ..aligned import aligned
from ..formats.layout import ShardLayout
from ..tree.ports import ZnodeReader
from ..tree.znodes import Znode

ZERO_COPY_ROOT = "/clickhouse/zero_copy"
"""Where later servers keep the zero-copy locks of all tables, by the UUID of the table."""


def read_shared_storage(hot: ZnodeReader, layout: ShardLayout, children: Collection[str]) -> tuple[str, ...]:
    """Paths that show that parts of the table are shared, pinned or on their way to another shard.

    ``children`` are those of the shard path. Locks name parts in more than one way, so any lock counts.
    """
    found = _locks_in(hot, layout.zero_copy(children))
    shared_id, pinned = hot.read([layout.table_shared_id, layout.pinned_part_uuids])
    if shared_id is not None:
        table_uuid = shared_id.data.decode(errors="replace")
        kinds = hot.children([ZERO_COPY_ROOT])[0] or ()
        found += _locks_in(hot, [f"{ZERO_COPY_ROOT}/{kind}/{table_uuid}" for kind in kinds])
    if pinned is not None and not _pins_nothing(pinned):
        found.append(pinned.path)
    moves = hot.children([layout.part_moves_shard])[0] or ()
    return (*found, *(f"{layout.part_moves_shard}/{name}" for name in moves))


def _locks_in(hot: ZnodeReader, folders: Sequence[str]) -> list[str]:
    """Children of the folders; of ``shared``, which servers create empty, the children instead."""
    shared = [f"{folder}/shared" for folder in folders]
    return [
        f"{folder}/{name}"
        for folder, names in aligned([*folders, *shared], hot.children([*folders, *shared]))
        for name in names or ()
        if name != "shared"
    ]


def _pins_nothing(znode: Znode) -> bool:
    """Whether pinned_part_uuids is as servers create it: ``{"part_uuids":"[]"}``."""
    if not znode.data:
        return True
    try:
        content = json.loads(znode.data)
    except ValueError:
        return False
    return isinstance(content, dict) and content == {"part_uuids": "[]"}
