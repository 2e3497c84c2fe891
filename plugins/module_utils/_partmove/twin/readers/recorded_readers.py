# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Readers of a shard path under its lease: the policies follow the records that are in hot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...gates.gate import Refusal
from ...lease.confirmation import confirm_lease
from ..move.known_pair import refuse_other_pair
from ..move.partition import TwinShard
from ..move.readers import ReadersSeen
from ..move.record import TwinRecord
from ..move.refusals import Refused
from ..move.tables import TwinTables
from .prepare import Prepared, ReadersOptions, prepare_readers
from .servers import ReaderServers
from .simulated_servers import SimulatedReaderServers


class OpenRecordedReaders:
    """Opens the port `Readers` for shard paths under their leases."""

    def __init__(self, servers: ReaderServers, options: ReadersOptions) -> None:
        self._servers = servers
        self._options = options

    def __call__(self, shard: TwinShard, *, has_records: bool, executed: list[str] | None) -> RecordedReaders:
        """Implement `OpenReaders`."""
        servers = self._servers if executed is None else SimulatedReaderServers(self._servers, executed)
        return RecordedReaders(servers, shard, self._options, has_records=has_records)


class RecordedReaders:
    """Implements the port `Readers` of a move. Every call reads all records of the shard path.

    has_records: whether a partition had a record before this run, so that policies may be left.
    """

    def __init__(
        self, servers: ReaderServers, shard: TwinShard, options: ReadersOptions, *, has_records: bool
    ) -> None:
        self._servers = servers
        self._shard = shard
        self._options = options
        self._has_records = has_records
        self._prepared: Prepared | None = None
        self._left = ""

    def before_attach(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """Hide what comes; return why the group must not attach."""
        del moving, going
        return self._follow(tables)

    def before_drop(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """Hide what goes; return why the group must not drop yet."""
        del moving, going
        return self._follow(tables)

    def before_repair(self, tables: Sequence[TwinTables]) -> Refusal | None:
        """Show everything of partitions under repair; return why the repair must not change the tables."""
        return self._follow(tables, showing=True)

    def before_removal(self, tables: Sequence[TwinTables], removed: Collection[str]) -> Refusal | None:
        """Hide nothing of these partitions any more. The policies are gone before the last record is."""
        if self._prepared is None and not self._has_records:
            return None  # Neither this run nor an earlier one has hidden anything.
        return self._follow(tables, wait=False, without=removed)

    def after(self, tables: Sequence[TwinTables], left: Mapping[str, TwinRecord]) -> None:
        """Hide what the remaining records demand, or nothing."""
        del left
        if self._prepared is None:
            return
        refusal = self._follow(tables, wait=False)
        self._left = "" if refusal is None else refusal.reason

    def seen(self) -> ReadersSeen:
        """Return what readers saw so far."""
        if self._prepared is None:
            return ReadersSeen()
        return ReadersSeen(self._prepared.tables, self._prepared.reason, self._left)

    def _follow(
        self,
        tables: Sequence[TwinTables],
        *,
        wait: bool = True,
        without: Collection[str] = (),
        showing: bool = False,
    ) -> Refusal | None:
        shard = self._shard
        if self._prepared is not None and self._prepared.readers.has_nothing_to_do:
            return None
        stored = shard.records.read(shard.records.partition_ids())
        confirm_lease(shard.hot, shard.lease, shard.shard_path)
        try:
            if self._prepared is None:
                self._prepared = prepare_readers(
                    self._servers, shard.clock, tables, self._options, has_records=self._has_records
                )
            records = {each: stored[each].record for each in stored if each not in without}
            # The policy of that twin is the one of the shard path, and what to hide there is unknown.
            other = refuse_other_pair(records, tables[0])
            if other is not None and not self._prepared.readers.has_nothing_to_do:
                return other
            if showing:
                self._prepared.readers.show(records)
            else:
                self._prepared.readers.follow(records, wait=wait)
        except Refused as refused:
            return refused.refusal
        return None
