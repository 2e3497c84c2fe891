# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence of an audit of twins: both tables of each replica, their parts, and the records in hot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ...lease.bars import Hold
from ..ledger.entry import LedgerEntry, TwinPair
from ..ledger.identity import UNKNOWN_BIRTHS, Births
from ..ledger.ledger import TwinLedger
from ..ledger.servers import Identities, LedgerServers, LostFacts
from ..move.record import TwinRecord
from ..move.tables import PartsOf, TwinReplica, TwinTable, TwinTables


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
    policies: tuple[str, ...] = ()
    """Statements that remove row policies of moves from reading tables, as far as the user may see these."""


class TwinWitnesses(LedgerServers, Protocol):
    """Reads from the servers of replicas, and changes nothing. Raises PartMoveError on a failure."""

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """Return the hot table of the replica, and its twin if the replica has one."""

    def inserted(self, tables: TwinTables) -> Mapping[str, Collection[str]]:
        """Map partition ids to names of twin parts that an INSERT wrote, as far as the server knows."""


class RecordZnode(NamedTuple):
    """The znode of a record."""

    path: str
    record: TwinRecord | None
    problem: str = ""
    """Why the znode is no valid record; empty if it is one."""


class LedgerRead(NamedTuple):
    """The ledger of a shard path, and what was read to compare it."""

    path: str
    """Path of its head, whether or not there is a ledger."""
    ledger: TwinLedger | None = None
    """None without a ledger, or if it is unreadable."""
    problem: str = ""
    """Why the ledger is unreadable; empty if it is not."""
    identities: Identities = MappingProxyType({})
    """Replica → the UUIDs of its tables; of the replicas whose server answered."""
    births: Births = UNKNOWN_BIRTHS
    """When the znodes of the tables were created; only read if the UUIDs are others than those of then."""
    lost: LostFacts | None = None
    """None if the twin has everything that the ledger lists."""

    @property
    def pair(self) -> TwinPair | None:
        """The tables of the ledger; None without entries."""
        return None if self.ledger is None else self.ledger.pair

    @property
    def entries(self) -> Mapping[str, LedgerEntry]:
        """Partition id → entry."""
        return {} if self.ledger is None else self.ledger.entries


class UnfinishedAlter(NamedTuple):
    """The record of a statement of twin_alter."""

    path: str
    """Path of its znode."""
    began: int
    """When the znode was created, in milliseconds since 1970 by the clock of hot."""
    is_in_progress: bool
    """Whether a run holds the lock of the shard path, which may be the one of the statement."""


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
    """Whether the record or the entry of the ledger changed while the servers were read."""


class TwinShardRead(NamedTuple):
    """The results of a single read of a shard path.

    pairs: the tables of the replicas whose server answered, sorted by the name of the replica.
    silent: replica → why its server failed.
    partitions: partition id → its parts; empty unless every replica has both tables.
    record_znodes: partition id → znode of its record, also if no server was read.
    problem: why partitions could not be read, if a server failed meanwhile; else empty.
    lock: holder of the lock of the shard path; empty without a holder.
    ledger: the ledger of the twin.
    hold, alter: what keeps runs from the shard path; None for nothing.
    """

    shard_path: str
    pairs: Sequence[ReplicaTables]
    silent: Mapping[str, str]
    partitions: Mapping[str, TwinPartitionRead]
    record_znodes: Mapping[str, RecordZnode]
    problem: str = ""
    lock: str = ""
    ledger: LedgerRead = LedgerRead("")
    hold: Hold | None = None
    alter: UnfinishedAlter | None = None

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
