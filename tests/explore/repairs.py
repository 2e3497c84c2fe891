# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs in a schedule: all that an audit finds, in order, as an operator or the guard does it."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import audit_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import Disks
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_order import (
    REPAIR_ORDER,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    RepairContext,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import (
    repair_shard,
)

_OPTIONS = RepairOptions(quiet=0.0)


def repair_all(context: MoveContext, disks: Disks, shard_path: str) -> str:
    """Audit the shard path, and repair each kind; returns what was told. Raises PartMoveError, and Died."""
    repairs = RepairContext(
        context.hot,
        context.cold,
        context.clock,
        context.journal,
        context.leases,
        context.servers,
        disks,
    )
    found = audit_shard(repairs.evidence(), shard_path)
    kinds = {row.verdict.kind for row in found.rows}
    told = [found.unjudged] if found.unjudged else []
    for kind in (each for each in REPAIR_ORDER if each in kinds):
        report = repair_shard(repairs, shard_path, kind, _OPTIONS)
        repaired = sorted({row.partition for row in report.repaired})
        left = {each: why.reason for each, why in sorted(report.left.items())}
        told.append(f"{kind.value}: repaired {repaired}, left {left}")
    return "; ".join(told)
