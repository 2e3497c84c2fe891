# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run over the partitions of one shard path whose table has a cold twin, in either direction.

It finds the two tables on every replica that the hot ensemble knows, sorts out what can be told by looking
alone, takes the lease, and then lets `motion` take each partition on, one after the other, so that each is in
both tables for as short as possible. It only waits between partitions, while none of them is in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import FormatError, PartMoveError
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...journal.port import Journal
from ...lease.lease import Lease, LeaseKeeper
from ...run.batches import paced_batches
from ...run.pace import Pace, Unhurried
from ...run.under_lease import work_under_leases
from ...tree.ports import Clock, ZnodeStore
from .classify import TwinState, without_record
from .gates import GateInput, refuse_start, refuse_tables, refuse_uneven, servers_silent
from .merges import go_on_where_left
from .partition import TwinOptions, TwinShard
from .partition_move import PartitionMove
from .record import KeptRecord, Records
from .refusals import Refused, nowhere
from .report import MovedTwin, TwinReport
from .servers import PartsOf, Side, TwinServers, TwinTables, read_replicas

_GROUP = 50
"""How many partitions the servers are asked about at once, which bounds queries and memory."""


class TwinMoveContext(NamedTuple):
    """All that a run works with. ``dry`` is check mode: no statement is given, and nothing is written."""

    hot: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    servers: TwinServers
    pace: Pace = Unhurried()
    dry: bool = False


