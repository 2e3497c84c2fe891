# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence of an audit of twins: both tables of each replica, their parts, and the records in hot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..move.record import TwinRecord
from ..move.tables import PartsOf, Side, TwinReplica, TwinTable, TwinTables


class ReplicaTables(NamedTuple):
    """The tables of a replica."""

    replica: TwinReplica
    server: str
    """Name of the server, for people."""
    hot: TwinTable
    cold: TwinTable | None
    """None if the server has no table with the name of the twin."""
    is_exchanged: bool = False
    """Whether the names are exchanged: the table in the auxiliary ensemble has the name of the table."""


class TwinWitnesses(Protocol):
    """Reads from the servers of replicas, and changes nothing. Raises PartMoveError on a failure."""

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """Return the hot table of the replica, and its twin if the replica has one."""

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Return the parts of each partition in both tables, read by one query."""

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """Return the ids of all partitions with active parts in the table."""

    def inserted(self, tables: TwinTables) -> Mapping[str, Collection[str]]:
        """Map partition ids to names of twin parts that an INSERT wrote, as far as the server knows."""


class RecordZnode(NamedTuple):
    """The znode of a record."""

    path: str
    record: TwinRecord | None
    problem: str = ""
    """Why the znode is no valid record; empty if it is one."""


class TwinPartitionRead(NamedTuple):
    """The parts and the record of a partition."""

    partition_id: str
    parts: Sequence[PartsOf]
    """Parts of each replica, in the order of the tables."""
    record_znode: RecordZnode | None
    """The znode of its record; None without a record."""
    inserted: Collection[str] = ()
    """Names of twin parts that an INSERT wrote. The parts may have been dropped or merged since."""
    changed: bool = False
    """Whether the record was created, replaced or removed while the servers were read."""


class TwinShardRead(NamedTuple):
    """The results of a single read of a shard path.

    pairs: the tables of the replicas whose server answered, sorted by the name of the replica.
    silent: replica → why its server failed.
    partitions: partition id → its parts; empty unless every replica has both tables.
    record_znodes: partition id → znode of its record, also if no server was read.
    problem: why partitions could not be read, if a server failed meanwhile; else empty.
    lock: holder of the lock of the shard path; empty without a holder.
    """

    shard_path: str
    pairs: Sequence[ReplicaTables]
    silent: Mapping[str, str]
    partitions: Mapping[str, TwinPartitionRead]
    record_znodes: Mapping[str, RecordZnode]
    problem: str = ""
    lock: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether hot has no table at the shard path any more."""
        return not self.pairs and not self.silent

    @property
    def tables(self) -> Sequence[TwinTables] | None:
        """The tables of all replicas; None unless every replica is known to have both tables."""
        tables = [
            TwinTables(each.replica, each.server, each.hot, each.cold) for each in self.pairs if each.cold
        ]
        return tables if tables and len(tables) == len(self.pairs) and not self.silent else None
