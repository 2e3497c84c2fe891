# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of a member that lags behind is synced with first, or it would be answered wrongly."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import identity_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import SameEnsemble
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.two_ensembles import (
    check_nonce_invisible,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.enter import (
    look_up_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.compare import (
    CopyComparison,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.hot_members import (
    refuse_behind,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import mark
from support.memory.bench import DAY, PATH, Bench
from support.memory.copying import Copying
from support.memory.interleaving import Lost, Script
from support.memory.ledger import enter
from support.memory.memory import LEADER, MemoryEnsemble, MemoryStore
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.scene import BEHIND, OTHER, TARGET, Scene, copy_of

R2 = ReplicaKey(PATH, "r2")
LAYOUT = ShardLayout(PATH)


def behind(ensemble: MemoryEnsemble) -> MemoryStore:
    """A session with the member that has heard of nothing that was not asked of it."""
    return ensemble.open(ensemble.members[-1])


def guard(bench: Bench, *, hot: bool, cold: bool) -> DowngradeGuard:
    """A guard that lags behind in one of the ensembles, or in both."""
    stores = [
        each.open(each.members[-1] if lags else LEADER)
        for each, lags in ((bench.hot_ensemble, hot), (bench.cold_ensemble, cold))
    ]
    return DowngradeGuard(stores[0], stores[1], DEFAULT_ROOT)


def settled() -> Bench:
    """A bench whose members all know the table, and nothing that comes after it."""
    bench = Bench()
    for each in (bench.hot_ensemble, bench.cold_ensemble):
        each.settle()
    return bench


def move_by_leaders(bench: Bench) -> None:
    """Move DAY; no other member hears of it."""
    context = make_world(bench.hot_ensemble.open(), bench.cold_ensemble.open(), bench.clock)
    assert move_shard(context, PATH, [DAY], bench.options).moved.keys() == {DAY}


def test_one_ensemble_is_found_out_by_another_member() -> None:
    ensemble = MemoryEnsemble("hot", members=2)
    with pytest.raises(SameEnsemble):
        check_nonce_invisible(ensemble.open(), behind(ensemble), "n1")


def test_an_insert_right_after_the_switch_is_found() -> None:
    bench = settled()
    bench.after_switch(lambda: bench.servers.insert(DAY))
    assert bench.move().deferred[DAY].gate == "late_insert"


def test_a_drop_that_took_the_copies_is_seen() -> None:
    bench = settled()
    assert bench.move().moved.keys() == {DAY}

    class DropsAfterwards(SimulatedProbe):
        def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str]:
            if bench.servers.parts_of(DAY, replica):
                bench.servers.drop(DAY)
            return super().detached_parts(shard_path, replica, host)

    bench.context = bench.context._replace(servers=AskServers(DropsAfterwards(bench.servers)))

    assert bench.reheat().deferred[DAY].gate == "partition_exists"
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [f"{OTHER}_0_0_0"]


def test_a_switch_whose_answer_was_lost_is_found_out_about() -> None:
    for number in range(0, 200, 2):
        scene, script = copy_of(Scene, BEHIND), Script(lost={number: Lost.APPLIED})
        assert scene.run(script).moved.keys() == {TARGET, OTHER}


def test_every_member_of_cold_is_compared_as_it_is_by_then() -> None:
    copying = Copying()
    copying.make(DAY)
    shard, found = copying.read([DAY])
    members = copying.bench.cold_store.members()
    originals, version = found[DAY].hot_parts, shard.metadata.format_version
    comparison = CopyComparison(members, originals, LAYOUT, version, copying.reader.cold_lists)
    compared = comparison.finish(originals)
    assert (compared.matched, compared.missing) == (4, 0)


def test_every_member_of_hot_is_asked_as_it_is_by_then() -> None:
    bench = settled()
    bench.move()
    bench.hot_ensemble.settle()
    context = make_world(bench.hot_ensemble.open(), bench.cold_ensemble.open(), bench.clock)
    assert reheat_shard(context, PATH, [DAY]).moved.keys() == {DAY}
    assert refuse_behind(bench.hot_ensemble.open(), LAYOUT, [DAY]) == {}


def test_copies_that_the_member_has_not_heard_of_are_removed_again() -> None:
    copying = Copying()
    copying.make(DAY)
    copying.bench.cold_store.member = copying.bench.cold_ensemble.members[-1]
    copying.copies.remove_own([DAY])
    assert copying.parts() == {}


@pytest.mark.parametrize(("hot", "cold"), [(True, False), (False, True), (True, True)])
def test_the_guard_sees_a_partition_that_became_cold_just_now(hot: bool, cold: bool) -> None:
    bench = settled()
    move_by_leaders(bench)
    assert [each.partition for each in guard(bench, hot=hot, cold=cold).cold_partitions(PATH)] == [DAY]


def test_the_guard_does_not_see_a_partition_that_was_dropped_just_now() -> None:
    bench = settled()
    assert bench.move().moved.keys() == {DAY}
    for each in (bench.hot_ensemble, bench.cold_ensemble):
        each.settle()
    bench.servers.drop(DAY)
    assert guard(bench, hot=False, cold=True).cold_partitions(PATH) == []


def test_the_guard_sees_that_cold_proves_just_now_where_runs_meet() -> None:
    bench = settled()
    mark(bench)
    copy = settled()
    assert not guard(copy, hot=True, cold=True).is_proven(PATH)
    identity = identity_path(DEFAULT_ROOT)
    copy.hot.create(identity, bench.hot.get(identity)[0], makepath=True)
    copy.cold.ensure_path(PATH)
    copy.cold.set(PATH, bench.cold.get(PATH)[0])
    assert guard(copy, hot=True, cold=True).is_proven(PATH)


def test_an_entry_that_was_made_just_now_is_seen() -> None:
    bench = settled()
    enter(bench.hot_store, bench.cold_store, R2)
    assert Ledger(behind(bench.hot_ensemble)).has_any([PATH])


def test_an_entry_that_was_made_just_now_is_withdrawn() -> None:
    bench = settled()
    enter(bench.hot_store, bench.cold_store, R2)
    assert Ledger(behind(bench.hot_ensemble)).withdraw(R2).changed
    assert Ledger(bench.hot_store).replicas(PATH) == []


def test_the_replica_that_is_verified_is_the_one_that_is_there() -> None:
    bench = settled()
    bench.servers.restart("r2")
    found = look_up_replicas(behind(bench.hot_ensemble), [R2])[R2]
    assert found == look_up_replicas(bench.hot_store, [R2])[R2]
