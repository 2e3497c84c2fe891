# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restores the znodes deleted or changed by a repair, from its backup.

States of a partition: in the backup → restored whole, or left as it is with a reason. Under the lease, a
partition is restored only if all of these hold:

- State and the names of its parts are as the repair left them; without such a line in the backup, missing
  znodes may be created, and nothing that exists is set back;
- every znode of the backup is as the repair left it, or as before the repair;
- the parts in cold are those of this table (`binding.owner`);
- the gates for bringing back let it pass;
- the restored partition is consistent, judged over overlays with the answers of all servers.

The marker of the shard path and the record of the cold ensemble are never written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...binding.known_cold import known_cold_path
from ...binding.owner import Owner
from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...gates.judge import REHEAT_GATES, refuse_partitions
from ...lease.held_lease import Leases
from ...shard.facts import ShardFacts
from ...shard.reader import ShardRead, ShardReader
from ...tree.ports import Clock, ZnodeStore
from ...tree.znodes import Znode
from ...zip_strict import zip_strict
from ..audit.evidence import Disks
from ..parts.leased_shard import LeasedShard
from .backup import Backup, BackupHeader, Left, PartitionLeft, SavedZnode
from .case import NotRepaired
from .left import read_left
from .restore_report import RestoreReport
from .restore_rows import PartitionRows, Row, lefts_of, partition_of
from .restore_simulated import Simulation
from .restore_writer import RestoreWriter

_OWNER_ONLY = NotRepaired(
    "it says whose the parts in cold are, and a restore changes no owner",
    "To take a table over, or to give it away, use cold_owner",
)
_NO_PART = NotRepaired(
    "it is neither a part znode nor a State, and a server may not start with it", "Keep the backup"
)
_NOT_OURS = NotRepaired(
    "the cold ensemble does not have the shard path for this table",
    "Run part_audit_info, then part_repair with the kind that it reports",
)


class RestoreContext(NamedTuple):
    """The ensembles, the leases and the servers of a restore."""

    hot: ZnodeStore
    cold: ZnodeStore
    leases: Leases
    disks: Disks
    clock: Clock
    at_once: int = 1
    """Maximum number of servers to ask for their disks at the same time."""


def restore(context: RestoreContext, backup: Backup, report: RestoreReport) -> None:
    """Restore the partitions of a backup that have not changed since, conditional on the versions read.

    Raises PartMoveError if the backup is of another table or of other ensembles, BindingConflict if the table
    belongs to another cluster, NoSuchTable, LeaseHeld, LeaseLost, EnsembleError and kin. Running again
    continues.
    """
    layout = ShardLayout(backup.header.shard_path)
    originals = _first_of_each(layout, context.leases.root, backup.saved)
    lease = context.leases.acquire(layout.path)
    try:
        reader = ShardReader(context.hot, context.cold, layout, context.leases.root)
        leased = LeasedShard(context.hot, context.cold, reader, layout, lease)
        _restore(context, leased, backup, originals, report)
    finally:
        context.leases.release(lease)


def _restore(
    context: RestoreContext,
    leased: LeasedShard,
    backup: Backup,
    originals: Sequence[SavedZnode],
    report: RestoreReport,
) -> None:
    version = leased.shard().metadata.format_version
    of_partitions: dict[str, list[SavedZnode]] = {}
    others: list[SavedZnode] = []
    for each in originals:
        partition_id = partition_of(leased.layout, each.ensemble, each.path, version)
        if partition_id is None:
            others.append(each)
        else:
            of_partitions.setdefault(partition_id, []).append(each)
    read = leased.read(sorted(of_partitions))
    _refuse_other_table(read.shard, backup.header)
    for each in others:
        report.leave(each, _why_never(leased.layout, each))
    partitions = _compared(context, leased.layout, backup, of_partitions, version)
    pending = [each for each in partitions if each.pending]
    left = _refused(context, leased, read, pending)
    leased.confirm()
    for partition in partitions:
        why = left.get(partition.partition_id)
        if not partition.pending or why is not None:
            report.add(partition.rows, why)
    RestoreWriter(leased, read, report).write([each for each in pending if each.partition_id not in left])


