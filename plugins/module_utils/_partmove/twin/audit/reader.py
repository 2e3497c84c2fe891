# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the evidence of an audit of twins: the records and the lock in hot, and both tables of every replica.

The records are read before and after the servers. A partition whose record changed in between is marked, so
that the state in the middle of a run is not reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ...concurrent import map_concurrently
from ...errors import FormatError, NoSuchTable, PartMoveError
from ...lease.lease import path_of_lock
from ...tree.ports import Clock, ZnodeStore
from ...zip_strict import zip_strict
from ..move.record import Records
from ..move.servers import read_replicas
from ..move.tables import PartsOf, Side, TwinReplica, TwinTables
from .evidence import RecordZnode, ReplicaTables, TwinPartitionRead, TwinShardRead, TwinWitnesses

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

        Raises NoSuchTable if hot has neither the table nor a record of it, and EnsembleError.
        """
        self._hot.sync("/")
        before = self._record_znodes(shard_path)
        try:
            replicas = read_replicas(self._hot, shard_path)
        except NoSuchTable:
            if not before:
                raise
            return TwinShardRead(shard_path, (), {}, {}, before)
        pairs: list[ReplicaTables] = []
        silent: dict[str, str] = {}
        answers = map_concurrently(lambda each: self._pair(shard_path, each), replicas, self._at_once)
        for replica, answer in zip_strict(replicas, answers):
            if isinstance(answer, str):
                silent[replica.name] = answer
            else:
                pairs.append(answer)
        read = TwinShardRead(shard_path, pairs, silent, {}, before)
        if read.tables is not None:
            read = self._with_partitions(read, read.tables, partition_ids)
        (lock,) = self._hot.read([path_of_lock(self._root, shard_path)])
        return read._replace(lock="" if lock is None else lock.data.decode(errors="replace"))

    def _pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables | str:
        try:
            return self._servers.pair(shard_path, replica)
        except PartMoveError as error:
            return str(error)

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
        except PartMoveError as error:
            return read._replace(problem=str(error))
        after = self._record_znodes(read.shard_path)
        partitions = {
            each: TwinPartitionRead(
                each,
                [parts[each] for parts in parts_by_replica],
                read.record_znodes.get(each),
                inserted.get(each, ()),
                read.record_znodes.get(each) != after.get(each),
            )
            for each in ids
        }
        return read._replace(partitions=partitions)

    def _ids(self, read: TwinShardRead, tables: Sequence[TwinTables]) -> list[str]:
        """Return the ids of all partitions that a table or a record has, sorted."""
        ids = set(read.record_znodes)
        for each in tables:
            for side in Side:
                ids.update(self._servers.partition_ids(each, side))
        return sorted(ids)

    def _parts(self, tables: TwinTables, ids: Sequence[str]) -> Iterator[tuple[str, PartsOf]]:
        for first in range(0, len(ids), _QUERY_BATCH):
            yield from self._servers.parts(tables, ids[first : first + _QUERY_BATCH]).items()
