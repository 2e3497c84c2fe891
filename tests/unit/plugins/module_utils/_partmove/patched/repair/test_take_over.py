# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table in cold is taken over with the consent of the other cluster, or with proof by the disks."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    LeaseLost,
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import (
    bind_pair,
    read_pair,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.take_over import (
    NotOwned,
    Proof,
    give,
    take_over,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, SetData
from support.memory.arrange import forget_id, mark_former, mark_without_id
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH
from support.memory.drifted import Drifted
from support.memory.two_clusters import TwoClusters, hash_of


@pytest.fixture
def clusters() -> TwoClusters:
    return TwoClusters.build()


def take(cluster: Drifted) -> Proof:
    bench = cluster.bench
    leases = cluster.context().leases
    return take_over(bench.hot_store, bench.cold_store, leases, PATH, cluster.evidence())


def give_to(cluster: Drifted, hot_id: str) -> bool:
    bench = cluster.bench
    return give(bench.hot_store, bench.cold_store, cluster.context().leases, PATH, hot_id)


def id_of(cluster: Drifted) -> str:
    return read_pair(cluster.bench.hot_store, cluster.bench.cold_store, DEFAULT_ROOT).hot_id


def test_disks_with_each_part_are_proof(clusters: TwoClusters) -> None:
    assert take(clusters.ours) is Proof.DISKS
    assert take(clusters.ours) is Proof.NONE_NEEDED
    assert FindingKind.OTHER_CLUSTER not in clusters.ours.kinds().values()
    assert set(clusters.theirs.kinds().values()) == {FindingKind.OTHER_CLUSTER}
    assert clusters.ours.bench.move(OTHER).moved


@pytest.mark.parametrize("shown", [None, "22" * 16])
def test_a_disk_without_the_hash_is_no_proof(clusters: TwoClusters, shown: str | None) -> None:
    ours = clusters.ours
    del ours.disks.hashes[PART]
    if shown is not None:
        ours.disks.hashes[PART] = shown
    before = clusters.cold()
    with pytest.raises(NotOwned, match=f"{PART} of replica r1 is not on its disk with that hash"):
        take(ours)
    assert clusters.cold() == before


def test_a_part_on_no_disk_is_no_proof(clusters: TwoClusters) -> None:
    clusters.ours.bench.servers.disk["r2"].discard(PART)
    with pytest.raises(NotOwned, match=f"{PART} of replica r2"):
        take(clusters.ours)


def test_one_unproven_part_among_many_is_no_proof(clusters: TwoClusters) -> None:
    assert clusters.theirs.bench.move(OTHER).moved
    with pytest.raises(NotOwned, match=f"{OTHER}_0_0_0 of replica r1"):
        take(clusters.ours)
    part = f"{OTHER}_0_0_0"
    clusters.ours.disks.hashes[part] = hash_of(clusters.ours.bench, part)
    assert take(clusters.ours) is Proof.DISKS


def test_a_silent_server_is_no_proof(clusters: TwoClusters) -> None:
    clusters.ours.disks.silent.add("r1")
    with pytest.raises(NotOwned, match="replica r1: ClickHouse at"):
        take(clusters.ours)


def test_a_replica_of_theirs_alone_is_no_proof(clusters: TwoClusters) -> None:
    clusters.ours.bench.hot.delete(f"{PATH}/replicas/r2", recursive=True)
    with pytest.raises(NotOwned, match="hot has no replica r2"):
        take(clusters.ours)


def test_consent_is_proof_without_disks(clusters: TwoClusters) -> None:
    clusters.ours.disks.silent.update(("r1", "r2"))
    with pytest.raises(NotOwned):
        take(clusters.ours)
    bench = clusters.ours.bench
    bind_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT, "ours", may_join=True)
    assert give_to(clusters.theirs, id_of(clusters.ours))
    assert not give_to(clusters.theirs, id_of(clusters.ours))
    assert take(clusters.ours) is Proof.CONSENT
    with pytest.raises(NotOwned, match="are not marked as those of this hot"):
        give_to(clusters.theirs, id_of(clusters.ours))


def test_consent_for_somebody_else_is_no_proof(clusters: TwoClusters) -> None:
    clusters.ours.disks.silent.update(("r1", "r2"))
    assert give_to(clusters.theirs, "f" * 32)
    with pytest.raises(NotOwned):
        take(clusters.ours)


def test_consent_stays_while_the_owner_moves(clusters: TwoClusters) -> None:
    assert give_to(clusters.theirs, "f" * 32)
    assert clusters.theirs.bench.move(OTHER).moved
    assert not give_to(clusters.theirs, "f" * 32)


def test_a_run_of_the_former_owner_is_fenced(clusters: TwoClusters) -> None:
    """Its table is taken over between its read and its copies."""
    theirs = clusters.theirs.bench
    taken: list[Proof] = []
    theirs.before_copy(lambda: taken.append(take(clusters.ours)))
    report = theirs.move(OTHER)
    assert taken == [Proof.DISKS]
    assert not report.moved
    assert clusters.cold().keys().isdisjoint({f"{PATH}/replicas/r1/parts/{OTHER}_0_0_0"})


def test_a_run_of_the_former_owner_with_another_root_is_fenced(clusters: TwoClusters) -> None:
    """Its epoch is another znode, so the marker alone stops it."""
    theirs, ours = clusters.theirs.bench, clusters.ours
    stores = ours.bench.hot_store, ours.bench.cold_store
    leases = LeaseKeeper(*stores, ours.bench.clock, owner="a test", root="/other")
    evidence = EvidenceReader(*stores, ours.disks, ours.bench.clock, "/other")
    taken: list[Proof] = []
    theirs.before_copy(lambda: taken.append(take_over(*stores, leases, PATH, evidence)))
    report = theirs.move(OTHER)
    assert taken == [Proof.DISKS]
    assert not report.moved
    assert clusters.cold().keys().isdisjoint({f"{PATH}/replicas/r1/parts/{OTHER}_0_0_0"})


def test_a_former_table_and_unmarked_parts_are_for_repairs(clusters: TwoClusters) -> None:
    theirs = clusters.theirs
    mark_former(theirs.bench)
    with pytest.raises(NotOwned, match="No other cluster owns"):
        take(theirs)
    theirs.bench.cold.set(PATH, b"")
    with pytest.raises(NotOwned, match="No other cluster owns"):
        take(theirs)


def test_hot_that_lost_its_identity_takes_its_own_tables(clusters: TwoClusters) -> None:
    theirs = clusters.theirs
    forget_id(theirs.bench)
    assert set(theirs.kinds().values()) == {FindingKind.OTHER_CLUSTER}
    assert take(theirs) is Proof.DISKS
    assert set(theirs.kinds().values()) == {FindingKind.COLD}
    assert theirs.bench.reheat(DAY).moved


def test_hot_without_an_identity_has_no_consent(clusters: TwoClusters) -> None:
    clusters.theirs.disks.silent.update(("r1", "r2"))
    forget_id(clusters.theirs.bench)
    with pytest.raises(NotOwned, match="replica r1"):
        take(clusters.theirs)


def test_a_marker_without_an_id_is_taken_with_proof(clusters: TwoClusters) -> None:
    mark_without_id(clusters.theirs.bench)
    assert take(clusters.ours) is Proof.DISKS


def test_a_shard_path_without_parts_is_nobodys_loss(clusters: TwoClusters) -> None:
    """No disk is asked, and none is named as the proof."""
    theirs = clusters.theirs.bench
    assert theirs.reheat(DAY).moved
    theirs.clock.sleep(600.0)
    assert theirs.reheat(DAY).copies_removed == {DAY}
    clusters.ours.disks.silent.update(("r1", "r2"))
    assert take(clusters.ours) is Proof.NO_PARTS
    assert clusters.ours.bench.move(OTHER).moved


def test_a_dropped_table_takes_nothing(clusters: TwoClusters) -> None:
    clusters.ours.bench.servers.drop_table()
    with pytest.raises(NoSuchTable):
        take(clusters.ours)


def test_the_record_of_the_table_is_written_again() -> None:
    """A move would not know its cold ensemble without the record in hot."""
    drifted = Drifted()
    drifted.disks.hashes[PART] = hash_of(drifted.bench, PART)
    drifted.bench.move(DAY)
    assert take(drifted) is Proof.NONE_NEEDED
    record = "/partmove/cold/%2Fclickhouse%2Ftables%2F01%2Fhits"
    drifted.bench.hot.delete(record)

    assert take(drifted) is Proof.DISKS

    assert drifted.bench.hot.exists(record) is not None
    assert take(drifted) is Proof.NONE_NEEDED


def test_the_lock_is_released(clusters: TwoClusters) -> None:
    take(clusters.ours)
    assert clusters.ours.bench.hot.exists(LOCK) is None
    with pytest.raises(NotOwned):
        give_to(clusters.theirs, "f" * 32)
    assert clusters.theirs.bench.hot.exists(LOCK) is None


def test_a_znode_that_is_no_part_is_no_proof(clusters: TwoClusters) -> None:
    clusters.theirs.bench.cold.create(f"{PATH}/replicas/r1/parts/no part", b"")
    with pytest.raises(NotOwned, match="unreadable znodes"):
        take(clusters.ours)


def test_a_marker_without_an_id_gives_nothing() -> None:
    drifted = Drifted()
    drifted.bench.move(DAY)
    mark_without_id(drifted.bench)
    marker = drifted.bench.cold.get(PATH)[0]
    with pytest.raises(NotOwned):
        give_to(drifted, "f" * 32)
    assert drifted.bench.cold.get(PATH)[0] == marker


def test_consent_is_not_written_over_a_marker_that_changed(clusters: TwoClusters) -> None:
    bench = clusters.theirs.bench
    marker = bench.cold.get(PATH)[0]
    bench.before_marked(lambda: bench.cold.set(PATH, marker))
    with pytest.raises(LeaseLost):
        give_to(clusters.theirs, "f" * 32)
    assert bench.cold.get(PATH)[0] == marker


@pytest.mark.parametrize("is_deleted", [False, True])
def test_consent_whose_answer_is_lost_is_reported_if_it_is_there(
    clusters: TwoClusters, is_deleted: bool
) -> None:
    bench = clusters.theirs.bench
    marker = bench.cold.get(PATH)[0]
    writes: list[Multi] = []

    def loses(multi: Multi) -> bool:
        if any(isinstance(op, SetData) and op.path == PATH for op in multi):
            writes.append(multi)
            if is_deleted:
                bench.cold.set(PATH, b"")
        return bool(writes)

    bench.cold_store.loses = loses
    with pytest.raises(PartMoveError):
        give_to(clusters.theirs, "f" * 32)
    assert bench.cold.get(PATH)[0] == (b"" if is_deleted else marker)
