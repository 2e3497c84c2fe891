# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run over the partitions of a shard path whose table has a cold twin, in either direction.

The run finds the two tables on every replica in hot, gives an outcome where reading is enough, and takes the
lease. Then it finishes the records of earlier runs, also of partitions that it was not asked for, and moves
the requested partitions in groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from ...errors import EnsembleError, FormatError, PartMoveError
from ...gates.gate import Refusal
from ...journal.port import Journal
from ...lease.held_lease import Leases
from ...lease.lease import Lease
from ...run.pace import Pace, UnlimitedPace
from ...run.shard_run import ShardRun
from ...tree.ports import Clock, ZnodeStore
from .classify import TwinState, classify_unrecorded
from .gates import refuse_tables, server_failed
from .group import Group
from .group_move import GroupMove
from .hot_znodes import count_hot_znodes
from .known_pair import refuse_other_pair
from .ledgers import Ledgers
from .merges import restart_merges_left_stopped
from .partition import TwinOptions, TwinShard
from .progress import Progress
from .readers import NoReaders, Readers
from .record import Records, StoredRecord
from .refusals import Refused, absent
from .report import TwinReport
from .servers import TakeSlots, TwinServers, read_replicas, without_slots
from .simulated_servers import SimulatedServers
from .tables import Side, TwinReplica, TwinTables

_QUERY_BATCH = 50
"""The most partitions of a group, and of a query to a server, which bounds queries, statements and memory."""


class OpenReaders(Protocol):
    """Opens the port to readers."""

    def __call__(self, shard: TwinShard, *, has_records: bool, executed: list[str] | None) -> Readers:
        """Return the port for a shard path under its lease.

        has_records: whether an earlier run has left records.
        executed: in check mode, the list to append statements to, instead of executing them.
        """


def without_readers(shard: TwinShard, *, has_records: bool, executed: list[str] | None) -> Readers:
    """Return a port that hides nothing."""
    del shard, has_records, executed
    return NoReaders()


class TwinMoveContext(NamedTuple):
    """The ports of a run. In check mode ``hot`` must be an overlay; the run itself simulates the servers.

    readers, ledgers: open the ports to readers and to the ledger for a shard path under its lease. Neither
    has a default: a caller that forgets the ledger would move partitions that no audit can find lost.
    slots: limits how many shard paths the run works on at a server at the same time.
    """

    hot: ZnodeStore
    clock: Clock
    journal: Journal
    leases: Leases
    servers: TwinServers
    readers: OpenReaders
    ledgers: Ledgers
    pace: Pace = UnlimitedPace()
    check_mode: bool = False
    slots: TakeSlots = without_slots


class TwinRun(ShardRun[TwinMoveContext, TwinReport]):
    """A run from a table to its twin, or back, by SQL."""

    def __init__(
        self, context: TwinMoveContext, destination: Side, options: TwinOptions, report: TwinReport
    ) -> None:
        if context.check_mode:
            servers = SimulatedServers(context.servers, report.statements)
            context = context._replace(servers=servers)
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
        with self._slots(replicas):
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

    def _slots(self, replicas: Sequence[TwinReplica]) -> AbstractContextManager[None]:
        return self._context.slots(self._report.shard_path, replicas, self._context.clock)

    def _read_first(self, requested: Sequence[str]) -> None:
        replicas = read_replicas(self._context.hot, self._report.shard_path)
        with self._slots(replicas):
            if self._find_tables(requested, replicas):
                self._read_parts(requested)

    def _read_parts(self, requested: Sequence[str]) -> None:
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

    def _find_tables(self, requested: Sequence[str], replicas: Sequence[TwinReplica]) -> bool:
        """Find both tables of every replica; return whether a move may use the tables, else defer."""
        path = self._report.shard_path
        try:
            self._tables = [self._context.servers.tables(path, each) for each in replicas]
        except FormatError:
            raise
        except PartMoveError as error:
            self._defer(requested, server_failed(error))
            return False
        refusal = refuse_tables(path, self._tables)
        if refusal is not None:
            self._defer(requested, refusal)
        return refusal is None

    def _defer(self, requested: Sequence[str], refusal: Refusal) -> None:
        """Defer the requested partitions, and leave the records of all others."""
        self._report.defer_open(requested, refusal)
        others = {*self._records.partition_ids()} - {*requested}
        self._report.unfinished.update(dict.fromkeys(sorted(others), refusal))

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
        # A killed run may have left records of any partition, and merges stopped.
        return super()._has_work(requested) or bool(self._recorded)

    def _work_under_lease(self, lease: Lease, partition_ids: Sequence[str]) -> None:
        try:
            shard = self._shard_under(lease)
        except (EnsembleError, FormatError):
            raise
        except PartMoveError as error:
            self._defer(partition_ids, server_failed(error))
            return
        executed = self._report.statements if self._context.check_mode else None
        # Under the lease: a run that was killed since the first read may have left a record and a policy.
        has_records = bool(self._records.partition_ids())
        readers = self._context.readers(shard, has_records=has_records, executed=executed)
        try:
            self._move(shard._replace(readers=readers), partition_ids)
        finally:
            self._report.readers = readers.seen()
        if not self._context.check_mode and (self._report.moved or self._report.finished):
            names = [each.replica.name for each in self._tables]
            self._report.hot_znodes = count_hot_znodes(self._context.hot, self._report.shard_path, names)

    def _move(self, shard: TwinShard, partition_ids: Sequence[str]) -> None:
        """Finish the records of earlier runs, and move the partitions in groups."""
        records = self._records.read(self._records.partition_ids())
        others = sorted(records.keys() - {*partition_ids, *self._report.unfinished})
        try:
            self._report.merges_started |= restart_merges_left_stopped(shard, records)
        except Refused as refused:
            self._report.defer_open(partition_ids, refused.refusal)
            self._report.unfinished.update(dict.fromkeys(others, refused.refusal))
            return
        found = {each: stored.record for each, stored in records.items()}
        refusal = refuse_other_pair(found, self._tables[0])
        if refusal is not None:
            # Before a record of these tables is written, which a run for the other twin could not end.
            self._report.defer_open([each for each in partition_ids if each not in records], refusal)
            partition_ids = [each for each in partition_ids if each in records]
        for finishing, ids in ((True, others), (False, partition_ids)):
            for query_batch in _query_batches(ids):
                # Outside of `_paced`, which takes a wait between its batches for slow work.
                with self._slots([each.replica for each in self._tables]):
                    for batch in self._paced(query_batch):
                        self._move_group(shard, batch, finishing=finishing)

    def _shard_under(self, lease: Lease) -> TwinShard:
        """Return what the groups share, with the ledger. Raises PartMoveError."""
        context, path = self._context, self._report.shard_path
        ledger = context.ledgers.open(context.hot, context.leases.root, path, self._tables)
        return TwinShard(
            path,
            context.hot,
            context.clock,
            context.journal,
            context.servers,
            self._records,
            lease,
            self._tables,
            self._options,
            ledger=ledger,
        )

    def _move_group(self, shard: TwinShard, partition_ids: Sequence[str], *, finishing: bool) -> None:
        records = self._records.read(partition_ids)
        members = [
            Progress(each, self._destination, records.get(each), finishing=finishing)
            for each in partition_ids
            if not finishing or each in records
        ]
        GroupMove(Group(shard, self._report, members)).carry_out()


def _query_batches(partition_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(partition_ids), _QUERY_BATCH):
        yield partition_ids[first : first + _QUERY_BATCH]
