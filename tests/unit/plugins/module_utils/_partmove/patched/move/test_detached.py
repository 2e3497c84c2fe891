# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which parts servers took out of their tables during a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_part_name
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.detached import (
    detached_since,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import (
    PartitionFacts,
    ShardFacts,
)
from support.memory.bench import Bench

PARTS = [parse_part_name(name, 1, "a test") for name in ("all_0_0_0", "2019-1_1_1_0")]


class Folders:
    """Implements ServerCheck: servers whose ``detached`` folders have these names; or that are silent."""

    asks = True

    def __init__(self, **replicas: set[str]) -> None:
        self.replicas = {name: frozenset(names) for name, names in replicas.items()}
        self.error: PartMoveError | None = None

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        return {}

    def lacking(self, *_args: object) -> list[str]:
        return []

    def active(self, *_args: object) -> dict[str, dict[str, tuple[str, ...]]]:
        return {}

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        if self.error is not None:
            raise self.error
        return self.replicas


@pytest.fixture
def shard() -> ShardFacts:
    bench = Bench()
    return bench.reader().shard()


def found(shard: ShardFacts, before: Folders, now: Folders) -> dict[str, str]:
    refusals = detached_since(now, shard, PARTS, before.replicas)
    assert {refusal.gate for refusal in refusals.values()} <= {GateName.ACTIVE_ON_DISK}
    return {partition: refusal.reason for partition, refusal in refusals.items()}


@pytest.mark.parametrize(
    "folder", ["all_0_0_0", "unexpected_all_0_0_0", "ignored_all_0_0_0_try3", "covered-by-broken_all_0_0_0"]
)
def test_a_folder_that_is_new_is_of_its_partition(shard: ShardFacts, folder: str) -> None:
    told = found(shard, Folders(r1=set(), r2=set()), Folders(r1=set(), r2={folder}))
    assert told == {"all": f"replica r2 detached {folder} during the run"}


def test_a_folder_that_was_there_before_is_nobody_s_fault(shard: ShardFacts) -> None:
    old = Folders(r1={"ignored_all_0_0_0"})
    assert found(shard, old, old) == {}


def test_folders_of_other_parts_do_not_matter(shard: ShardFacts) -> None:
    others = Folders(r1={"all_1_1_0", "unexpected_2019-12_1_1_0", "something"})
    assert found(shard, Folders(r1=set()), others) == {}


def test_a_replica_without_an_earlier_listing_proves_nothing(shard: ShardFacts) -> None:
    assert found(shard, Folders(r1=set()), Folders(r1=set(), r2={"all_0_0_0"})) == {}
    assert found(shard, Folders(), Folders(r2={"all_0_0_0"})) == {}


def test_a_server_that_is_silent_leaves_every_partition_open(shard: ShardFacts) -> None:
    silent = Folders(r1=set())
    silent.error = PartMoveError("replica r1: no answer", remedy="Start it")
    told = found(shard, Folders(r1=set()), silent)
    assert told == {"all": "replica r1: no answer", "2019-1": "replica r1: no answer"}
