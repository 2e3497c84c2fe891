# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of a table in memory, and restores of their backups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import read_pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    Backup,
    BackupHeader,
    Left,
    PartitionLeft,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore import (
    RestoreContext,
    restore,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore_report import (
    RestoreReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.moves import make_world
from support.memory.synthetic import MINIMALISTIC
from support.memory.trees import outside_leases

STATE = f"{PATH}/block_numbers/{DAY}/State"
COPIES = [f"{PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]
COLD_COPIES = [f"cold: {path}" for path in COPIES]
ALL = [*COLD_COPIES, f"hot: {STATE}"]
UNKNOWN_HASH = MINIMALISTIC[:-1] + b"\x23"


class Restores(Drifted):
    """A drifted table, and restores of the backup of its repairs.

    report: the result of the last restore.
    """

    def __init__(self) -> None:
        super().__init__()
        self.report = RestoreReport()
        self._disk: dict[str, set[str]] = {}

    @classmethod
    def of_lost_disks(
        cls, partitions: tuple[str, ...] = (DAY,), *, parts: int = 1, killed: bool = False
    ) -> Restores:
        """Return cold partitions that were taken for ghosts while the disks were not mounted.

        parts: the parts of each partition. killed: whether the repair ended before it set State.
        """
        restores = cls()
        bench = restores.bench
        bench.move(*partitions)
        for number in range(1, parts):
            for replica, names in bench.servers.disk.items():
                names.add(f"{DAY}_{number}_{number}_0")
                bench.cold.create(f"{PATH}/replicas/{replica}/parts/{DAY}_{number}_{number}_0", MINIMALISTIC)
        restores._disk = {replica: set(names) for replica, names in bench.servers.disk.items()}
        restores.disks_are_gone(*partitions)
        assert restores.repair(FindingKind.GHOST).left == {}
        if killed:
            restores.forget_partitions()
            restores.lines = [each for each in restores.lines if getattr(each, "path", "")[-5:] != "State"]
            state = f"{PATH}/block_numbers/{DAY}/State"
            bench.hot.set(state, b"COLD")
            version = bench.hot.get(state)[1].version
            restores.lines.append(SavedZnode("hot", state, b"COLD", version, Left(b"HOT", version + 1)))
        for replica, names in restores._disk.items():
            bench.servers.disk[replica].update(names)
        return restores

    def disks_are_gone(self, *partitions: str) -> None:
        """Unmount the disks of the partitions, DAY if none is named."""
        for names in self.bench.servers.disk.values():
            names.difference_update([each for each in names if each.split("_")[0] in (partitions or (DAY,))])

    def insert(self, *replicas: str) -> None:
        """Insert a part into DAY."""
        name = f"{DAY}_8_8_0"
        for replica in replicas:
            self.bench.hot.create(f"{PATH}/replicas/{replica}/parts/{name}", MINIMALISTIC)
            self.bench.servers.disk[replica].add(name)

    def make_copies_needed(self) -> None:
        """Let a server that is starting need the copies in cold, so that they are no finding."""
        self.bench.hot_ensemble.set_time(STATE, self.bench.clock.now())

    def forget_partitions(self) -> None:
        """Let the repair be killed before it wrote how it left the partitions."""
        self.lines = [each for each in self.lines if not isinstance(each, PartitionLeft)]

    def as_first_version(self) -> None:
        """Let the backup be of version 1."""
        self.lines = [each._replace(left=None) for each in self.saved]

    def restart(self) -> None:
        """End the session of the process, and connect anew without hooks."""
        other = self.bench.beside()
        self.bench.hot_store.expire()
        self.bench.cold_store.expire()
        self.bench = other

    def before_cold(self, act: Callable[[], object]) -> None:
        """Do something once, right before the first part is written to cold."""
        self.bench.before_copy(act)

    def before_state(self, act: Callable[[], object]) -> None:
        """Do something once, right before State is written."""
        left = [act]
        self.bench.hot_store.before = lambda multi: (
            left.pop()() if left and any(op.path.endswith("/State") for op in multi) else None
        )

    def after_state(self, act: Callable[[], object]) -> None:
        """Do something once, right after State was written."""
        left = [act]
        self.bench.hot_store.after = lambda multi: (
            left.pop()() if left and any(op.path.endswith("/State") for op in multi) else None
        )

    def trees(self) -> list[object]:
        """Return the content of both ensembles, without leases."""
        return [outside_leases(each.data()) for each in (self.bench.hot_ensemble, self.bench.cold_ensemble)]

    def backup(self, **header: Any) -> Backup:
        """Return the backup of the repairs so far; with other fields of the header, if they are given."""
        bench = self.bench
        pair = read_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT)
        first = BackupHeader("2026-11-22T00:00:00.000Z", PATH, 0, "ghost", 0, pair.hot_id, pair.cold_id)
        znode = bench.hot_store.read([PATH])[0]
        if znode is not None:
            first = first._replace(czxid=znode.stat.czxid, ctime=znode.stat.ctime)
        return Backup.of(first._replace(**header), self.lines)

    def restore(self, *, check_mode: bool = False, **header: Any) -> dict[str, list[str]]:
        """Restore the backup over members that lag behind, and return action → the znodes."""
        bench = self.bench
        hot: ZnodeStore = bench.hot_store
        cold: ZnodeStore = bench.cold_store
        if check_mode:
            hot, cold = OverlayStore(hot, bench.clock), OverlayStore(cold, bench.clock)
        with bench.behind():
            return self.restore_over(hot, cold, **header)

    def restore_over(self, hot: ZnodeStore, cold: ZnodeStore, **header: Any) -> dict[str, list[str]]:
        """Restore the backup by a process that has these sessions."""
        bench, backup = self.bench, self.backup(**header)
        leases = make_world(hot, cold, bench.clock, lock_wait=3.0).leases
        self.report = RestoreReport()
        restore(RestoreContext(hot, cold, leases, self.disks, bench.clock), backup, self.report)
        done: dict[str, list[str]] = {}
        for row in sorted(self.report.rows):
            done.setdefault(row.action.value, []).append(f"{row.ensemble}: {row.path}")
        return done

    @property
    def reasons(self) -> list[str]:
        """Why rows were left at the last restore."""
        return [row.reason for row in self.report.rows if row.reason]


def copies_differ() -> Restores:
    """A hot partition with a copy in cold that differs, repaired; no server shows a hash."""
    restores = Restores()
    restores.bench.move()
    restores.bench.reheat()
    restores.bench.clock.sleep(700)
    restores.bench.cold.set(COPIES[0], UNKNOWN_HASH)
    assert restores.repair(FindingKind.COPIES_DIFFER).left == {}
    return restores
