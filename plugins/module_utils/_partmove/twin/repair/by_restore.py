# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restores the znodes of twins that the auxiliary ensemble has lost, from the parts on the servers.

SYSTEM RESTORE REPLICA on the first replica creates the znodes and registers its parts there. Every further
replica takes the parts of the first one, and moves others to ``detached/``. So the statements are certain
only if all replicas have the same parts, and if these have everything that the ledger lists.

The parts get new block numbers, which the run enters in the ledger. Records would name other parts than the
twin has then, so a shard path with records is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...lease.lease import Lease
from ..audit.kind import TwinKind
from ..ledger.compare import missing_of
from ..move.gates import definition_problem, placement_problem
from ..move.tables import PartContent, PartsOf, Side, TwinTables
from .context import TwinRepairContext
from .leased import left_on_error
from .report import LeftAsIs, RepairedTwin, TwinRepairReport
from .shard import RepairShard
from .statements import ReplicaCommand

_MANUAL = "Manual action: see docs/twin/repair.md, not_ready"

_Contents = Mapping[str, Counter[PartContent]]
"""Partition id → the contents of its parts in the twin, whatever their names."""


def restore_replicas(context: TwinRepairContext, report: TwinRepairReport, lease: Lease) -> RepairedTwin:
    """Restore every replica of the twin that has lost its znodes. Raises LeftAsIs, EnsembleError and kin."""
    read = context.reader().read(report.shard_path, [])
    if read.tables is None:
        reasons = [*read.silent.values(), read.problem, "a replica has no twin"]
        raise LeftAsIs(next(filter(None, reasons)), TwinKind.NOT_READY.remedy)
    lost = [each for each in read.tables if each.cold.is_lost]
    _refuse_tables(report.shard_path, read.tables, lost)
    shard = context.open(lease, read.tables, report)
    with left_on_error():
        if shard.records.partition_ids():
            raise LeftAsIs("moves are recorded, whose parts would get other names", _MANUAL)
        ids = _partition_ids(shard)
        before = _same_on_all(shard, ids, lost[0])
        commands = [ReplicaCommand(each, what) for each in lost for what in ("RESTART", "RESTORE")]
        commands += [ReplicaCommand(each, "SYNC") for each in lost]
        shard.announce([f"{each.sql} -- on {each.tables.server}" for each in commands])
        if not shard.check_mode:
            for each in commands:
                shard.about_to_act()
                shard.servers.command(each)
            _enter(shard, ids, before)
    what = f"the znodes of the twin were restored from its parts on {len(lost)} replicas"
    return RepairedTwin("", what, {}, {}, {})


def _refuse_tables(shard_path: str, tables: Sequence[TwinTables], lost: Sequence[TwinTables]) -> None:
    """Raise LeftAsIs unless tables have lost their znodes, and nothing else is wrong with any table."""
    for each in tables:
        problem = (
            each.hot.problem
            or ("" if each.cold.is_lost else each.cold.problem)
            or placement_problem(shard_path, each, tables[0])
            or definition_problem(each, tables[0])
        )
        if problem:
            raise LeftAsIs(f"{each.server}: {problem}", TwinKind.NOT_READY.remedy)
    if not lost:
        raise LeftAsIs("no twin has lost its znodes", TwinKind.NOT_READY.remedy)


def _partition_ids(shard: RepairShard) -> list[str]:
    ids = {*shard.ledger.entries}
    for each in shard.tables:
        ids.update(shard.servers.partition_ids(each, Side.COLD))
    return sorted(ids)


def _same_on_all(shard: RepairShard, ids: Sequence[str], lost: TwinTables) -> _Contents:
    """Return the contents of the twin. Raises LeftAsIs if replicas differ, or lack what the ledger lists.

    lost: a replica whose parts still have the names of the ledger.
    """
    first: _Contents | None = None
    for each in shard.tables:
        parts = shard.servers.parts(each, ids)
        contents = _contents(parts)
        first = contents if first is None else first
        differing = sorted(one for one in ids if contents[one] != first[one])
        if differing:
            raise LeftAsIs(
                f"{shard.tables[0].server} and {each.server} have different parts of {differing[0]}", _MANUAL
            )
        if each == lost:
            _refuse_loss(shard, parts)
    return first or {}


def _refuse_loss(shard: RepairShard, parts: Mapping[str, PartsOf]) -> None:
    definition = shard.tables[0].cold.definition
    for each, entry in shard.ledger.entries.items():
        missing = missing_of(entry, parts[each].cold, each, definition)
        if missing:
            raise LeftAsIs(f"the twin lacks rows of {each} that the ledger lists: {missing}", _MANUAL)


def _enter(shard: RepairShard, ids: Sequence[str], before: _Contents) -> None:
    """Enter the new block numbers. Raises LeftAsIs unless every replica has the very parts of before."""
    reads = [shard.servers.parts(each, ids) for each in shard.tables]
    for tables, parts in zip(shard.tables, reads):
        after = _contents(parts)
        differing = sorted(one for one in ids if after[one] != before[one])
        if differing:
            raise LeftAsIs(
                f"{tables.server} has other parts of {differing[0]} than before; its parts are in detached/",
                "Run SYSTEM SYNC REPLICA on the replica, then twin_audit_info, and follow its remedy",
            )
    listed = {each: reads[0][each] for each in shard.ledger.entries if reads[0][each].cold}
    if listed:
        shard.records.commit(shard.lease, {}, shard.ledger.ops_of_whole(listed))
        shard.ledger.written()


def _contents(parts: Mapping[str, PartsOf]) -> _Contents:
    return {each: Counter(part.content for part in both.cold) for each, both in parts.items()}
