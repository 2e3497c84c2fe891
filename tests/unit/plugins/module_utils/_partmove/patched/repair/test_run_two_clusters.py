# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two clusters with equal tables and one cold ensemble: neither touches what the other one has in cold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    Row,
    ShardAudit,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    StateSetter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair import run
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import REMEDIES
from support.memory.arrange import mark_without_id
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.two_clusters import TwoClusters

FLAGS = RepairOptions(cold_is_lost=True, replica_is_gone=True, disks_are_mounted=True, quiet=0.0)


@pytest.fixture(params=[False, True], ids=["unlisted", "listed"])
def clusters(request: pytest.FixtureRequest) -> TwoClusters:
    return TwoClusters.build(is_listed=request.param)


def test_both_clusters_are_equal_but_for_their_identity(clusters: TwoClusters) -> None:
    ours, theirs = (each.bench.hot.get(PATH)[1] for each in clusters)
    assert (ours.czxid, ours.ctime) == (theirs.czxid, theirs.ctime)


def test_a_move_of_the_other_cluster_is_refused(clusters: TwoClusters) -> None:
    before = clusters.cold()
    for report in (clusters.ours.bench.move(OTHER), clusters.ours.bench.reheat(DAY)):
        assert {each.gate for each in report.deferred.values()} == {GateName.BOUND_HERE}
        (refusal,) = report.deferred.values()
        assert "another cluster" in refusal.reason
        assert "Check the hosts" in refusal.remedy
    assert clusters.cold() == before
    assert clusters.theirs.bench.move(OTHER).moved


def test_the_audit_names_the_other_cluster(clusters: TwoClusters) -> None:
    assert set(clusters.ours.kinds().values()) == {FindingKind.OTHER_CLUSTER}
    assert set(clusters.ours.kinds(OTHER).values()) == {FindingKind.HOT}
    assert set(clusters.theirs.kinds().values()) == {FindingKind.COLD}


def test_markers_without_an_id_prove_nothing(clusters: TwoClusters) -> None:
    """An installation that has not run since ensembles have identities."""
    mark_without_id(clusters.theirs.bench)
    before = clusters.cold()
    assert set(clusters.ours.kinds().values()) == {FindingKind.OTHER_CLUSTER}
    report = clusters.ours.bench.move(OTHER)
    assert not report.moved
    assert clusters.cold() == before
    assert set(clusters.theirs.kinds().values()) == {FindingKind.COLD}
    assert clusters.theirs.bench.move(OTHER).moved


def test_other_replica_names_change_nothing(clusters: TwoClusters) -> None:
    ours = clusters.ours.bench
    for name in ("r1", "r2"):
        ours.hot.delete(f"{PATH}/replicas/{name}", recursive=True)
    assert set(clusters.ours.kinds().values()) == {FindingKind.OTHER_CLUSTER}


def test_a_dropped_table_of_ours_leaves_theirs_alone(clusters: TwoClusters) -> None:
    clusters.ours.bench.servers.drop_table()
    assert clusters.ours.evidence().read_left_in_cold(PATH) is None


