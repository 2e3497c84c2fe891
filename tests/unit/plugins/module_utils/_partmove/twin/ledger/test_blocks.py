# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Allocated block numbers follow from the stat of a znode."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create, Delete
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.blocks import (
    read_hot_blocks,
)
from support.memory.memory import MemoryEnsemble


def test_each_number_counts_once_whether_or_not_its_lock_is_left() -> None:
    store = MemoryEnsemble("hot").open()
    ensure_path(store, "/t/block_numbers/a")
    ensure_path(store, "/t/block_numbers/b")
    for number in range(3):
        path = f"/t/block_numbers/a/block-{number}"
        store.commit([(Create(path, b""),)])
        if number < 2:
            store.commit([(Delete(path, 0),)])
    assert read_hot_blocks(store, "/t", {"a", "b", "c"}) == {"a": 3, "b": 0}


def test_numbers_that_mutations_allocated_do_not_count() -> None:
    store = MemoryEnsemble("hot").open()
    for parent in ("/t/block_numbers/older", "/t/block_numbers/newer", "/t/mutations"):
        ensure_path(store, parent)
    for name in ("block_numbers/older/block-0", "block_numbers/older/block-1"):
        store.commit([(Create(f"/t/{name}", b""),)])
    before = read_hot_blocks(store, "/t", ["older", "newer"])
    assert before == {"older": 2, "newer": 0}
    for name in ("mutations/0000000000", "block_numbers/older/block-2"):
        store.commit([(Create(f"/t/{name}", b""),)])
    assert read_hot_blocks(store, "/t", ["older", "newer"]) == {"older": 2, "newer": -1}
    store.commit([(Delete("/t/mutations/0000000000", 0),)])
    assert read_hot_blocks(store, "/t", ["older"]) == {"older": 2}
