# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which znodes of a table the hot ensemble still has after moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...formats.layout import ShardLayout
from ...tree.ports import ZnodeReader


class HotZnodes(NamedTuple):
    """How many znodes of the numerous kinds the hot ensemble has of a table."""

    parts: int
    """Below ``parts`` of all replicas, without the columns and checksums of parts with legacy headers."""
    block_numbers: int
    """Below ``block_numbers``: one for each partition that the table ever had, moved or not."""
    blocks: int
    """Below ``blocks``: one for each INSERT that the table would recognise as repeated."""


def count_hot_znodes(hot: ZnodeReader, shard_path: str, replicas: Sequence[str]) -> HotZnodes:
    """Count the znodes by the numbers of children in one read. Raises as `ZnodeReader` does."""
    layout = ShardLayout(shard_path)
    shared = (layout.block_numbers, f"{shard_path}/blocks")
    of_replicas = [layout.replica(each).parts for each in replicas]
    numbers, blocks, *parts = (
        0 if each is None else each.stat.num_children for each in hot.read([*shared, *of_replicas])
    )
    return HotZnodes(sum(parts), numbers, blocks)
