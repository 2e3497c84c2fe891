# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What audits, repairs and restores ask of a member that lags behind is synced with first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    Left,
    PartitionLeft,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.left import read_left
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.memory.bench import DAY, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.drifted import Drifted
from support.memory.drifts import DRIFTS
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.moves import make_world
from support.memory.restores import Restores

LAYOUT = ShardLayout(PATH)


def behind(ensemble: MemoryEnsemble) -> MemoryStore:
    """A session with the member that has heard of nothing that was not asked of it."""
    return ensemble.open(ensemble.members[-1])


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


def audits(bench: Bench, disks: SimulatedDisks | None = None, *, hot: bool = True) -> EvidenceReader:
    """An audit that lags behind in cold, and in hot if it should."""
    hot_store = behind(bench.hot_ensemble) if hot else bench.hot_store
    return EvidenceReader(
        hot_store,
        behind(bench.cold_ensemble),
        disks or SimulatedDisks(bench.servers),
        bench.clock,
        DEFAULT_ROOT,
    )


def test_an_audit_asks_the_replica_that_was_added_just_now() -> None:
    bench = settled()
    bench.servers.add_replica()
    bench.servers.catch_up()
    replicas = audits(bench).read(PATH).partitions[DAY].replicas
    assert {each.name for each in replicas} == set(bench.servers.disk)


def test_an_audit_sees_what_was_registered_while_servers_were_asked() -> None:
    bench = settled()

    class Inserts(SimulatedDisks):
        def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
            if replica == "r1":
                bench.servers.insert(DAY)
            return super().parts(shard_path, replica, host)

    found = audits(bench, Inserts(bench.servers)).read(PATH).partitions[DAY]
    (replica,) = [each for each in found.replicas if each.name == "r1"]
    assert set(replica.active or ()) == set(replica.hot)
    assert len(replica.hot) == 2


@pytest.mark.parametrize("hot", [True, False])
def test_an_audit_sees_that_a_partition_became_cold_just_now(hot: bool) -> None:
    bench = settled()
    move_by_leaders(bench)
    found = audits(bench, hot=hot).read(PATH).partitions[DAY]
    assert found.is_cold
    assert [(bool(each.hot), bool(each.cold)) for each in found.replicas] == [(False, True)] * 2


def test_an_audit_sees_that_a_cold_partition_was_dropped_just_now() -> None:
    bench = settled()
    move_by_leaders(bench)
    bench.servers.drop(DAY)
    found = audits(bench, hot=False).read(PATH).partitions
    assert not any(each.cold for each in found[DAY].replicas)


def test_an_audit_sees_what_a_dropped_table_left_just_now() -> None:
    bench = settled()
    move_by_leaders(bench)
    bench.servers.drop_table()
    assert audits(bench).read_anywhere(PATH).partitions.keys() == {DAY}
    for replica in ("r1", "r2"):
        bench.cold.delete(bench.part(replica))
    with pytest.raises(NoSuchTable):
        audits(bench).read_anywhere(PATH)


def repair_behind(drifted: Drifted, kind: FindingKind) -> list[str]:
    """Repair by a process that lags behind in both ensembles; return the partitions that it repaired."""
    bench = drifted.bench
    report = drifted.repair_over(
        behind(bench.hot_ensemble), behind(bench.cold_ensemble), kind, RepairOptions(disks_are_mounted=True)
    )
    return sorted({row.partition for row in report.repaired})


@pytest.mark.parametrize("name", DRIFTS)
def test_a_repair_finds_what_drifted_just_now(name: str) -> None:
    """Its members have heard of nothing, not even of the table."""
    drift = DRIFTS[name]
    drifted = drift.made()
    assert repair_behind(drifted, drift.kind)
    assert set(drifted.kinds().values()) == {drift.after}


@pytest.mark.parametrize("name", DRIFTS)
def test_a_repair_leaves_what_was_repaired_just_now(name: str) -> None:
    drift = DRIFTS[name]
    drifted = drift.made()
    for each in (drifted.bench.hot_ensemble, drifted.bench.cold_ensemble):
        each.settle()
    drifted.repair(drift.kind)
    before = trees_of(drifted.bench)
    assert repair_behind(drifted, drift.kind) == []
    assert trees_of(drifted.bench) == before


@pytest.mark.parametrize("hot", [True, False])
def test_a_backup_says_how_a_repair_leaves_partitions_by_then(hot: bool) -> None:
    bench = settled()
    move_by_leaders(bench)
    bench.servers.drop(DAY)
    stores = [
        behind(each) if lags else each.open()
        for each, lags in ((bench.hot_ensemble, hot), (bench.cold_ensemble, not hot))
    ]
    (left,) = read_left(stores[0], stores[1], LAYOUT, [DAY])
    state = bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")
    assert left == PartitionLeft(DAY, Left(state[0], state[1].version), {}, {})


def change_hot(restores: Restores) -> None:
    """Let servers register another part."""
    restores.insert("r1", "r2")


def change_cold(restores: Restores) -> None:
    """Let another run register a part in cold."""
    restores.bench.cold.create(f"{PATH}/replicas/r1/parts/{DAY}_9_9_0", b"")


@pytest.mark.parametrize("change", [change_hot, change_cold])
def test_a_restore_leaves_what_changed_just_now(change: Callable[[Restores], None]) -> None:
    """It changed after the last write that takes the lease, which makes a member catch up."""
    restores = Restores.of_lost_disks()
    bench = restores.bench
    for store in (bench.hot_store, bench.cold_store):
        store.ensemble.settle()
        store.connect_to(store.ensemble.members[-1])
    changes = [change]

    def after_the_lease(multi: Multi) -> None:
        if changes and any("/epochs/" in op.path for op in multi):
            changes.pop()(restores)

    bench.cold_store.after = after_the_lease
    assert restores.restore().keys() == {"left"}
    assert not changes


def test_a_restore_over_members_that_know_nothing() -> None:
    restores = Restores.of_lost_disks()
    restores.bench.hot_store.connect_to(restores.bench.hot_ensemble.members[-1])
    restores.bench.cold_store.connect_to(restores.bench.cold_ensemble.members[-1])
    assert restores.restore().keys() == {"created", "set_back"}
    assert set(restores.kinds().values()) == {FindingKind.COLD}


def trees_of(bench: Bench) -> list[dict[str, bytes]]:
    """The data of hot and cold."""
    return [each.data(PATH) for each in (bench.hot_ensemble, bench.cold_ensemble)]
