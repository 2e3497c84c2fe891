# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Binding hot and cold: once, whatever happens in between, and never against what is bound."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
    parse_marker,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    BindingConflict,
    EnsembleError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.bind import bind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import bind_pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardReader
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from support.memory.arrange import identify
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble
from support.memory.two_clusters import TwoClusters

SIDE = HotSide(PATH, DEFAULT_ROOT)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def with_root(bench: Bench, root: str) -> Bench:
    """Let the runs of the bench go by another coordination root."""
    keeper = LeaseKeeper(bench.hot_store, bench.cold_store, bench.clock, owner="a test", root=root)
    bench.context = bench.context._replace(leases=keeper)
    return bench


def leased(bench: Bench) -> LeasedShard:
    lease = bench.context.leases.acquire(PATH)
    return LeasedShard(bench.hot_store, bench.cold_store, bench.reader(), ShardLayout(PATH), lease)


def marker_of(bench: Bench) -> ColdMarker | None:
    znode = bench.cold.exists(PATH)
    return None if znode is None else parse_marker(znode)


def test_binding_twice_writes_once(bench: Bench) -> None:
    shard = bench.reader().shard()
    under_lease = leased(bench)
    bind(under_lease, shard)
    table = TableId(identify(bench), shard.czxid, shard.ctime)
    assert marker_of(bench) == ColdMarker(table, SIDE)
    before = bench.hot_ensemble.data(), bench.cold_ensemble.data()
    bind(under_lease, shard)
    assert (bench.hot_ensemble.data(), bench.cold_ensemble.data()) == before
    assert bench.reader().binding().is_known


def test_a_marker_of_version_1_is_completed(bench: Bench) -> None:
    bench.move(DAY)
    marker = marker_of(bench)
    assert marker is not None
    bench.cold.set(PATH, marker._replace(side=None).encode())
    assert bench.reheat(DAY).moved
    assert marker_of(bench) == marker


def test_a_run_with_another_root_is_refused(bench: Bench) -> None:
    bench.move(DAY)
    before = bench.hot_ensemble.data(), bench.cold_ensemble.data()
    with_root(bench, "/other")
    for report in (bench.move(OTHER), bench.reheat(DAY)):
        (refusal,) = report.deferred.values()
        assert refusal.gate is GateName.BOUND_HERE
        assert "/other" in refusal.reason
    assert (bench.hot_ensemble.data(), bench.cold_ensemble.data()) == before


def test_of_two_runs_that_begin_with_other_roots_one_copies(bench: Bench) -> None:
    """The second run read the table before it was bound."""
    other = bench.beside()
    with_root(other, "/other")
    other.before_marked(lambda: bench.move(DAY))

    report = other.move(DAY, OTHER)

    assert {refusal.gate for refusal in report.deferred.values()} == {GateName.BOUND_HERE}
    assert not report.moved
    assert bench.move(DAY).unchanged == {DAY}
    assert bench.move(OTHER).moved.keys() == {OTHER}


def test_a_table_is_bound_before_anything_is_copied(bench: Bench) -> None:
    found: list[bool] = []

    def look() -> None:
        binding = bench.reader().binding()
        found.append(binding.is_proven and binding.is_known)

    bench.before_copy(look)
    assert bench.move(DAY).moved
    assert found == [True]


def test_a_table_is_bound_before_copies_are_removed(bench: Bench) -> None:
    """A version without bindings may have brought the parts back."""
    bench.move(DAY)
    assert bench.reheat(DAY).moved
    marker = marker_of(bench)
    assert marker is not None
    bench.cold.set(PATH, marker._replace(side=None).encode())
    bench.clock.sleep(600.0)
    assert bench.reheat(DAY).copies_removed == {DAY}
    assert marker_of(bench) == marker


def test_hot_learns_of_another_cold_ensemble(bench: Bench) -> None:
    """Otherwise the former ensemble, without any part, would pass for the right one."""
    bind(leased(bench), bench.reader().shard())
    former = bench.cold_store.ensemble
    bench.cold_store.ensemble = MemoryEnsemble("cold", bench.clock)
    MemoryClient(bench.cold_store).create("/something")

    bind(leased(bench), bench.reader().shard())

    assert bench.reader().binding().is_known
    bench.cold_store.ensemble = former
    assert not bench.reader().binding().is_known


