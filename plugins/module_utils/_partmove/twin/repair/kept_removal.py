# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deletes the parts that repairs kept in ``detached/``, once the operator says that nobody needs them."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from ...journal.events import Event
from ...lease.confirmation import confirm_lease
from ...lease.lease import (
    Lease,
)
from ...run.under_lease import work_under_leases
from ..move.servers import read_replicas
from ..move.tables import Side, TwinTables
from .context import TwinRepairContext
from .kept import KeptParts, StoredKept
from .leased import left_on_error
from .report import LeftAsIs, NotRepaired, RepairedTwin, TwinRepairReport
from .statements import DropDetached

KIND = "kept_parts"
"""The name of this repair, which is no finding of an audit."""


def remove_kept_parts(
    context: TwinRepairContext, shard_path: str, *, are_unneeded: bool, only: Collection[str] | None = None
) -> TwinRepairReport:
    """Delete the folders that repairs of the partitions have made in ``detached/``, on every replica.

    are_unneeded: the consent of the operator; without it each partition is left.

    Raises EnsembleError, LeaseLost and kin. A killed run leaves the list of kept parts, so the next run
    continues.
    """
    report = TwinRepairReport(shard_path)
    kept = KeptParts(context.hot, context.leases.root, shard_path)
    ids = [each for each in kept.partition_ids() if only is None or each in only]
    context.on_progress(len(ids), 0)
    for each in ids:
        refusal = work_under_leases(
            context.leases, shard_path, partial(_remove_leased, context, kept, report, each, are_unneeded)
        )
        if refusal is not None:
            report.left[each] = NotRepaired.by(refusal)
        context.on_progress(0, 1)
    return report


def _remove_leased(
    context: TwinRepairContext,
    kept: KeptParts,
    report: TwinRepairReport,
    partition_id: str,
    are_unneeded: bool,
    lease: Lease,
) -> None:
    try:
        stored = kept.read(partition_id)
        if stored is None:
            return
        with left_on_error():
            tables = _tables(context, report.shard_path)
            found = [_detached(context, each, partition_id, stored) for each in tables]
        if not are_unneeded:
            raise LeftAsIs(
                f"{sum(map(len, found))} kept parts are still in the detached folders of all replicas",
                "Once nobody needs their rows, run twin_repair with kept_parts_are_unneeded: true",
            )
        drops = [drop for of_one in found for drop in of_one]
        _delete(context, report, drops, lease)
        kept.remove(lease, partition_id, stored)
        names = {side: tuple(stored.parts[side]) for side in Side if stored.parts[side]}
        report.repaired[partition_id] = RepairedTwin(partition_id, "kept parts were deleted", {}, {}, names)
    except LeftAsIs as left:
        report.left[partition_id] = left.why


def _tables(context: TwinRepairContext, shard_path: str) -> list[TwinTables]:
    """Return the tables of every replica. Raises PartMoveError if one of them does not answer."""
    replicas = read_replicas(context.hot, shard_path)
    return [context.servers.tables(shard_path, each) for each in replicas]


def _detached(
    context: TwinRepairContext, tables: TwinTables, partition_id: str, stored: StoredKept
) -> list[DropDetached]:
    """Return the statements for the kept parts that the server has in ``detached/``."""
    folders = context.servers.detached(tables, partition_id)
    return [
        DropDetached(tables, side, name)
        for side in Side
        for name in stored.parts[side]
        if name in folders[side]
    ]


def _delete(
    context: TwinRepairContext, report: TwinRepairReport, drops: list[DropDetached], lease: Lease
) -> None:
    texts = [f"{each.sql} -- on {each.tables.server}" for each in drops]
    report.statements += texts
    if texts:
        context.journal.record(Event.WRITING, [{"shard_path": report.shard_path, "operations": texts}])
    if context.check_mode:
        return
    with left_on_error():
        for each in drops:
            confirm_lease(context.hot, lease, report.shard_path)
            context.servers.drop_detached(each)
