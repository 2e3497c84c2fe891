# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_move: move partitions between tables and their cold twins, by SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._clickhouse.ledger_servers import HttpLedgerServers
from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.reader_servers import HttpReaderServers
from .._clickhouse.replica_search import HttpReplicaSearch
from .._clickhouse.server_slots import ServerSlots
from .._clickhouse.versions import require_auxiliary_tables
from .._partmove.journal.port import Journal
from .._partmove.run.pace import Pace
from .._partmove.text import parse_duration
from .._partmove.tree.ports import Clock, ZnodeStore
from .._partmove.twin.ledger.moves import MoveLedgers
from .._partmove.twin.move.ledgers import Ledgers, NoLedgers
from .._partmove.twin.move.partition import TwinOptions
from .._partmove.twin.move.record import Records, recorded_shard_paths
from .._partmove.twin.move.report import TwinReport
from .._partmove.twin.move.run import OpenReaders, TwinMoveContext, TwinRun, without_readers
from .._partmove.twin.move.servers import TakeSlots, TwinServers, without_slots
from .._partmove.twin.move.tables import Side
from .._partmove.twin.readers.prepare import ReadersOption, ReadersOptions
from .._partmove.twin.readers.recorded_readers import OpenRecordedReaders
from .askable_servers import ReplicaSearch
from .move_run import MoveRun
from .resources import SERVERS_AT_ONCE, Resources, servers_as_result
from .twin_move_result import TwinTally


class TwinMove(MoveRun[TwinMoveContext, TwinReport, TwinTally]):
    """Implements Task for twin_move. Only the servers have sessions with the auxiliary ensemble."""

    module = "twin_move"
    ensembles = ("hot",)

    def __init__(self, params: Mapping[str, Any], servers: TwinServers | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values.

        servers: used instead of the servers that the options name.
        """
        real = HttpLedgerServers(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._clients = real.clients if servers is None else None
        self._ledgers: Ledgers = MoveLedgers(real) if servers is None else NoLedgers()
        self._servers = servers or real
        limit = float(parse_duration(params["readers_wait"], "readers_wait"))
        readers = ReadersOptions(ReadersOption(params["readers"]), limit)
        self._readers: OpenReaders = without_readers
        if servers is None:
            self._readers = OpenRecordedReaders(HttpReaderServers(real.clients), readers)
        min_age = float(parse_duration(params["min_age"], "min_age"))
        self._options = TwinOptions(min_age, params["stop_merges"], params["checksums"])
        self._slots: TakeSlots = without_slots
        super().__init__(params, TwinTally)
        self._destination = Side.COLD if self._to_cold else Side.HOT

    def result(self) -> dict[str, Any]:
        """Return the result of the module so far."""
        servers = [] if self._clients is None else servers_as_result(self._clients)
        return {**super().result(), "servers": servers}

    def _search(self) -> ReplicaSearch | None:
        if self._clients is None:
            return None
        return HttpReplicaSearch(self._clients.unverified, SERVERS_AT_ONCE, require_auxiliary_tables)

    def _open(self, resources: Resources) -> Sequence[ZnodeStore]:
        if self._clients is not None and self._pace.latency_target:
            slots = ServerSlots(self._clients.unverified, self._pace.latency_target)
            resources.close_at_end(slots)
            self._slots = slots.taken
        return [resources.open_ensemble("hot")]

    def _context(
        self, journal: Journal, pace: Pace, stores: Sequence[ZnodeStore], clock: Clock
    ) -> TwinMoveContext:
        (hot,) = stores
        keeper = self._locks.keeper(self.module, hot, None, clock)
        ports = (self._readers, self._ledgers, pace, self._check_mode, self._slots)
        return TwinMoveContext(hot, clock, journal, keeper, self._servers, *ports)

    def _with_journal(self, context: TwinMoveContext, journal: Journal) -> TwinMoveContext:
        return context._replace(journal=journal)

    def _new_report(self, shard_path: str) -> TwinReport:
        return TwinReport(shard_path)

    def _find(self, context: TwinMoveContext, shard_path: str) -> list[str]:
        return TwinRun(context, self._destination, self._options, TwinReport(shard_path)).find()

    def _further_shard_paths(self, hot: ZnodeStore) -> Sequence[str]:
        """Return the shard paths of the plan that have records of earlier runs, and nothing to move."""
        shard_paths, _partitions = self._work.scope()
        idle = {*self._work.tables()} - {*shard_paths}
        root = self._locks.root
        recorded = [each for each in recorded_shard_paths(hot, root) if each in idle]
        return [each for each in recorded if Records(hot, root, each).partition_ids()]

    def _move(
        self, context: TwinMoveContext, partitions: Sequence[str], report: TwinReport, shared: Any
    ) -> None:
        TwinRun(context, self._destination, self._options, report).carry_out(partitions)
