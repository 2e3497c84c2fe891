# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs in a schedule: all that an audit finds, in order, as an operator or the guard does it."""

from __future__ import annotations

from typing import Union

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import Disks
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_order import (
    REPAIR_ORDER,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import read_pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    Backup,
    BackupHeader,
    PartitionLeft,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairContext,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore import (
    RestoreContext,
    restore,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore_report import (
    RestoreReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import (
    repair_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.saving import (
    SavedWrite,
    SavingStore,
)

Line = Union[SavedWrite, PartitionLeft]
_OPTIONS = RepairOptions(quiet=0.0, disks_are_mounted=True)


class Repairs:
    """Repairs of one table, and restores of what they saved."""

    def __init__(self, shard_path: str, disks: Disks) -> None:
        self._shard_path = shard_path
        self._disks = disks
        self._backups: list[Backup] = []

    def repair_all(self, context: MoveContext) -> str:
        """Audit the shard path, and repair each kind; returns what was told.

        Raises PartMoveError, and Died.
        """
        found = self.audit(context)
        kinds = {row.verdict.kind for row in found.rows}
        told = [found.unjudged] if found.unjudged else []
        told += [self.repair(context, kind) for kind in REPAIR_ORDER if kind in kinds]
        return "; ".join(told)

    def audit(self, context: MoveContext) -> ShardAudit:
        """Audit the shard path. Raises as `repair_all` does."""
        return audit_shard(self._context(context, []).evidence(), self._shard_path)

    def repair(self, context: MoveContext, kind: FindingKind) -> str:
        """Repair one kind, and keep the backup; returns what was told. Raises as `repair_all` does."""
        lines: list[Line] = []
        header = self._header(context, kind)
        try:
            report = repair_shard(self._context(context, lines), self._shard_path, kind, _OPTIONS)
        finally:
            if lines and header is not None:
                self._backups.append(Backup.of(header, tuple(lines)))
        repaired = sorted({row.partition for row in report.repaired})
        left = {each: why.reason for each, why in sorted(report.left.items())}
        return f"{kind.value}: repaired {repaired}, left {left}"

    def restore(self, context: MoveContext) -> str:
        """Restore the newest backup, after a repair if there is none. Raises as `repair_all` does."""
        if not self._backups:
            self.repair_all(context)
        if not self._backups:
            return "there is no backup"
        report = RestoreReport()
        backup = self._backups[-1]
        restore(
            RestoreContext(context.hot, context.cold, context.leases, self._disks, context.clock),
            backup,
            report,
        )
        return ", ".join(f"{row.action.value} {row.ensemble}: {row.path} {row.reason}" for row in report.rows)

    def _context(self, context: MoveContext, lines: list[Line]) -> RepairContext:
        hot, cold = (
            SavingStore(store, name, lines.extend, _nothing, [])
            for store, name in ((context.hot, "hot"), (context.cold, "cold"))
        )
        return RepairContext(
            hot,
            cold,
            context.clock,
            context.journal,
            context.leases,
            context.servers,
            self._disks,
            save_left=lines.extend,
        )

    def _header(self, context: MoveContext, kind: FindingKind) -> BackupHeader | None:
        """Return the header of a backup; None where hot does not have the table."""
        shard = context.hot.read([self._shard_path])[0]
        if shard is None:
            return None
        pair = read_pair(context.hot, context.cold, context.leases.root)
        time = "2026-11-22T00:00:00.000Z"
        stat = shard.stat
        return BackupHeader(
            time, self._shard_path, stat.czxid, kind.value, stat.ctime, pair.hot_id, pair.cold_id
        )


def _nothing(_what: object) -> None:
    pass