def _first_of_each(layout: ShardLayout, root: str, saved: Sequence[SavedZnode]) -> list[SavedZnode]:
    """Return each znode as of before its first change, parents first.

    Raises PartMoveError for a path outside the shard path.
    """
    known = known_cold_path(root, layout.path)
    first: dict[tuple[str, str], SavedZnode] = {}
    for each in saved:
        if not (each.path in (layout.path, known) or each.path.startswith(f"{layout.path}/")):
            raise PartMoveError(
                f"The backup has {each.path}, which is not below {layout.path}",
                remedy="Give an unchanged file of part_repair",
            )
        first.setdefault((each.ensemble, each.path), each)
    return [first[key] for key in sorted(first)]


def _refuse_other_table(shard: ShardFacts, header: BackupHeader) -> None:
    path, binding = shard.layout.path, shard.binding
    if shard.czxid != header.czxid or (header.ctime and shard.ctime != header.ctime):
        raise PartMoveError(
            f"The table at {path} was created anew since the backup was written",
            remedy="Do not restore this backup: its znodes belong to the former table",
        )
    for name, of_backup, own in (
        ("hot", header.hot_id, binding.pair.hot_id),
        ("cold", header.cold_id, binding.pair.cold_id),
    ):
        if of_backup and of_backup != own:
            raise PartMoveError(
                f"The backup is of the {name} ensemble {of_backup}, and the given one is"
                f" {own or 'without an identity'}",
                remedy=f"Check the hosts and the chroot of {name}",
            )


def _why_never(layout: ShardLayout, saved: SavedZnode) -> NotRepaired:
    return _NO_PART if saved.path.startswith(f"{layout.path}/") else _OWNER_ONLY


def _compared(
    context: RestoreContext,
    layout: ShardLayout,
    backup: Backup,
    of_partitions: Mapping[str, Sequence[SavedZnode]],
    version: int,
) -> list[PartitionRows]:
    """Read the znodes of the backup, and compare them with its rows."""
    rows = [each for saved in of_partitions.values() for each in saved]
    saved_keys = {(each.ensemble, each.path) for each in rows}
    written = {(each.ensemble, each.path) for each in backup.written} - saved_keys
    now = _znodes(context, sorted(saved_keys | written))
    lefts = lefts_of([*backup.saved, *backup.written])
    created: dict[str, dict[str, tuple[Znode | None, Sequence[Left]]]] = {}
    for ensemble, path in sorted(written):
        partition_id = partition_of(layout, ensemble, path, version)
        if partition_id is not None:
            of_partition = created.setdefault(partition_id, {})
            of_partition[f"{ensemble}: {path}"] = now[ensemble, path], lefts[ensemble, path]
    # The last line of a partition counts: a repair may have several batches.
    ends = {each.partition: each for each in backup.partitions}
    return [
        PartitionRows(
            each,
            [Row(one, now[one.ensemble, one.path], lefts.get((one.ensemble, one.path), ())) for one in saved],
            created.get(each, {}),
            ends.get(each),
        )
        for each, saved in sorted(of_partitions.items())
    ]


def _znodes(context: RestoreContext, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Znode | None]:
    znodes: dict[tuple[str, str], Znode | None] = {}
    for name, store in (("hot", context.hot), ("cold", context.cold)):
        paths = [path for ensemble, path in keys if ensemble == name]
        read = store.read(paths) if paths else []
        znodes.update({(name, path): znode for path, znode in zip_strict(paths, read)})
    return znodes


def _refused(
    context: RestoreContext, leased: LeasedShard, read: ShardRead, pending: Sequence[PartitionRows]
) -> dict[str, NotRepaired]:
    """Return partition id → why the partition is left as it is."""
    ids = [each.partition_id for each in pending]
    now = {each.partition: each for each in read_left(context.hot, context.cold, leased.layout, ids)}
    facts = [read.partitions[each] for each in ids]
    gates = refuse_partitions(read.shard, facts, leased.taken_at, gates=REHEAT_GATES)
    refused: dict[str, NotRepaired] = {}
    for each in pending:
        gate = gates.get(each.partition_id)
        why = each.refusal(now.get(each.partition_id, PartitionLeft(each.partition_id, None, {}, {})))
        if why is None and each.of("cold") and read.shard.owner is not Owner.OURS:
            why = _NOT_OURS
        if why is None and gate is not None:
            why = NotRepaired(gate.reason, gate.remedy)
        if why is not None:
            refused[each.partition_id] = why
    passed = [each for each in pending if each.partition_id not in refused]
    if passed:
        simulation = Simulation(
            context.hot,
            context.cold,
            context.disks,
            context.clock,
            context.leases.root,
            at_once=context.at_once,
        )
        refused.update(simulation.refused(leased.layout, passed))
    return refused