def test_repairs_do_not_bind_what_is_another_clusters() -> None:
    """They read whatever cold ensemble is given, and would overwrite its marker."""
    ours = TwoClusters.build(is_listed=True).ours.bench
    reader = ShardReader(ours.hot_store, ours.cold_store, ShardLayout(PATH), DEFAULT_ROOT, any_cold=True)
    lease = ours.context.leases.acquire(PATH)
    under_lease = LeasedShard(ours.hot_store, ours.cold_store, reader, ShardLayout(PATH), lease)
    before = marker_of(ours)
    with pytest.raises(BindingConflict):
        bind(under_lease, under_lease.shard())
    assert marker_of(ours) == before


def test_repairs_add_no_hot_ensemble_to_a_cold_one() -> None:
    clusters = TwoClusters.build()
    ours = clusters.ours.bench
    clusters.theirs.bench.cold.delete(PATH, recursive=True)
    reader = ShardReader(ours.hot_store, ours.cold_store, ShardLayout(PATH), DEFAULT_ROOT, any_cold=True)
    lease = ours.context.leases.acquire(PATH)
    under_lease = LeasedShard(ours.hot_store, ours.cold_store, reader, ShardLayout(PATH), lease)
    with pytest.raises(BindingConflict):
        bind(under_lease, under_lease.shard())
    assert len(clusters.theirs.bench.cold.get_children(f"{DEFAULT_ROOT}/hots")) == 1


def accepting(bench: Bench) -> LeasedShard:
    """As repairs do, read whatever cold ensemble is given."""
    reader = ShardReader(bench.hot_store, bench.cold_store, ShardLayout(PATH), DEFAULT_ROOT, any_cold=True)
    lease = bench.context.leases.acquire(PATH)
    return LeasedShard(bench.hot_store, bench.cold_store, reader, ShardLayout(PATH), lease)


def test_repairs_add_no_hot_ensemble_to_a_list_that_was_empty_when_it_was_read() -> None:
    """Another hot ensemble comes first."""
    ours, theirs = Bench(), Bench()
    ours.cold_store.ensemble = theirs.cold_ensemble
    under_lease = accepting(ours)
    shard = under_lease.shard()
    assert not shard.binding.pair.bound_hots
    assert bind_pair(theirs.hot_store, theirs.cold_store, DEFAULT_ROOT, "theirs", may_join=False).is_bound
    with pytest.raises(BindingConflict):
        bind(under_lease, shard)
    assert len(theirs.cold.get_children(f"{DEFAULT_ROOT}/hots")) == 1


def test_the_marker_of_another_cluster_without_parts_is_overwritten() -> None:
    clusters = TwoClusters.build(is_listed=True)
    ours = clusters.ours.bench
    clusters.theirs.bench.cold.delete(f"{PATH}/replicas", recursive=True)
    under_lease = accepting(ours)
    shard = under_lease.shard()
    bind(under_lease, shard)
    assert marker_of(ours) == ColdMarker(TableId(identify(ours), shard.czxid, shard.ctime), SIDE)


def test_a_znode_of_another_tool_gets_a_marker(bench: Bench) -> None:
    bench.cold.create(PATH, b"", makepath=True)
    bind(leased(bench), bench.reader().shard())
    assert bench.reader().binding().is_proven


def test_a_shard_path_that_is_bound_under_the_lease(bench: Bench) -> None:
    """So the run reports a change."""
    for is_bound_now in (True, False):
        under_lease = leased(bench)
        bind(under_lease, under_lease.shard())
        assert under_lease.is_bound_now is is_bound_now


def test_a_marker_that_does_not_stay_is_reported(bench: Bench) -> None:
    bench.cold_store.loses = lambda multi: any(
        isinstance(op, SetData) and op.path == PATH and op.data for op in multi
    )
    with pytest.raises(EnsembleError, match=f"{PATH} could not be bound to the cold ensemble in 10 tries"):
        bind(leased(bench), bench.reader().shard())
    assert not bench.reader().binding().is_proven
