# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Worker shares of a shard path: each part is in exactly one share."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard import worker_share as module
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import read_inventory
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.worker_share import (
    EVERYTHING,
    WorkerShare,
    worker_shares,
)
from support.memory.client import MemoryClient
from support.memory.memory import ManualClock, MemoryEnsemble
from support.memory.synthetic import SyntheticTable

HITS = "/clickhouse/tables/01/hits"
REPLICAS = ("r1", "r2", "r3")
NAMES = [f"2026{number:02d}_{number}_{number}_0" for number in range(1, 13)]


def test_a_small_shard_path_is_one_share() -> None:
    assert worker_shares({"r1": 99, "r2": 99}, 100) == [(EVERYTHING, 198)]
    assert worker_shares({}, 100) == [(EVERYTHING, 0)]


def test_large_replicas_have_shares_of_their_own() -> None:
    assert worker_shares({"r2": 100, "r1": 500, "r3": 7}, 100) == [
        (WorkerShare("r1"), 500),
        (WorkerShare("r2"), 100),
        (WorkerShare(without=frozenset({"r1", "r2"})), 7),
    ]


def test_millions_of_names_are_split() -> None:
    found = worker_shares({"r1": 2_500_000}, 100)
    assert [(each.replica, each.number, each.of, size) for each, size in found] == [
        ("r1", 0, 3, 833_333),
        ("r1", 1, 3, 833_333),
        ("r1", 2, 3, 833_333),
        ("", 0, 1, 0),
    ]


@pytest.mark.parametrize("names", [1, 2, 5, 100])
def test_each_part_is_in_one_share_even_of_a_new_replica(monkeypatch: pytest.MonkeyPatch, names: int) -> None:
    monkeypatch.setattr(module, "_PARTS_PER_SHARE", names)
    hot = MemoryEnsemble("hot", ManualClock()).open()
    table = SyntheticTable(MemoryClient(hot), HITS).create()
    for replica in REPLICAS:
        for name in NAMES:
            table.add_part(replica, name)
    # Of the third nothing is known when the work is divided.
    shares = [each for each, _size in worker_shares(dict.fromkeys(REPLICAS[:2], len(NAMES)), 2)]

    rows = [row for each in shares for row in read_inventory(hot, HITS, share=each)]

    assert sorted(rows) == sorted(read_inventory(hot, HITS))
    assert len(shares) == 1 + 2 * (1 + len(NAMES) // max(names, 2))
