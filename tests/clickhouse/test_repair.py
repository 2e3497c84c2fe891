# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every state that real tables were brought to is repaired: all rows stay, also through a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.evidence import DiskParts, Disks
from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.kind import Kind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import AccessDenied
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.backup import SavedZnode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.case import (
    Options,
    RepairWorld,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.run import (
    REMEDIES,
    repair_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.saving import SavingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.servers.clickhouse import ClickHouseCluster
from support.servers.leftovers import original, ours, servers
from support.servers.leftovers.ground import Ground, Scene, kinds_of
from support.servers.moving import make_later_world
from support.servers.registered import Registry
from support.servers.replicated import Definition, ReplicatedTable

pytestmark = [
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.long(minutes=3),
    pytest.mark.usefixtures("healthy"),
]

LATER = 7200.0
"""Seconds after which no other tool may be at work, and no server can need copies."""
ROUNDS = 6
FOR_PEOPLE = {
    "replica_added_while_cold": {Kind.LACKS_DATA},
    "several_parts_moved": {Kind.SEVERAL_COLD_PARTS},
    "unreadable_while_cold": {Kind.LACKS_DATA},
    "met_a_replica_that_had_yet_to_merge": {Kind.UNEVEN},
    "lost_from_one_disk": {Kind.LACKS_DATA},
    "took_one_partition_for_another": {Kind.SEVERAL_COLD_PARTS},
    "took_one_partition_for_another_and_was_adopted": {Kind.SEVERAL_COLD_PARTS},
}
"""Scene → what no module repairs of it."""
# A server that is down keeps everything as it is; a test of the audit has that.
SCENES = [each for each in (*ours.SCENES, *original.SCENES) if each.make is not ours.unreadable_while_cold]
SERVER_SCENES = [each for each in servers.SCENES if each.make is not servers.stopped]


@dataclass(frozen=True)
class Hashes:
    """Tells the hashes of parts, which servers of this version do not, as they were registered."""

    disks: Disks
    hashes: Mapping[str, str]

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """All parts of the replica now."""
        found = self.disks.parts(shard_path, replica, host)
        return replace(found, active={name: self.hashes.get(name) for name in found.active})


class Patient:
    """A table that a scene is played on, and what it was before."""

    def __init__(self, ground: Ground, scene: Scene) -> None:
        self.ground = ground
        self.scene = scene
        self.registered = list(saved_parts(ground.registry, ground.table))
        first = dict(hashes_of(self.registered))
        scene.make(ground)
        # The table may have been made again, or its parts written anew.
        self.hashes = {**first, **dict(hashes_of(saved_parts(ground.registry, ground.table)))}
        self.seen = what_servers_have(ground.table)

    def repair(self) -> set[Kind]:
        """Repair kind by kind, the worst first, until nothing changes; returns the kinds that are left."""
        self.ground.mover.seconds_ahead = LATER
        found = self.kinds()
        for _round in range(ROUNDS):
            wanted = sorted(found & REMEDIES.keys(), key=lambda kind: kind.rank)
            for kind in wanted:
                try:
                    self._repair(kind)
                except AccessDenied:
                    # The way out that the error names, for what one scene has forbidden.
                    self._permit()
                    self._repair(kind)
            before, found = found, self.kinds()
            if found == before or not wanted:
                break
        return {kind for kind in found if not kind.is_sound}

    def kinds(self) -> set[Kind]:
        """What an audit says, of whatever partition and replica."""
        found = kinds_of(self.ground.audit())
        return {kind for of_replicas in found.values() for kind in of_replicas.values()}

    def _permit(self) -> None:
        cold = self.ground.registry.cold
        for replica in self.ground.table.replicas:
            path = f"{self.ground.table.path}/replicas/{replica}/parts"
            if not cold.get_children(path):
                cold.delete(path)
                cold.create(path)

    def _repair(self, kind: Kind) -> None:
        mover, kept, done = self.ground.mover, list[SavedZnode](), list[str]()

        def save(ensemble: str, znodes: Iterable[Znode]) -> None:
            kept.extend(SavedZnode.of(ensemble, each) for each in znodes)

        later = make_later_world(mover.hot, mover.cold, LATER)
        probe = self.ground.probe()
        world = RepairWorld(
            SavingStore(mover.hot, "hot", save, lambda _multis: None, done),
            SavingStore(mover.cold, "cold", save, lambda _multis: None, done),
            later.clock,
            later.journal,
            later.leases,
            AskServers(probe),
            Hashes(probe, self.hashes),
        )
        options = Options(registrations=self.registered, replica_is_gone=True)
        repair_shard(world, self.ground.table.path, kind, options)
        removed = {each.partition(" delete ")[2] for each in done if " delete " in each}
        assert removed <= {each.path for each in kept}


def saved_parts(registry: Registry, table: ReplicatedTable) -> Iterable[SavedZnode]:
    """What registers the parts of a table in hot, as a backup of the ensemble would have it."""
    for replica in table.replicas:
        folder = f"{table.path}/replicas/{replica}/parts"
        for part in registry.hot.get_children(folder):
            for path in (f"{folder}/{part}", *children(registry, f"{folder}/{part}")):
                yield SavedZnode("hot", path, registry.hot.get(path)[0], 0)


def children(registry: Registry, path: str) -> list[str]:
    return [f"{path}/{name}" for name in registry.hot.get_children(path)]


def hashes_of(saved: Iterable[SavedZnode]) -> Iterable[tuple[str, str]]:
    znodes = list(saved)
    for parent in (each for each in znodes if each.path.split("/")[-2] == "parts"):
        below = f"{parent.path}/"
        inner = {each.path[len(below) :]: each.data for each in znodes if each.path.startswith(below)}
        checksums = parse_payload(parent.data, inner, parent.path).checksums
        assert checksums is not None
        yield parent.path.rpartition("/")[2], checksums.hash_of_all_files


def what_servers_have(table: ReplicatedTable) -> list[tuple[object, ...]]:
    """For each replica its rows, what it has detached, and the checksums of the files of each active part."""
    found: list[tuple[object, ...]] = []
    for number in range(len(table.servers)):
        active = [name for names in table.active_parts(number).values() for name in names]
        folder = table.folder(number)
        sums = {name: (folder / name / "checksums.txt").read_bytes() for name in active}
        found.append((table.rows(number), table.detached(number), sums))
    return found


@pytest.fixture
def patients(make_ground: Callable[[Definition], Ground]) -> list[Patient]:
    """All at once, as one restart is enough for them."""
    return [Patient(make_ground(scene.definition), scene) for scene in SCENES]


def test_what_drifted_is_repaired_and_outlives_a_restart(
    replicas: ClickHouseCluster, patients: list[Patient]
) -> None:
    left = {str(each.scene): found for each in patients if (found := each.repair())}
    assert left == {name: kinds for name, kinds in FOR_PEOPLE.items() if name in map(str, SCENES)}

    for server in replicas.servers:
        server.restart()

    for each in patients:
        if str(each.scene) not in FOR_PEOPLE:
            assert what_servers_have(each.ground.table) == each.seen, each.scene
            assert all(kind.is_sound for kind in each.kinds()), each.scene


@pytest.mark.parametrize("scene", SERVER_SCENES, ids=str)
def test_what_servers_left_is_repaired(make_ground: Callable[[Definition], Ground], scene: Scene) -> None:
    patient = Patient(make_ground(scene.definition), scene)
    assert patient.repair() == FOR_PEOPLE.get(str(scene), set())
    assert what_servers_have(patient.ground.table) == patient.seen
