# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What scenes are played on: a table of real servers between two ensembles, and how it is audited."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    Identity,
    identity_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
    Disks,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeReader
from support.memory.tables import read_tree
from support.servers.moving import FastClock, Mover
from support.servers.partmove_port import PartMovePort, Step
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, Definition, ReplicatedTable, wait_for

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"

Kinds = Mapping[str, Mapping[str, FindingKind]]
"""Partition id → replica → what an audit says."""


def both(kind: FindingKind) -> dict[str, FindingKind]:
    """The same for each replica of a table that has two."""
    return {"r1": kind, "r2": kind}


def filled(table: ReplicatedTable) -> ReplicatedTable:
    """Insert three rows into one partition of the table and thirty into another, as one part each."""
    table.fill(["2019-12-01"])
    table.fill(["2019-12-02"], rows=30)
    table.settle()
    return table


@dataclass(frozen=True)
class Ground:
    """A table on r1 and r2, filled by `filled`.

    mover: moves the table; its ``endpoints`` tell where a replica is asked that a scene adds.
    hosts: of hot and cold, each as host:port separated by commas.
    """

    table: ReplicatedTable
    mover: Mover
    registry: Registry
    hosts: tuple[str, str]

    def move(self, *partitions: str) -> None:
        """Move the partitions, or all that the table has; every one of them has to become cold."""
        wanted = partitions or tuple(sorted(self.table.active_parts()))
        report = self.mover.move(self.table, wanted)
        assert report.moved.keys() == set(wanted), report

    def reheat(self, partition: str) -> None:
        """Bring a partition back."""
        assert self.mover.reheat(self.table, [partition]).moved.keys() == {partition}

    def set_state(self, partition: str, state: bytes | None) -> None:
        """Write State by hand; None removes it."""
        self.registry.set_state(self.table, partition, state)

    def execute(self, statement: str, server: int = 0) -> None:
        """Run a statement with {} for the table; what it does to partitions is done on every replica."""
        self.table.servers[server].execute(
            statement.format(self.table.name), replication_alter_partitions_sync=2
        )

    def separate(
        self,
        *old: str,
        until: Step | None = None,
        after: int = 0,
        is_first: bool = True,
        batch: int = 500,
        deletes_children: bool = True,
    ) -> None:
        """Let the original tool take partitions to cold; see PartMovePort."""
        port = PartMovePort(*self.registry, batch=batch, deletes_children=deletes_children)
        port.run([self.table.path], old, until=until, after=after, is_first=is_first)

    def make_again(self) -> None:
        """Drop the table, and make another one at its path, with five rows in one partition."""
        for server in self.table.servers:
            server.execute(f"DROP TABLE {self.table.name}")
        self.table.create(WITHOUT_MERGES)
        self.table.fill(["2019-12-01"], rows=5)
        self.table.settle()

    def adopt(self) -> None:
        """Say in cold, by hand, that what is there belongs to the table of hot."""
        stat = self.registry.hot.exists(self.table.path)
        table = TableId(self._hot_id(), stat.czxid, stat.ctime)
        marker = ColdMarker(table, HotSide(self.table.path, DEFAULT_ROOT))
        self.registry.cold.set(self.table.path, marker.encode())

    def _hot_id(self) -> str:
        """Return the id of hot, which has one from now on."""
        hot, path = self.registry.hot, identity_path(DEFAULT_ROOT)
        if hot.exists(path) is None:
            hot.create(path, Identity.new().encode(), makepath=True)
        return str(json.loads(hot.get(path)[0])["id"])

    def probe(self) -> HttpReplicaProbe:
        """What asks the servers of the table."""
        return HttpReplicaProbe(ClickHouseOptions(endpoints=self.mover.endpoints_of(self.table)))

    def reader(self, disks: Disks | None = None, cold: ZnodeReader | None = None) -> EvidenceReader:
        """Reads the evidence of the table, by the clock of the mover; cold is another ensemble if given."""
        clock = FastClock(self.mover.seconds_ahead)
        cold = cold or self.mover.cold
        return EvidenceReader(self.mover.hot, cold, disks or self.probe(), clock, DEFAULT_ROOT)

    def audit(self, reader: EvidenceReader | None = None, *, compare_all: bool = False) -> ShardAudit:
        """Audit the table."""
        return audit_shard(reader or self.reader(), self.table.path, compare_all=compare_all)

    def dump(self) -> list[Mapping[str, object]]:
        """All of hot that an audit of the table could write to, and all of cold but tables of other tests."""
        below = [path for path in (self.table.path, DEFAULT_ROOT) if self.registry.hot.exists(path)]
        hot = [read_tree(self.registry.hot, path) for path in below]
        top, cold = self.table.path.split("/")[1], self.registry.cold
        others = {f"/{name}" for name in cold.get_children("/") if name.startswith("test-") and name != top}
        return [*hot, read_tree(cold, without=others)]


@dataclass(frozen=True)
class Scene:
    """A state of a table, made in the way that it comes about.

    make: brings about the state of a table all of which is registered in hot.
    kinds: all that an audit says then.
    definition: of the table.
    left: the kinds that are left after all repairs that a module makes; what is empty is sound then.
    is_repaired: whether its repair is shown at all.
    """

    make: Callable[[Ground], None]
    kinds: Kinds
    definition: Definition = WITHOUT_MERGES
    left: frozenset[FindingKind] = frozenset()
    is_repaired: bool = True

    def __str__(self) -> str:
        return self.make.__name__

    @property
    def worst_first(self) -> list[FindingKind]:
        """What an audit says of any partition of any replica."""
        told = {kind for of_replicas in self.kinds.values() for kind in of_replicas.values()}
        return sorted(told, key=lambda kind: kind.rank)


@dataclass(frozen=True)
class TellingDisks:
    """Asks servers that do not show what they have detached, and looks into their folders for it.

    So do servers from 19.17 on, by system.detached_parts.
    """

    table: ReplicatedTable
    disks: Disks = field(repr=False)

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """All parts of the replica now."""
        found = self.disks.parts(shard_path, replica, host)
        number = list(self.table.replicas).index(replica)
        return replace(found, detached=frozenset(self.table.detached(number)))


def judged(ground: Ground, *, is_silent: bool = False) -> Kinds:
    """What an audit says, which has to leave everything in both ensembles as it is.

    A server that has just started may still be busy with that, and is not judged then; with ``is_silent`` one
    of them is down, and stays so.
    """
    found: list[ShardAudit] = []

    def audit_writes_nothing() -> bool:
        before = ground.dump()
        found[:] = [ground.audit()]
        is_judged = not found[0].unjudged and all(
            row.verdict.kind is not FindingKind.NOT_JUDGED for row in found[0].rows
        )
        return ground.dump() == before and (is_judged or is_silent)

    # Where a server wrote something meanwhile, nobody can tell.
    wait_for(audit_writes_nothing)
    return kinds_of(found[0])


def kinds_of(audit: ShardAudit) -> dict[str, dict[str, FindingKind]]:
    """What an audit says of each partition of each replica; it has to have judged the table."""
    assert audit.unjudged == ""
    found: dict[str, dict[str, FindingKind]] = {}
    for row in audit.rows:
        found.setdefault(row.partition, {})[row.replica] = row.verdict.kind
    return found
