# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the evidence of an audit of twins: records, ledger, lock and bars in hot, and the tables of replicas.

Records and ledger are read before and after the servers. A partition whose record or entry changed in between
is marked, so that the state in the middle of a run is not reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...concurrent import map_concurrently
from ...errors import FormatError, NoSuchTable, PartMoveError
from ...lease.bars import Bar, parse_hold, path_of_bar
from ...lease.lease import path_of_lock
from ...tree.ports import Clock, ZnodeStore
from ...zip_strict import zip_strict
from ..ledger.blocks import read_hot_blocks
from ..ledger.compare import missing_of
from ..ledger.identity import known_uuids, read_births
from ..ledger.ledger import path_of_ledger, read_ledger
from ..ledger.servers import read_lost_facts
from ..move.record import Records
from ..move.servers import read_replicas
from ..move.tables import PartsOf, Side, TwinReplica, TwinTables
from .evidence import (
    LedgerRead,
    RecordZnode,
    ReplicaTables,
    TwinPartitionRead,
    TwinShardRead,
    TwinWitnesses,
    UnfinishedAlter,
)
from .kind import TwinKind
from .ledger_rules import judge_twin

_QUERY_BATCH = 500
"""How many partitions one query asks a server about, which bounds the size of queries."""


class TwinReader:
    """Reads the twins of shard paths."""

    def __init__(
        self, hot: ZnodeStore, servers: TwinWitnesses, clock: Clock, root: str, *, at_once: int = 1
    ) -> None:
        """``root``: the coordination root. ``at_once``: the number of servers to read concurrently."""
        self._hot = hot
        self._servers = servers
        self._clock = clock
        self._root = root
        self._at_once = at_once

    def wait(self, seconds: float) -> None:
        """Wait between two reads."""
        self._clock.sleep(seconds)

    def read(self, shard_path: str, partition_ids: Collection[str] | None = None) -> TwinShardRead:
        """Read a shard path: all its partitions, or the given ones.

        Raises NoSuchTable if hot has neither the table nor a record or ledger of it, and EnsembleError.
        """
        self._hot.sync("/")
        before, ledger = self._record_znodes(shard_path), self._ledger(shard_path)
        try:
            replicas = read_replicas(self._hot, shard_path)
        except NoSuchTable:
            if not before and ledger.ledger is None and not ledger.problem:
                raise
            return TwinShardRead(shard_path, (), {}, {}, before, ledger=ledger)
        pairs: list[ReplicaTables] = []
        silent: dict[str, str] = {}
        answers = map_concurrently(lambda each: self._pair(shard_path, each), replicas, self._at_once)
        for replica, answer in zip_strict(replicas, answers):
            if isinstance(answer, str):
                silent[replica.name] = answer
            else:
                pairs.append(answer)
        read = TwinShardRead(shard_path, pairs, silent, {}, before, ledger=ledger)
        read = self._with_identities(read)
        if read.tables is not None and not read.problem:
            read = self._with_partitions(read, read.tables, partition_ids)
        return self._with_bars(read)

    def _with_bars(self, read: TwinShardRead) -> TwinShardRead:
        """Return the read with the lock, the hold and the unfinished statement of the shard path.

        Raises FormatError for a hold that no run can read, because no run goes on there.
        """
        bars = [path_of_bar(self._root, each, read.shard_path) for each in (Bar.HOLD, Bar.ALTER)]
        hold, alter, lock = self._hot.read([*bars, path_of_lock(self._root, read.shard_path)])
        return read._replace(
            lock="" if lock is None else lock.data.decode(errors="replace"),
            hold=None if hold is None else parse_hold(hold),
            alter=None
            if alter is None
            else UnfinishedAlter(alter.path, alter.stat.ctime, is_in_progress=lock is not None),
        )

    def _pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables | str:
        try:
            return self._servers.pair(shard_path, replica)
        except PartMoveError as error:
            return str(error)

    def _ledger(self, shard_path: str) -> LedgerRead:
        path = path_of_ledger(self._root, shard_path)
        try:
            return LedgerRead(path, read_ledger(self._hot, self._root, shard_path))
        except FormatError as error:
            return LedgerRead(path, problem=str(error))

    def _with_identities(self, read: TwinShardRead) -> TwinShardRead:
        """Return the read with the UUIDs of the tables, if there is a ledger."""
        uuids = known_uuids(read.ledger.pair)
        if not uuids:
            return read
        try:
            identities = {
                each.replica.name: self._servers.identities(
                    each.replica, [table for table in (each.hot, each.cold) if table is not None], uuids
                )
                for each in read.pairs
            }
        except PartMoveError as error:
            return read._replace(problem=str(error))
        return self._with_births(read._replace(ledger=read.ledger._replace(identities=identities)))

    def _with_births(self, read: TwinShardRead) -> TwinShardRead:
        """Return the read with the births of the tables, if their UUIDs are not those of the ledger."""
        judged = judge_twin(read)
        if judged is None or judged[0] not in (TwinKind.TWIN_REPLACED, TwinKind.TABLE_REPLACED):
            return read
        tables = [
            TwinTables(each.replica, each.server, each.hot, each.cold) for each in read.pairs if each.cold
        ]
        try:
            births = read_births(self._hot, read.shard_path, self._servers, tables)
        except PartMoveError as error:
            return read._replace(problem=str(error))
        return read._replace(ledger=read.ledger._replace(births=births))

    def _record_znodes(self, shard_path: str) -> dict[str, RecordZnode]:
        """Map partition ids to the znodes at the paths of records, invalid records included."""
        records = Records(self._hot, self._root, shard_path)
        found = {}
        for each in records.partition_ids():
            path = records.path(each)
            try:
                stored = records.read([each]).get(each)
            except FormatError as error:
                found[each] = RecordZnode(path, None, str(error))
            else:
                if stored is not None:
                    found[each] = RecordZnode(path, stored.record)
        return found

    def _with_partitions(
        self, read: TwinShardRead, tables: Sequence[TwinTables], requested: Collection[str] | None
    ) -> TwinShardRead:
        """Return the read with its partitions, or with a problem if a server fails meanwhile."""
        try:
            ids = self._ids(read, tables) if requested is None else sorted({*requested} - {""})
            parts_by_replica = [dict(self._parts(each, ids)) for each in tables]
            inserted = self._servers.inserted(tables[0])
            read = self._with_lost(read, tables, parts_by_replica[0])
        except PartMoveError as error:
            return read._replace(problem=str(error))
        after, entries = self._record_znodes(read.shard_path), self._ledger(read.shard_path).entries
        partitions = {
            each: TwinPartitionRead(
                each,
                [parts[each] for parts in parts_by_replica],
                read.record_znodes.get(each),
                inserted.get(each, ()),
                (read.record_znodes.get(each), read.ledger.entries.get(each))
                != (after.get(each), entries.get(each)),
            )
            for each in ids
        }
        return read._replace(partitions=partitions)

    def _with_lost(
        self, read: TwinShardRead, tables: Sequence[TwinTables], parts: Mapping[str, PartsOf]
    ) -> TwinShardRead:
        """Return the read with more facts about the partitions of which the twin lacks something."""
        definition = tables[0].cold.definition
        lacking = [
            each
            for each, entry in read.ledger.entries.items()
            if each in parts and missing_of(entry, parts[each].cold, each, definition)
        ]
        if not lacking:
            return read
        blocks = read_hot_blocks(self._hot, read.shard_path, lacking)
        lost = read_lost_facts(self._servers, tables, lacking, blocks)
        return read._replace(ledger=read.ledger._replace(lost=lost))

    def _ids(self, read: TwinShardRead, tables: Sequence[TwinTables]) -> list[str]:
        """Return the ids of all partitions that a table, a record or the ledger has, sorted."""
        ids = {*read.record_znodes, *read.ledger.entries}
        for each in tables:
            for side in Side:
                ids.update(self._servers.partition_ids(each, side))
        return sorted(ids)

    def _parts(self, tables: TwinTables, ids: Sequence[str]) -> Iterator[tuple[str, PartsOf]]:
        for first in range(0, len(ids), _QUERY_BATCH):
            yield from self._servers.parts(tables, ids[first : first + _QUERY_BATCH]).items()
