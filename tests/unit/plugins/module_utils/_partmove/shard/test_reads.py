# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Changes between two answers of one read of a shard path: they are read, or fail the fence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.binding import query_in_cold
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.part_listing import PartListing
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.parts import PartNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reads import (
    ColdRead,
    read_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import (
    DEFAULT_ROOT,
    ensure_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed, Rejected
from support.memory.bench import DAY, PART, PATH, Bench, Listing

LAYOUT = ShardLayout(PATH)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def after_listing(bench: Bench, path: str, act: Callable[[], object]) -> list[Callable[[], object]]:
    """Act once, after the children of the path were listed. Returns the pending actions."""
    acts = [act]
    hot = Listing(bench.hot_ensemble)
    hot.listed = lambda paths: acts.pop()() if acts and path in paths else None
    bench.hot_store = hot
    return acts


def test_a_mutation_added_after_the_read_of_mutations_fails_the_fence(bench: Bench) -> None:
    acts = after_listing(bench, LAYOUT.mutations, lambda: bench.servers.mutate(DAY))

    shard = bench.reader().shard()

    assert acts == []
    assert shard.mutations == ()
    assert isinstance(bench.hot_ensemble.open().commit([shard.fence])[0], Rejected)


def test_a_replica_added_while_the_fence_is_read(bench: Bench) -> None:
    """Its versions were not read, but the version of the list of replicas was read after the addition."""
    acts = after_listing(bench, LAYOUT.replicas, lambda: bench.servers.add_replica("r3"))

    shard = bench.reader().shard()

    assert acts == []
    assert [replica.name for replica in shard.replicas] == ["r1", "r2", "r3"]
    assert isinstance(bench.hot_ensemble.open().commit([shard.fence])[0], Committed)


def test_replicas_that_keep_changing(bench: Bench) -> None:
    hot = Listing(bench.hot_ensemble)
    names = iter(range(100))
    hot.listed = lambda paths: (
        bench.servers.add_replica(f"n{next(names)}") if LAYOUT.replicas in paths else None
    )
    bench.hot_store = hot

    with pytest.raises(EnsembleError, match="were added or dropped 5 times while they were read"):
        bench.reader().shard()


def test_an_insert_that_ends_after_the_listing_of_parts_is_in_flight(bench: Bench) -> None:
    """Its lock existed and its part did not: the insert must show up as one of both."""
    end = bench.servers.begin_insert(DAY)
    acts = after_listing(bench, LAYOUT.replica("r1").parts, end)

    survey = bench.reader().read_names([DAY])

    assert acts == []
    assert survey.partitions[DAY].hot["r1"] == (PART,)
    assert survey.block_numbers.in_flight.keys() == {DAY}


@pytest.mark.parametrize("names", [True, False])
def test_has_parts_in_cold_with_and_without_names(bench: Bench, names: bool) -> None:
    """Parts of a replica missing in hot count, too: a recreated table must not get these parts."""

    def look(*replicas: str) -> ColdRead:
        lists = PartListing(bench.cold_store, PartNames(LAYOUT, 1), {})
        query = query_in_cold(DEFAULT_ROOT, LAYOUT, [None, None, None])
        return read_cold(
            bench.cold_store, LAYOUT, query, replicas, lists, [DAY] if names else [], root=DEFAULT_ROOT
        )

    assert not look("r1", "r2").has_parts
    for path in (PATH, LAYOUT.replicas, LAYOUT.replica("r2").path, LAYOUT.replica("r2").parts):
        ensure_path(bench.cold_store, path)
    assert not look("r1", "r2").has_parts
    ensure_path(bench.cold_store, f"{LAYOUT.replica('r2').parts}/{PART}")
    assert look("r1", "r2").has_parts
    assert look("r1").has_parts
    assert look("r1", "r2").listed.texts == ({"r1": {}, "r2": {DAY: [PART]}} if names else {})
