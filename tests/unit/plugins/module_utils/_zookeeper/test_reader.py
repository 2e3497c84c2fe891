# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Batch sizes: the number of znodes follows the size of previous answers.

Reads themselves are tested with real ensembles.
"""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.reader import (
    ANSWER_BYTES,
    LONG_LIST,
    MAX_READS,
    BatchSizer,
    NameInterner,
)


def test_small_znodes_are_read_in_full_batches() -> None:
    size = BatchSizer(8_192)
    assert size.batch() == ANSWER_BYTES // 8_192
    for _each in range(8):
        size.learn(size.batch(), 200 * size.batch())
    assert size.batch() == MAX_READS


@pytest.mark.parametrize("znode", [10_000, 100_000, 900_000])
def test_large_znodes_make_the_next_batch_small(znode: int) -> None:
    size = BatchSizer(200)
    size.learn(500, 500 * znode)
    assert size.batch() * znode <= ANSWER_BYTES


def test_a_znode_larger_than_an_answer_is_read_alone() -> None:
    size = BatchSizer(8_192)
    size.learn(1, 5 * ANSWER_BYTES)
    assert size.batch() == 1


def test_batches_grow_again() -> None:
    size = BatchSizer(100_000)
    batches = [size.batch()]
    for _each in range(12):
        size.learn(batches[-1], 100 * batches[-1])
        batches.append(size.batch())
    assert batches == sorted(batches)
    assert batches[-1] == MAX_READS


def test_long_lists_share_their_names() -> None:
    names = NameInterner()
    first, second = (tuple(f"all_{number}_{number}_0" for number in range(LONG_LIST)) for _each in range(2))
    assert first[0] is not second[0]
    assert names.interned(first) == first
    shared = names.interned(second)
    assert shared == second
    assert all(mine is theirs for mine, theirs in zip(shared or (), first))
    assert names.interned(second[:2]) == second[:2]
    assert names.interned(None) is None
