# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a table still has in hot is counted without listing it."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.hot_znodes import (
    HotZnodes,
    count_hot_znodes,
)
from support.memory.memory import MemoryEnsemble


def test_znodes_of_all_replicas_are_counted() -> None:
    hot = MemoryEnsemble("hot").open()
    paths = ["/t", "/t/block_numbers", "/t/block_numbers/1", "/t/blocks", "/t/blocks/b1", "/t/blocks/b2"]
    paths += ["/t/block_numbers/2", "/t/block_numbers/2/State", "/t/replicas"]
    for replica, parts in (("r1", 2), ("r2", 1), ("gone", 1)):
        folder = f"/t/replicas/{replica}"
        paths += [folder, f"{folder}/parts", *(f"{folder}/parts/1_{each}_{each}_0" for each in range(parts))]
    assert hot.commit([tuple(Create(each, b"") for each in paths)])
    assert count_hot_znodes(hot, "/t", ["r1", "r2"]) == HotZnodes(parts=3, block_numbers=2, blocks=2)


def test_a_table_that_is_gone_has_none() -> None:
    assert count_hot_znodes(MemoryEnsemble("hot").open(), "/t", ["r1"]) == HotZnodes(0, 0, 0)
