# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waits, after an exchange of names, until all inserts that began before have ended on every server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..move.run import TwinMoveContext
from ..move.tables import Side
from .exchange_record import ExchangeRecord, ExchangeRecords, ReplicaExchange
from .older_inserts import OlderInserts
from .pair import PairServers, TablePair

_LOOK_AGAIN_SECONDS = 0.5


class ExchangeWatch:
    """Knows which inserts of a shard path are older than its exchange. ``desired``: the side of the name."""

    def __init__(
        self, context: TwinMoveContext, servers: PairServers, shard_path: str, desired: Side
    ) -> None:
        self._context = context
        self._servers = servers
        self._path = shard_path
        self.records = ExchangeRecords(context.hot, context.leases.root, shard_path, desired)

    def settle(self, pairs: Sequence[TablePair], wait_seconds: float) -> Mapping[str, Sequence[str]]:
        """Wait for older inserts; return those that remain on each replica, for people.

        Every replica must have the name at its desired place.
        """
        record = self._with_moments(pairs)
        waiting = {
            pair: OlderInserts() for pair in pairs if not record.replicas[pair.replica.name].is_settled
        }
        settled: dict[TablePair, ReplicaExchange] = {}
        end = self._context.clock.now() + wait_seconds
        while True:
            for pair, older in list(waiting.items()):
                exchange = record.replicas[pair.replica.name]
                if self._is_over(pair, exchange, older):
                    settled[pair] = exchange
                    del waiting[pair]
            if not waiting or self._context.check_mode or self._context.clock.now() >= end:
                break
            self._context.clock.sleep(_LOOK_AGAIN_SECONDS)
        self._remember({pair.replica.name: exchange for pair, exchange in settled.items()})
        return {pair.replica.name: waiting[pair].remaining if pair in waiting else () for pair in pairs}

    def _is_over(self, pair: TablePair, exchange: ReplicaExchange, older: OlderInserts) -> bool:
        if self._servers.moment(pair).uptime < exchange.moment.uptime:
            # The server was started again, which ended all statements.
            return True
        return older.observe(self._servers.inserts_in_progress(pair, exchange.moment))

    def _with_moments(self, pairs: Sequence[TablePair]) -> ExchangeRecord:
        """Return the record with a moment for each replica, and write it if it lacks one."""
        record = self.records.read()
        lacking = [pair for pair in pairs if pair.replica.name not in record.replicas]
        if not lacking:
            return record
        moments = {pair.replica.name: self._servers.moment(pair) for pair in lacking}

        def add(stored: ExchangeRecord) -> ExchangeRecord:
            for name, moment in moments.items():
                if name not in stored.replicas:
                    stored = stored.having(name, ReplicaExchange(moment, is_settled=False))
            return stored

        return self._update(add)

    def _remember(self, settled: Mapping[str, ReplicaExchange]) -> None:
        if not settled:
            return

        def settle(stored: ExchangeRecord) -> ExchangeRecord:
            for name, exchange in settled.items():
                # Another run may have exchanged the names again meanwhile.
                if stored.replicas.get(name) == exchange:
                    stored = stored.having(name, exchange._replace(is_settled=True))
            return stored

        self._update(settle)

    def _update(self, change: Callable[[ExchangeRecord], ExchangeRecord]) -> ExchangeRecord:
        lease = self._context.leases.acquire(self._path)
        try:
            return self.records.update(lease, change)
        finally:
            self._context.leases.release(lease)
