# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What comes between two answers of one look at a shard path: it is seen, or it fails the fence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.part_listing import PartListing
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.parts import PartNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reads import (
    ColdRead,
    look_at_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed, Rejected
from support.memory.bench import DAY, PART, PATH, Bench, Listing

LAYOUT = ShardLayout(PATH)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def after_listing(bench: Bench, path: str, act: Callable[[], object]) -> list[Callable[[], object]]:
    """Act once, after the children of the path were listed; returns what has not been done yet."""
    acts = [act]
    hot = Listing(bench.hot_ensemble)
    hot.listed = lambda paths: acts.pop()() if acts and path in paths else None
    bench.hot_store = hot
    return acts


def test_a_mutation_that_comes_after_they_were_read_fails_the_fence(bench: Bench) -> None:
    acts = after_listing(bench, LAYOUT.mutations, lambda: bench.servers.mutate(DAY))

    shard = bench.reader().shard()

    assert acts == []
    assert shard.mutations == ()
    assert isinstance(bench.hot_ensemble.open().commit([shard.fence])[0], Rejected)


def test_a_replica_that_is_added_while_the_fence_is_read(bench: Bench) -> None:
    """Its versions were not read, but that of the list of replicas was read after it had come."""
    acts = after_listing(bench, LAYOUT.replicas, lambda: bench.servers.add_replica("r3"))

    shard = bench.reader().shard()

    assert acts == []
    assert [replica.name for replica in shard.replicas] == ["r1", "r2", "r3"]
    assert isinstance(bench.hot_ensemble.open().commit([shard.fence])[0], Committed)


def test_replicas_that_never_stay_the_same(bench: Bench) -> None:
    hot = Listing(bench.hot_ensemble)
    names = iter(range(100))
    hot.listed = lambda paths: (
        bench.servers.add_replica(f"n{next(names)}") if LAYOUT.replicas in paths else None
    )
    bench.hot_store = hot

    with pytest.raises(EnsembleError, match="came or went 5 times while they were read"):
        bench.reader().shard()


def test_an_insert_that_ends_after_the_parts_were_listed_is_in_flight(bench: Bench) -> None:
    """Its lock was there, and its part was not: it must be seen one way or the other."""
    end = bench.servers.begin_insert(DAY)
    acts = after_listing(bench, LAYOUT.replica("r1").parts, end)

    survey = bench.reader().survey([DAY])

    assert acts == []
    assert survey.partitions[DAY].hot["r1"] == (PART,)
    assert survey.block_numbers.in_flight.keys() == {DAY}


@pytest.mark.parametrize("names", [True, False])
def test_whether_cold_has_a_part_is_told_with_and_without_names(bench: Bench, names: bool) -> None:
    """Also of a replica that hot does not have: a table that was made again may not get its parts."""

    def look(*replicas: str) -> ColdRead:
        lists = PartListing(bench.cold_store, PartNames(LAYOUT, 1), {})
        return look_at_cold(bench.cold_store, LAYOUT, replicas, lists, [DAY] if names else [])

    assert not look("r1", "r2").has_parts
    for path in (PATH, LAYOUT.replicas, LAYOUT.replica("r2").path, LAYOUT.replica("r2").parts):
        ensure_path(bench.cold_store, path)
    assert not look("r1", "r2").has_parts
    ensure_path(bench.cold_store, f"{LAYOUT.replica('r2').parts}/{PART}")
    assert look("r1", "r2").has_parts
    assert look("r1").has_parts
    assert look("r1", "r2").listed.texts == ({"r1": {}, "r2": {DAY: [PART]}} if names else {})