@pytest.mark.parametrize("kind", [*REMEDIES], ids=[each.value for each in REMEDIES])
def test_no_repair_touches_theirs(
    clusters: TwoClusters, kind: FindingKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if an audit before called it so."""
    said = Verdict(kind, (PART,))
    rows = tuple(Row(PATH, DAY, replica, said) for replica in ("r1", "r2"))
    monkeypatch.setattr(run, "audit_shard", lambda *_arguments: ShardAudit(PATH, rows))
    before = clusters.cold()
    states = clusters.ours.bench.hot_ensemble.data()[f"{PATH}/block_numbers/{DAY}"]
    report = clusters.ours.repair(kind, FLAGS)
    assert report.left.keys() == {DAY}
    assert not report.repaired
    assert clusters.cold() == before
    assert clusters.ours.bench.hot_ensemble.data()[f"{PATH}/block_numbers/{DAY}"] == states


def test_a_marker_without_parts_is_theirs_all_the_same(clusters: TwoClusters) -> None:
    """Everything was brought back, and the copies are gone."""
    theirs = clusters.theirs.bench
    assert theirs.reheat(DAY).moved
    theirs.clock.sleep(600.0)
    assert theirs.reheat(DAY).copies_removed == {DAY}
    before = theirs.cold_ensemble.data()
    assert not clusters.ours.bench.move(OTHER).moved
    assert theirs.cold_ensemble.data() == before
    assert theirs.move(DAY).moved


def test_not_even_a_znode_that_is_no_part_is_removed(clusters: TwoClusters) -> None:
    """Our servers would not start with it, so the audit names that first."""
    clusters.theirs.bench.cold.create(f"{PATH}/replicas/r1/parts/nonsense")
    before = clusters.cold()
    assert FindingKind.UNREADABLE in clusters.ours.kinds("").values()
    report = clusters.ours.repair(FindingKind.UNREADABLE, FLAGS)
    assert (report.repaired, [*report.left]) == ([], [""])
    assert clusters.cold() == before


@pytest.mark.parametrize("is_listed", [False, True])
def test_parts_without_a_marker_are_left_while_cold_belongs_to_others(is_listed: bool) -> None:
    """Their replicas have other names, and ours know nothing of the parts."""
    clusters = TwoClusters.build(is_listed=is_listed)
    ours = clusters.ours
    clusters.theirs.bench.cold.set(PATH, b"")
    ours.bench.hot.delete(f"{PATH}/replicas/r2", recursive=True)
    ours.bench.servers.disk["r1"].discard(PART)
    ours.bench.hot.delete(ours.bench.part())
    before = clusters.cold()
    for kind in (FindingKind.DROPPED, FindingKind.ANOTHER_REPLICA):
        report = ours.repair(kind, FLAGS)
        assert (report.left.keys() == {DAY}) is not is_listed
    assert (clusters.cold() == before) is not is_listed


def test_a_second_hot_ensemble_writes_nothing() -> None:
    """Also with a table that cold does not have."""
    clusters = TwoClusters.build()
    clusters.theirs.bench.cold.delete(PATH, recursive=True)
    ours, theirs = (each.bench for each in clusters)
    before = ours.hot_ensemble.data(), theirs.cold_ensemble.data()
    assert not ours.move(OTHER).moved
    assert (ours.hot_ensemble.data(), theirs.cold_ensemble.data()) == before


def test_a_second_hot_ensemble_is_refused_by_name() -> None:
    clusters = TwoClusters.build()
    clusters.theirs.bench.cold.delete(PATH, recursive=True)
    before = clusters.cold()
    (refusal,) = clusters.ours.bench.move(OTHER).deferred.values()
    assert refusal.gate is GateName.BOUND_HERE
    assert "belongs to the hot ensemble hot.example:2181" in refusal.reason
    assert "cold_owner" in refusal.remedy
    assert clusters.cold() == before


def test_a_second_hot_ensemble_that_is_listed_uses_it_too() -> None:
    clusters = TwoClusters.build(is_listed=True)
    clusters.theirs.bench.cold.delete(PATH, recursive=True)
    assert clusters.ours.bench.move(OTHER).moved


def test_state_is_never_set_by_their_parts(clusters: TwoClusters) -> None:
    ours = clusters.ours
    data = ours.bench.hot_ensemble.data()
    context = ours.context()
    setter = StateSetter(context.hot, context.cold, context.leases, context.servers, ShardLayout(PATH))
    with pytest.raises(PartMoveError):
        setter.set(DAY, State.COLD)
    after = ours.bench.hot_ensemble.data()
    assert {path: each for path, each in after.items() if path.startswith(PATH)} == {
        path: each for path, each in data.items() if path.startswith(PATH)
    }


def test_copies_of_another_tool_stay_as_they_are_while_cold_belongs_to_others() -> None:
    """They equal our parts, as both clusters were built alike; nothing says whose they are."""
    clusters = TwoClusters.build()
    clusters.theirs.bench.cold.set(PATH, b"")
    before = clusters.cold()
    assert set(clusters.ours.kinds().values()) == {FindingKind.FOREIGN}
    report = clusters.ours.repair(FindingKind.FOREIGN, replace(FLAGS, quiet=0.0))
    assert (report.repaired, [*report.left]) == ([], [DAY])
    assert clusters.cold() == before
