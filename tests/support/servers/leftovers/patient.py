# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real table in a state that needs repair, what it was before, and how all of that is repaired."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import AccessDenied
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
    Disks,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_order import (
    REPAIR_ORDER,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    NotRepaired,
    RepairContext,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import (
    repair_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.saving import (
    SavedWrite,
    SavingStore,
)
from support.servers.leftovers.ground import Ground, Scene, kinds_of
from support.servers.moving import make_later_world
from support.servers.registered import Registry
from support.servers.replicated import SETTLE_SECONDS, ReplicatedTable

_LATER = 7200.0
"""Seconds after which no other tool may be at work, and no server can need copies."""
_ROUNDS = 6
"""Rounds of repairs that change something."""
_PAUSE_SECONDS = 0.5


class Kept(NamedTuple):
    """What the server of a replica has of a table.

    parts: name of each active part → the checksums of its files.
    detached: names in the folder detached.
    """

    rows: Sequence[tuple[object, ...]]
    parts: Mapping[str, bytes]
    detached: frozenset[str]


def kept(table: ReplicatedTable, number: int) -> Kept:
    """What one server has now."""
    active = [name for names in table.active_parts(number).values() for name in names]
    checksums = {name: (table.folder(number) / name / "checksums.txt").read_bytes() for name in active}
    return Kept(table.rows(number), checksums, frozenset(table.detached(number)))


@dataclass(frozen=True)
class Hashes:
    """Tells the hashes of parts, which servers of this version do not, as they were registered."""

    disks: Disks
    hashes: Mapping[str, str]

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """All parts of the replica now."""
        found = self.disks.parts(shard_path, replica, host)
        return replace(found, active={name: self.hashes.get(name) for name in found.active})


def kinds_told(ground: Ground) -> set[FindingKind]:
    """What an audit says, of whatever partition and replica."""
    return {kind for of_replicas in kinds_of(ground.audit()).values() for kind in of_replicas.values()}


@dataclass(frozen=True)
class Repairs:
    """Repairs of a table.

    hashes: those of the parts on disk.
    registered: what is known to register parts.
    cold_is_lost: as of Options.
    """

    ground: Ground
    hashes: Mapping[str, str]
    registered: Sequence[SavedZnode]
    cold_is_lost: bool = False

    def carry_out(self) -> set[FindingKind]:
        """Repair kind by kind, in order, until there is nothing to repair; returns the kinds that are left.

        State is not set while an entry waits that reads it. A server that started with a ghost queues a fetch
        of it, which is there until the server has found nobody to fetch from.

        Raises:
            TimeoutError: something is left that a module repairs; with the reasons of the repairs.
        """
        self.ground.mover.seconds_ahead = _LATER
        deadline, rounds = time.monotonic() + SETTLE_SECONDS, 0
        found = kinds_told(self.ground)
        while wanted := [kind for kind in REPAIR_ORDER if kind in found]:
            left = {kind.value: self._repair_or_permit(kind) for kind in wanted}
            before, found = found, kinds_told(self.ground)
            rounds += found != before
            if rounds > _ROUNDS or time.monotonic() > deadline:
                raise TimeoutError(f"{self.ground.table.path} after {rounds} rounds: {left}")
            if found == before:
                time.sleep(_PAUSE_SECONDS)
        return {kind for kind in found if not kind.is_consistent}

    def _repair_or_permit(self, kind: FindingKind) -> Mapping[str, NotRepaired]:
        """Repair a kind; where one scene has forbidden it, by the way out that the error names."""
        try:
            return self._repair(kind)
        except AccessDenied:
            self._permit()
            return self._repair(kind)

    def _permit(self) -> None:
        cold = self.ground.registry.cold
        for replica in self.ground.table.replicas:
            path = f"{self.ground.table.path}/replicas/{replica}/parts"
            if not cold.get_children(path):
                cold.delete(path)
                cold.create(path)

    def _repair(self, kind: FindingKind) -> Mapping[str, NotRepaired]:
        mover, saved, done = self.ground.mover, list[SavedZnode](), list[str]()

        def save(writes: Iterable[SavedWrite]) -> None:
            saved.extend(each for each in writes if isinstance(each, SavedZnode))

        later = make_later_world(mover.hot, mover.cold, _LATER)
        probe = self.ground.probe()
        context = RepairContext(
            SavingStore(mover.hot, "hot", save, lambda _multis: None, done),
            SavingStore(mover.cold, "cold", save, lambda _multis: None, done),
            later.clock,
            later.journal,
            later.leases,
            AskServers(probe),
            Hashes(probe, self.hashes),
        )
        options = RepairOptions(
            registrations=self.registered,
            replica_is_gone=True,
            disks_are_mounted=True,
            cold_is_lost=self.cold_is_lost,
        )
        report = repair_shard(context, self.ground.table.path, kind, options)
        removed = {each.partition(" delete ")[2] for each in done if " delete " in each}
        assert removed <= {each.path for each in saved}
        return report.left


class Patient:
    """A table that a scene is played on, and what it was before."""

    def __init__(self, ground: Ground, scene: Scene) -> None:
        """Play the scene."""
        self.ground = ground
        self.scene = scene
        self.registered = list(saved_parts(ground.registry, ground.table))
        first = dict(hashes_of(self.registered))
        scene.make(ground)
        # The table may have been made again, or its parts written anew. Of what the scene inserted and the
        # original tool took from hot, only cold still has the hash, as it was copied.
        copied = dict(hashes_of(copied_parts(ground.registry, ground.table)))
        self.hashes = {**copied, **first, **dict(hashes_of(saved_parts(ground.registry, ground.table)))}
        self.seen = self.kept()

    def kept(self) -> list[Kept]:
        """What the server of each replica has now."""
        return [kept(self.ground.table, number) for number in range(len(self.ground.table.servers))]

    def repair(self) -> set[FindingKind]:
        """Repair all that can be; returns the kinds that are left."""
        return Repairs(self.ground, self.hashes, self.registered).carry_out()

    def kinds(self) -> set[FindingKind]:
        """What an audit says, of whatever partition and replica."""
        return kinds_told(self.ground)


def saved_parts(registry: Registry, table: ReplicatedTable) -> Iterable[SavedZnode]:
    """What registers the parts of a table in hot, as a backup of the ensemble would have it."""
    for replica in table.replicas:
        folder = f"{table.path}/replicas/{replica}/parts"
        for part in registry.hot.get_children(folder):
            for path in (f"{folder}/{part}", *_children(registry, f"{folder}/{part}")):
                yield SavedZnode("hot", path, registry.hot.get(path)[0], 0)


def copied_parts(registry: Registry, table: ReplicatedTable) -> Iterable[SavedZnode]:
    """What registers the parts of a table in cold, except parts of which a child is missing."""
    cold = registry.cold
    for replica in table.replicas:
        folder = f"{table.path}/replicas/{replica}/parts"
        for part in cold.get_children(folder) if cold.exists(folder) else ():
            paths = [f"{folder}/{part}/{name}" for name in cold.get_children(f"{folder}/{part}")]
            if len(paths) == len(("checksums", "columns")):
                for path in (f"{folder}/{part}", *paths):
                    yield SavedZnode("cold", path, cold.get(path)[0], 0)


def _children(registry: Registry, path: str) -> list[str]:
    return [f"{path}/{name}" for name in registry.hot.get_children(path)]


def hashes_of(saved: Iterable[SavedZnode]) -> Iterable[tuple[str, str]]:
    """Name and hash of each part that the znodes register."""
    znodes = list(saved)
    for parent in (each for each in znodes if each.path.split("/")[-2] == "parts"):
        below = f"{parent.path}/"
        inner = {each.path[len(below) :]: each.data for each in znodes if each.path.startswith(below)}
        checksums = parse_payload(parent.data, inner, parent.path).checksums
        assert checksums is not None
        yield parent.path.rpartition("/")[2], checksums.hash_of_all_files
