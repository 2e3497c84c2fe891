# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads znodes about parts outside of the replicas: zero-copy locks, pins, moves between shards."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..formats.layout import ShardLayout
from ..tree.reading import Reading, Steps
from ..tree.znodes import Query, Znode
from ..zip_strict import zip_strict
from .fence import Fence

ZERO_COPY_ROOT = "/clickhouse/zero_copy"
"""The parent of the zero-copy locks of all tables in later servers, by the UUID of the table."""


def shared_storage_steps(layout: ShardLayout, begun: Reading[Fence]) -> Steps[tuple[str, ...]]:
    """Return the paths of znodes about shared parts, pinned parts, and parts on their way to another shard.

    Servers name parts in locks in several ways. So every lock counts, whatever its part.
    """
    (shared_id, pinned), (moves,) = yield Query(
        [layout.table_shared_id, layout.pinned_part_uuids], [layout.part_moves_shard]
    )
    folders = [*layout.zero_copy(begun.result.children)]
    if shared_id is not None:
        table_uuid = shared_id.data.decode(errors="replace")
        kinds = (yield Query(children=[ZERO_COPY_ROOT])).children[0] or ()
        folders += [f"{ZERO_COPY_ROOT}/{kind}/{table_uuid}" for kind in kinds]
    paths = yield from _lock_steps(folders)
    if pinned is not None and not _pins_nothing(pinned):
        paths.append(pinned.path)
    return (*paths, *(f"{layout.part_moves_shard}/{name}" for name in moves or ()))


def _lock_steps(folders: Sequence[str]) -> Steps[list[str]]:
    """Return the paths of the folders' children. The child ``shared`` is replaced by its own children.

    Servers create ``shared`` without children, so ``shared`` alone is no lock.
    """
    if not folders:
        return []
    listed = [path for folder in folders for path in (folder, f"{folder}/shared")]
    return [
        f"{folder}/{name}"
        for folder, names in zip_strict(listed, (yield Query(children=listed)).children)
        for name in names or ()
        if name != "shared"
    ]


def _pins_nothing(znode: Znode) -> bool:
    """Whether pinned_part_uuids has its initial content ``{"part_uuids":"[]"}``, or no data."""
    if not znode.data:
        return True
    try:
        content = json.loads(znode.data)
    except ValueError:
        return False
    return isinstance(content, dict) and content == {"part_uuids": "[]"}
