# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A copy of a hot ensemble, and one that was set back, are refused once the other has taken a lease."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import BindingConflict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_order import (
    REPAIR_ORDER,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    StateSetter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import (
    bind_pair,
    renew_identity,
    trust_hot,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.take_over import (
    NotOwned,
    Proof,
    give,
    take_over,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.bench import DAY, OTHER, PATH
from support.memory.copied import Copied, forget_tokens, fresh, pair_of
from support.memory.drifted import Drifted
from support.memory.two_clusters import hash_of


@pytest.fixture
def copied() -> Copied:
    """A copy, after which the original has moved another partition."""
    clusters = Copied.build()
    assert fresh(clusters.original).bench.move(OTHER).moved
    return clusters


def cold_of(copied: Copied) -> dict[str, bytes]:
    return copied.original.bench.cold_ensemble.data()


def take(cluster: Drifted) -> Proof:
    bench = cluster.bench
    leases = LeaseKeeper(bench.hot_store, bench.cold_store, bench.clock, owner="a test")
    return take_over(bench.hot_store, bench.cold_store, leases, PATH, cluster.evidence())


def trust(cluster: Drifted) -> bool:
    return trust_hot(cluster.bench.hot_store, cluster.bench.cold_store, DEFAULT_ROOT)


def test_a_copy_moves_nothing(copied: Copied) -> None:
    before = cold_of(copied)
    bench = fresh(copied.copy).bench
    for report in (bench.move(OTHER), bench.reheat(DAY)):
        (refusal,) = report.deferred.values()
        assert refusal.gate is GateName.BOUND_HERE
        assert "does not know" in refusal.reason
    assert cold_of(copied) == before


def test_an_audit_of_a_copy_names_the_other_cluster(copied: Copied) -> None:
    assert set(copied.copy.kinds().values()) == {FindingKind.OTHER_CLUSTER}
    assert FindingKind.OTHER_CLUSTER not in copied.original.kinds().values()


@pytest.mark.parametrize("kind", REPAIR_ORDER)
def test_no_repair_by_a_copy_touches_anything(copied: Copied, kind: FindingKind) -> None:
    """Its parts drifted, too: the disks of the copy have lost what cold has."""
    copied.copy.bench.servers.disk["r1"].clear()
    before = cold_of(copied)
    assert not fresh(copied.copy).repair(kind).repaired
    assert cold_of(copied) == before


def test_a_copy_sets_no_state_and_withdraws_nothing(copied: Copied) -> None:
    bench = fresh(copied.copy).bench
    setter = StateSetter(
        bench.hot_store, bench.cold_store, bench.context.leases, bench.context.servers, ShardLayout(PATH)
    )
    with pytest.raises(BindingConflict, match="does not know"):
        setter.set(DAY, State.HOT)
    with pytest.raises(BindingConflict, match="does not know"):
        DowngradeGuard(bench.hot_store, bench.cold_store, DEFAULT_ROOT).cold_partitions(PATH)


def test_a_copy_takes_no_lease(copied: Copied) -> None:
    before = cold_of(copied)
    with pytest.raises(BindingConflict, match="does not know"):
        fresh(copied.copy).bench.context.leases.acquire(PATH)
    assert cold_of(copied) == before


def test_many_tries_of_a_copy_do_not_make_it_trusted(copied: Copied) -> None:
    for _each in range(40):
        assert fresh(copied.copy).bench.move(OTHER).deferred
    assert pair_of(copied.copy).is_copied


def test_the_original_goes_on(copied: Copied) -> None:
    fresh(copied.copy).bench.move(OTHER)
    assert fresh(copied.original).bench.reheat(DAY).moved.keys() == {DAY}


def test_of_both_one_goes_on_whichever_is_first() -> None:
    """Nothing shows which is the copy; the one that comes second is refused."""
    clusters = Copied.build()
    assert fresh(clusters.copy).bench.move(OTHER).moved
    assert fresh(clusters.original).bench.move(OTHER).deferred
    assert set(clusters.original.kinds().values()) == {FindingKind.OTHER_CLUSTER}


def test_a_copy_of_an_installation_without_tokens() -> None:
    clusters = Copied.build()
    forget_tokens(clusters.original.bench)
    clusters.copy.bench.hot.delete(f"{DEFAULT_ROOT}/tokens")
    assert fresh(clusters.original).bench.move(OTHER).is_bound_now
    assert fresh(clusters.copy).bench.move(OTHER).deferred


def test_an_installation_without_tokens_gets_them_once() -> None:
    cluster = Copied.build().original
    forget_tokens(cluster.bench)
    assert FindingKind.OTHER_CLUSTER not in cluster.kinds().values()
    assert fresh(cluster).bench.move(OTHER).is_bound_now
    assert not fresh(cluster).bench.reheat(DAY).is_bound_now


def test_hot_that_was_set_back_goes_on_if_no_copy_runs() -> None:
    cluster = fresh(Copied.set_back(OTHER))
    assert cluster.bench.move(OTHER).deferred[OTHER].gate is GateName.BOUND_HERE
    hot_id = pair_of(cluster).hot_id
    assert trust(cluster)
    assert not trust(cluster)
    assert pair_of(cluster).hot_id == hot_id
    assert cluster.kinds(OTHER)["r1"] is FindingKind.COPIES_LEFT
    assert fresh(cluster).bench.move(OTHER).moved.keys() == {OTHER}


def test_after_one_is_trusted_the_other_is_refused(copied: Copied) -> None:
    """It vouched wrongly; one of them goes on at a time."""
    assert trust(copied.copy)
    assert fresh(copied.copy).bench.reheat(DAY).moved
    assert fresh(copied.original).bench.reheat(DAY).deferred[DAY].gate is GateName.BOUND_HERE


def test_a_hot_ensemble_that_is_no_copy_needs_no_trust(copied: Copied) -> None:
    before = copied.original.bench.hot_ensemble.data()
    assert not trust(copied.original)
    assert copied.original.bench.hot_ensemble.data() == before


def test_a_copy_takes_over_with_proof_and_gets_an_identity_of_its_own() -> None:
    """The part of OTHER is in cold, too, and both disks have it."""
    cluster = Copied.set_back(OTHER)
    former = pair_of(cluster).hot_id
    with pytest.raises(NotOwned, match=f"{OTHER}_0_0_0 of replica r1 is not on its disk with that hash"):
        take(cluster)
    assert pair_of(cluster).is_copied
    cluster.disks.hashes[f"{OTHER}_0_0_0"] = hash_of(cluster.bench, f"{OTHER}_0_0_0")
    assert take(cluster) is Proof.DISKS
    pair = pair_of(cluster)
    assert pair.is_bound
    assert pair.hot_id != former
    assert not pair.is_copied
    assert fresh(cluster).bench.move(OTHER).moved.keys() == {OTHER}


def test_consent_is_no_proof_for_a_copy(copied: Copied) -> None:
    """It names the identity that both have."""
    original = fresh(copied.original).bench
    leases = original.context.leases
    give(original.hot_store, original.cold_store, leases, PATH, pair_of(copied.original).hot_id)
    copied.copy.disks.silent.update(("r1", "r2"))
    with pytest.raises(NotOwned):
        take(copied.copy)


def test_a_copy_gives_nothing_away(copied: Copied) -> None:
    bench = copied.copy.bench
    leases = LeaseKeeper(bench.hot_store, bench.cold_store, bench.clock, owner="a test")
    with pytest.raises(NotOwned):
        give(bench.hot_store, bench.cold_store, leases, PATH, "f" * 32)


def test_a_copy_with_an_identity_of_its_own_is_another_cluster(copied: Copied) -> None:
    bench = copied.copy.bench
    renew_identity(bench.hot_store, bench.cold_store, DEFAULT_ROOT)
    assert bind_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT, "copy", may_join=True).is_bound
    assert not pair_of(copied.copy).is_copied
    assert set(copied.copy.kinds().values()) == {FindingKind.OTHER_CLUSTER}
    assert fresh(copied.original).bench.reheat(DAY).moved.keys() == {DAY}
