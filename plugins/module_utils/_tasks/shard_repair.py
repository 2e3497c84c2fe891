# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One step of part_repair: one kind on one shard path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._partmove.formats.layout import ShardLayout
from .._partmove.patched.audit.kind import FindingKind
from .._partmove.patched.repair.backup import PartitionLeft
from .._partmove.patched.repair.run import RepairReport
from .._partmove.patched.repair.saving import SavedWrite
from .backup_file import BackupFile


class ShardRepair:
    """The repair of one kind on one shard path, with a backup file of its own.

    Implements what `SavingStore` and `RepairContext` call to save znodes before they change.
    """

    def __init__(self, shard_path: str, kind: FindingKind) -> None:
        self.kind = kind
        self.layout = ShardLayout(shard_path)
        self.backup: BackupFile | None = None
        self.report = RepairReport(self.layout.path)

    def save(self, writes: Sequence[SavedWrite]) -> None:
        """Save znodes before they are changed."""
        if self.backup is not None:
            self.backup.save(writes)

    def save_left(self, partitions: Sequence[PartitionLeft]) -> None:
        """Save how the repair leaves partitions."""
        if self.backup is not None:
            self.backup.save_left(partitions)

    def close(self) -> None:
        """Close the backup file."""
        if self.backup is not None:
            self.backup.close()

    def repaired(self) -> list[dict[str, Any]]:
        """Return the repaired findings, as the module returns them."""
        return [
            {
                "shard_path": row.shard_path,
                "partition": row.partition,
                "replica": row.replica,
                "kind": row.verdict.kind.value,
                "parts": list(row.verdict.parts),
            }
            for row in self.report.repaired
        ]

    def left(self) -> list[dict[str, str]]:
        """Return the partitions of the kind that were left, as the module returns them."""
        of_all = {"shard_path": self.layout.path, "kind": self.kind.value}
        return [
            {**of_all, "partition": each, "reason": why.reason, "remedy": why.remedy}
            for each, why in sorted(self.report.left.items())
        ]

    def step(self) -> dict[str, Any]:
        """Return what was done, as the module returns it."""
        return {"kind": self.kind.value, "shard_path": self.layout.path, **self.counts()}

    def counts(self) -> dict[str, int]:
        """Return the numbers of repaired and left partitions."""
        return {
            "repaired": len({row.partition for row in self.report.repaired}),
            "left": len(self.report.left),
        }
