# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what an audit of twins judges by: the records and the lock in hot, and both tables on every replica.

The records are read before the servers are asked and again after, so that what a run does meanwhile is not
taken for what is so.
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

_GROUP = 500
"""How many partitions servers are asked about at once, which bounds queries."""


class TwinReader:
    """Reads shard paths of the hot ensemble."""

    def __init__(
        self, hot: ZnodeStore, servers: TwinWitnesses, clock: Clock, root: str, *, at_once: int = 1
    ) -> None:
        """``root`` is the coordination root; ``at_once`` servers are asked at the same time."""
        self._hot = hot
        self._servers = servers
        self._clock = clock
        self._root = root
        self._at_once = at_once

    def wait(self, seconds: float) -> None:
        """Let servers end what they are at work on."""
        self._clock.sleep(seconds)

    def read(self, shard_path: str, partition_ids: Collection[str] | None = None) -> TwinShardRead:
        """One look at a shard path, at all partitions or at these.

        Raises NoSuchTable where hot has neither such a table nor a record of it, EnsembleError and kin.
        """
        self._hot.sync("/")
        before = self._noted(shard_path)
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
        look = TwinShardRead(shard_path, pairs, silent, {}, before)
        if look.tables is not None:
            look = self._with_partitions(look, look.tables, partition_ids)
        (lock,) = self._hot.read([path_of_lock(self._root, shard_path)])
        return look._replace(lock="" if lock is None else lock.data.decode(errors="replace"))

    def _pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables | str:
        try:
            return self._servers.pair(shard_path, replica)
        except PartMoveError as error:
            return str(error)

    def _noted(self, shard_path: str) -> dict[str, RecordZnode]:
        """What is at the places of records, by partition id; also what is none."""
        records = Records(self._hot, self._root, shard_path)
        found = {}
        for each in records.partition_ids():
            path = records.path(each)
            try:
                kept = records.read([each]).get(each)
            except FormatError as error:
                found[each] = RecordZnode(path, None, str(error))
            else:
                if kept is not None:
                    found[each] = RecordZnode(path, kept.record)
        return found

    def _with_partitions(
        self, look: TwinShardRead, tables: Sequence[TwinTables], wanted: Collection[str] | None
    ) -> TwinShardRead:
        """The look with its partitions; with a problem where a server does not answer any more."""
        try:
            ids = self._ids(look, tables) if wanted is None else sorted({*wanted} - {""})
            found = [dict(self._parts(each, ids)) for each in tables]
            inserted = self._servers.inserted(tables[0])
        except PartMoveError as error:
            return look._replace(problem=str(error))
        after = self._noted(look.shard_path)
        partitions = {
            each: TwinPartitionRead(
                each,
                [parts[each] for parts in found],
                look.noted.get(each),
                inserted.get(each, ()),
                look.noted.get(each) != after.get(each),
            )
            for each in ids
        }
        return look._replace(partitions=partitions)

    def _ids(self, look: TwinShardRead, tables: Sequence[TwinTables]) -> list[str]:
        """Every partition that is anywhere, sorted."""
        ids = set(look.noted)
        for each in tables:
            for side in Side:
                ids.update(self._servers.partition_ids(each, side))
        return sorted(ids)

    def _parts(self, tables: TwinTables, ids: Sequence[str]) -> Iterator[tuple[str, PartsOf]]:
        for first in range(0, len(ids), _GROUP):
            yield from self._servers.parts(tables, ids[first : first + _GROUP]).items()