class TwinRun:
    """One run; what it finds out and does is in ``report``, also where it ends with an error."""

    def __init__(
        self, context: TwinMoveContext, destination: Side, options: TwinOptions, report: TwinReport
    ) -> None:
        self._context = context
        self._destination = destination
        self._options = options
        self._report = report
        self._records = Records(context.hot, context.leases.root, report.shard_path)
        self._tables: Sequence[TwinTables] = ()
        self._parts: dict[str, int] = {}
        """Partition id → how many parts the replicas had to be moved at the first look."""

    def carry_out(self, partition_ids: Sequence[str]) -> None:
        """Take each partition to one of its ends. Raises NoSuchTable, EnsembleError and kin.

        Where it raises, nothing is lost, and running again goes on.
        """
        wanted = sorted(set(partition_ids))
        self._context.pace.wait(0, self._context.clock)
        try:
            if self._find_tables(wanted):
                self._work(wanted)
        except FormatError as error:
            self._defer(wanted, Refusal(GateName.READABLE, error.message, error.remedy))

    def find(self) -> list[str]:
        """All partitions that are not at the destination alone, sorted.

        One server that tells them is enough, as replicas have the same; that the others tell nothing is then
        said of each by `carry_out`. Raises NoSuchTable, FormatError, and PartMoveError where none tells.
        """
        found = set(self._records.partition_ids())
        silent: list[PartMoveError] = []
        replicas = read_replicas(self._context.hot, self._report.shard_path)
        for replica in replicas:
            try:
                tables = self._context.servers.tables(self._report.shard_path, replica)
                found.update(self._context.servers.partition_ids(tables, self._destination.other))
            except FormatError:
                raise
            except PartMoveError as error:
                silent.append(error)
        if len(silent) == len(replicas):
            raise silent[0]
        return sorted(found)

    def _find_tables(self, wanted: Sequence[str]) -> bool:
        """Find the tables of every replica, as they must be; whether they are."""
        path = self._report.shard_path
        replicas = read_replicas(self._context.hot, path)
        try:
            self._tables = [self._context.servers.tables(path, each) for each in replicas]
        except FormatError:
            raise
        except PartMoveError as error:
            self._defer(wanted, servers_silent(error))
            return False
        refusal = refuse_tables(path, self._tables)
        if refusal is not None:
            self._defer(wanted, refusal)
        return refusal is None

    def _work(self, wanted: Sequence[str]) -> None:
        """Look at each group of partitions, and take on under the lease what is not where it shall be."""
        begun = self._records.read(self._records.partition_ids())
        stopped = [each for each, kept in begun.items() if kept.record.merges_stopped]
        self._parts.update({each: len(kept.record.parts) * len(self._tables) for each, kept in begun.items()})
        for group in _groups(wanted):
            try:
                self._look_first([each for each in group if each not in begun])
            except FormatError:
                raise
            except PartMoveError as error:
                self._defer(group, servers_silent(error))
        if self._context.dry:
            if stopped:
                self._report.merges_started = True
                self._report.statements.extend(f"SYSTEM START MERGES {each}" for each in self._both)
            for each in self._report.open(wanted):
                self._foretell(each, begun.get(each))
        elif self._report.open(wanted) or stopped:
            self._work_under_leases(wanted)

    @property
    def _both(self) -> list[str]:
        """The two tables, as people call them."""
        return [str(self._tables[0].on(side)) for side in Side]

    def _look_first(self, group: Sequence[str]) -> None:
        """Sort out what is at the destination, or in neither table, so that nothing is written for it."""
        looks = [self._context.servers.parts(tables, group) for tables in self._tables]
        source = self._destination.other
        for each in group:
            self._parts[each] = sum(len(look[each].on(source)) for look in looks)
            states = {without_record(look[each], self._destination) for look in looks}
            if states == {TwinState.AT_DESTINATION}:
                self._report.unchanged.add(each)
            elif states == {TwinState.NOWHERE}:
                self._report.deferred[each] = nowhere()

    def _foretell(self, partition_id: str, kept: KeptRecord | None) -> None:
        """Say in check mode what would be done of a partition."""
        servers, tables = self._context.servers, self._tables
        try:
            parts = [servers.parts(each, [partition_id])[partition_id] for each in tables]
            activity = [servers.activity(each, [partition_id]) for each in tables]
        except PartMoveError as error:
            self._report.deferred[partition_id] = servers_silent(error)
            return
        refusal = refuse_uneven(tables, parts)
        if refusal is None and kept is None:
            refusal = refuse_start(
                GateInput(partition_id, tables, parts, activity), self._destination, self._options.min_age
            )
        if refusal is not None:
            self._report.deferred[partition_id] = refusal
            return
        self._report.moved[partition_id] = self._foretold(partition_id, parts[0], kept)

    def _foretold(self, partition_id: str, there: PartsOf, kept: KeptRecord | None) -> MovedTwin:
        source = there.on(self._destination.other)
        names = sorted(kept.record.parts) if kept is not None else [part.name for part in source]
        side = self._destination if kept is None else kept.record.destination
        to, of = self._tables[0].on(side), self._tables[0].on(side.other)
        self._report.statements.append(f"ALTER TABLE {to} ATTACH PARTITION ID '{partition_id}' FROM {of}")
        self._report.statements.extend(f"ALTER TABLE {of} DROP PART '{name}'" for name in names)
        rows, size = sum(part.content.rows for part in source), sum(part.bytes_on_disk for part in source)
        return MovedTwin(partition_id, len(source), rows, size, (), None)

    def _work_under_leases(self, wanted: Sequence[str]) -> None:
        """Do what is open under a lease; defer what the last one leaves."""

        def work(lease: Lease) -> None:
            self._work_under_lease(self._under(lease), self._report.open(wanted))

        refusal = work_under_leases(self._context.leases, self._report.shard_path, work)
        if refusal is not None:
            self._defer(wanted, refusal)

    def _under(self, lease: Lease) -> TwinShard:
        context = self._context
        return TwinShard(
            self._report.shard_path,
            context.hot,
            context.clock,
            context.journal,
            context.servers,
            self._records,
            lease,
            self._tables,
            self._options,
        )

    def _work_under_lease(self, shard: TwinShard, partition_ids: Sequence[str]) -> None:
        records = self._records.read(self._records.partition_ids())
        try:
            self._report.merges_started |= go_on_where_left(shard, records)
        except Refused as refused:
            self._defer(partition_ids, refused.refusal)
            return
        pace = self._context.pace
        for group in _groups(partition_ids):
            for portion, parts in paced_batches(group, self._parts, pace.parts_at_once):
                pace.wait(parts, shard.clock)
                self._work_on_portion(shard, portion)

    def _work_on_portion(self, shard: TwinShard, partition_ids: Sequence[str]) -> None:
        records = self._records.read(partition_ids)
        try:
            activity = [shard.servers.activity(tables, partition_ids) for tables in shard.tables]
        except PartMoveError as error:
            self._defer(partition_ids, servers_silent(error))
            return
        for each in partition_ids:
            PartitionMove(shard, self._destination, each, self._report, records.get(each)).carry_out(activity)

    def _defer(self, wanted: Sequence[str], refusal: Refusal) -> None:
        self._report.deferred.update(dict.fromkeys(self._report.open(wanted), refusal))


def _groups(partition_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(partition_ids), _GROUP):
        yield partition_ids[first : first + _GROUP]
