# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All facts are at least as recent as the call, even if members lag."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Rejected
from support.memory.arrange import create_cold
from support.memory.behind import lag
from support.memory.bench import DAY, PART, PATH, Bench

LAYOUT = ShardLayout(PATH)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_hot_catches_up_first(bench: Bench) -> None:
    hot, _cold = lag(bench)
    hot.fall_behind()
    bench.servers.insert(DAY)

    look = bench.reader().read([DAY])

    assert look.partitions[DAY].names.hot["r1"] == [PART, f"{DAY}_2_2_0"]
    assert look.shard.pending.keys() == {DAY}


def test_cold_catches_up_first(bench: Bench) -> None:
    _hot, cold = lag(bench)
    cold.fall_behind()
    create_cold(f"replicas/r1/parts/{PART}")(bench)

    look = bench.reader().read([DAY])

    assert look.partitions[DAY].names.cold["r1"] == [PART]
    assert look.shard.has_parts_in_cold


def test_an_entry_assigned_after_the_read_of_the_log_fails_the_fence(bench: Bench) -> None:
    """The read does not have the entry, so a multi that relies on the read must be refused."""
    acts = [lambda: bench.servers.assign_merge(DAY)]

    def assign(paths: Sequence[str]) -> None:
        if acts and LAYOUT.replica("r1").path in paths:
            acts.pop()()

    bench.hot_store.listing = assign

    shard = bench.reader().read([DAY]).shard

    assert acts == []
    assert DAY not in shard.pending
    assert isinstance(bench.hot_ensemble.open().commit([shard.fence])[0], Rejected)
