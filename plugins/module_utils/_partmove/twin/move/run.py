# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run over the partitions of a shard path whose table has a cold twin, in either direction.

The run finds the two tables on every replica in hot, gives an outcome where reading is enough, and takes the
lease. Then it moves one partition after the other, so that each is in both tables as briefly as possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...errors import FormatError, PartMoveError
from ...journal.port import Journal
from ...lease.lease import Lease, LeaseKeeper
from ...run.pace import Pace, UnlimitedPace
from ...run.shard_run import ShardRun
from ...tree.ports import Clock, ZnodeStore
from .classify import TwinState, classify_unrecorded
from .gates import refuse_tables, server_failed
from .merges import restart_merges_left_stopped
from .partition import TwinOptions, TwinShard
from .partition_move import PartitionMove
from .record import Records, StoredRecord
from .refusals import Refused, absent
from .report import TwinReport
from .servers import TwinServers, read_replicas
from .simulated_servers import SimulatedServers
from .tables import Side, TwinTables

_QUERY_BATCH = 50
"""How many partitions one query asks a server about, which bounds queries and memory."""


class TwinMoveContext(NamedTuple):
    """The ports of a run. In check mode ``hot`` must be an overlay; the run itself simulates the servers."""

    hot: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    servers: TwinServers
    pace: Pace = UnlimitedPace()
    check_mode: bool = False


class TwinRun(ShardRun[TwinMoveContext, TwinReport]):
    """A run from a table to its twin, or back, by SQL."""

    def __init__(
        self, context: TwinMoveContext, destination: Side, options: TwinOptions, report: TwinReport
    ) -> None:
        if context.check_mode:
            context = context._replace(servers=SimulatedServers(context.servers, report.statements))
        super().__init__(context, report)
        self._destination = destination
        self._options = options
        self._records = Records(context.hot, context.leases.root, report.shard_path)
        self._tables: Sequence[TwinTables] = ()
        self._recorded: Mapping[str, StoredRecord] = {}
        """Partition id → its record, as it was before the run took the lease."""

    def find(self) -> list[str]:
        """Return the partitions that are in the source or have a record, sorted.

        A single answering server is enough, because replicas have the same partitions; `carry_out` refuses
        each partition if another server is silent. Raises NoSuchTable, FormatError, and PartMoveError if no
        server answers.
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

    def _close_report(self) -> None:
        if self._context.check_mode:
            # No row was in both tables.
            self._report.moved = {
                each: moved._replace(seen_twice_seconds=None) for each, moved in self._report.moved.items()
            }

    def _read_first(self, requested: Sequence[str]) -> None:
        if not self._find_tables(requested):
            return
        self._recorded = self._records.read(self._records.partition_ids())
        replicas = len(self._tables)
        self._parts.update(
            {each: len(stored.record.parts) * replicas for each, stored in self._recorded.items()}
        )
        for batch in _query_batches(requested):
            try:
                self._decide_unrecorded([each for each in batch if each not in self._recorded])
            except FormatError:
                raise
            except PartMoveError as error:
                self._report.defer_open(batch, server_failed(error))

    def _find_tables(self, requested: Sequence[str]) -> bool:
        """Find both tables of every replica; return whether a move may use the tables, else defer."""
        path = self._report.shard_path
        replicas = read_replicas(self._context.hot, path)
        try:
            self._tables = [self._context.servers.tables(path, each) for each in replicas]
        except FormatError:
            raise
        except PartMoveError as error:
            self._report.defer_open(requested, server_failed(error))
            return False
        refusal = refuse_tables(path, self._tables)
        if refusal is not None:
            self._report.defer_open(requested, refusal)
        return refusal is None

    def _decide_unrecorded(self, partition_ids: Sequence[str]) -> None:
        """Give an outcome to partitions that are at the destination, or in neither table."""
        reads = [self._context.servers.parts(tables, partition_ids) for tables in self._tables]
        source = self._destination.other
        for each in partition_ids:
            self._parts[each] = sum(len(read[each].on(source)) for read in reads)
            states = {classify_unrecorded(read[each], self._destination) for read in reads}
            if states == {TwinState.AT_DESTINATION}:
                self._report.unchanged.add(each)
            elif states == {TwinState.ABSENT}:
                self._report.deferred[each] = absent()

    def _has_work(self, requested: Sequence[str]) -> bool:
        # A killed run may have left merges stopped, whatever partitions this run is asked for.
        return super()._has_work(requested) or any(
            stored.record.merges_stopped for stored in self._recorded.values()
        )

    def _work_under_lease(self, lease: Lease, partition_ids: Sequence[str]) -> None:
        shard = self._shard_under(lease)
        records = self._records.read(self._records.partition_ids())
        try:
            self._report.merges_started |= restart_merges_left_stopped(shard, records)
        except Refused as refused:
            self._report.defer_open(partition_ids, refused.refusal)
            return
        for query_batch in _query_batches(partition_ids):
            for batch in self._paced(query_batch):
                self._work_on_batch(shard, batch)

    def _shard_under(self, lease: Lease) -> TwinShard:
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

    def _work_on_batch(self, shard: TwinShard, partition_ids: Sequence[str]) -> None:
        records = self._records.read(partition_ids)
        try:
            activity = [shard.servers.activity(tables, partition_ids) for tables in shard.tables]
        except PartMoveError as error:
            self._report.defer_open(partition_ids, server_failed(error))
            return
        for each in partition_ids:
            PartitionMove(shard, self._destination, each, self._report, records.get(each)).carry_out(activity)


def _query_batches(partition_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(partition_ids), _QUERY_BATCH):
        yield partition_ids[first : first + _QUERY_BATCH]
