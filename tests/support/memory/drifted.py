# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table in memory that drifted, what audits say of it, and repairs of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import audit_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    BackupHeader,
    BackupLine,
    PartitionLeft,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairContext,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import (
    RepairReport,
    repair_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.saving import (
    SavedWrite,
    SavingStore,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import Pace, UnlimitedPace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from support.memory.bench import DAY, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe

CONFIRMED = RepairOptions(disks_are_mounted=True)
"""The options of repairs, with what has to be confirmed about the disks."""


class Drifted:
    """A bench whose servers are asked.

    lines: what repairs wrote into the backup, in order. done: what they did, in words. announced: what they
    told before, a list a multi.
    """

    def __init__(self) -> None:
        self.bench = Bench()
        self.disks = SimulatedDisks(self.bench.servers)
        self.lines: list[BackupLine] = []
        self.done: list[str] = []
        self.announced: list[list[str]] = []
        self.pace: Pace = UnlimitedPace()

    @property
    def saved(self) -> list[SavedZnode]:
        """What repairs kept, in order."""
        return [each for each in self.lines if isinstance(each, SavedZnode)]

    def evidence(self) -> EvidenceReader:
        """What reads the evidence for audits."""
        bench = self.bench
        return EvidenceReader(bench.hot_store, bench.cold_store, self.disks, bench.clock, DEFAULT_ROOT)

    def kinds(self, partition: str = DAY) -> dict[str, FindingKind]:
        """What the partition is for each replica."""
        found = audit_shard(self.evidence(), PATH)
        assert not found.unjudged
        return {row.replica: row.verdict.kind for row in found.rows if row.partition == partition}

    def repair(
        self, kind: FindingKind, options: RepairOptions | None = None, only: Collection[str] | None = None
    ) -> RepairReport:
        """Repair the partitions of a kind."""
        bench = self.bench
        return self.repair_over(bench.hot_store, bench.cold_store, kind, options or CONFIRMED, only=only)

    def repair_over(
        self,
        hot: ZnodeStore,
        cold: ZnodeStore,
        kind: FindingKind,
        options: RepairOptions,
        only: Collection[str] | None = None,
    ) -> RepairReport:
        """Repair the partitions of a kind by a process that has these sessions."""
        return repair_shard(self.context(hot, cold), PATH, kind, options, only=only)

    def context(self, hot: ZnodeStore | None = None, cold: ZnodeStore | None = None) -> RepairContext:
        """What repairs work with; over other sessions than those of the bench, if they are given."""
        hot, cold, clock = hot or self.bench.hot_store, cold or self.bench.cold_store, self.bench.clock
        return RepairContext(
            SavingStore(hot, "hot", self._save, self._announce, self.done),
            SavingStore(cold, "cold", self._save, self._announce, self.done),
            clock,
            self.bench.context.journal,
            make_world(hot, cold, clock, lock_wait=3.0).leases,
            AskServers(SimulatedProbe(self.bench.servers)),
            self.disks,
            "/backups/one",
            self.pace,
            save_left=self._save_left,
        )

    def header(self, kind: FindingKind) -> BackupHeader:
        """The first line of a backup of a repair of the table."""
        return BackupHeader("2026-11-22T00:00:00.000Z", PATH, 1, kind.value)

    def _announce(self, multis: Sequence[Sequence[str]]) -> None:
        self.announced += [list(each) for each in multis]

    def _save(self, writes: Iterable[SavedWrite]) -> None:
        self.lines += writes

    def _save_left(self, partitions: Iterable[PartitionLeft]) -> None:
        self.lines += partitions
