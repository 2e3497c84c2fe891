# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit of twins judges by: both tables of each replica, what they have, and the records in hot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..move.record import TwinRecord
from ..move.tables import PartsOf, Side, TwinReplica, TwinTable, TwinTables


class ReplicaTables(NamedTuple):
    """What the server of a replica has beside each other."""

    replica: TwinReplica
    server: str
    """The server, for people."""
    hot: TwinTable
    cold: TwinTable | None
    """None where there is no table of the name."""
    is_exchanged: bool = False
    """Whether the table in the auxiliary ensemble has the name, and this one is named as its twin."""


class TwinWitnesses(Protocol):
    """Asks the servers of replicas, and tells them nothing; raises PartMoveError where that fails."""

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """The hot table of the replica, and its twin where it has one."""

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """The active parts of each of the partitions, asked for at one moment."""

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """All partitions of which the table has active parts."""

    def inserted(self, tables: TwinTables) -> Mapping[str, Collection[str]]:
        """Partition id → names of the parts that the twin got by an INSERT, as far as the server can tell."""


class RecordZnode(NamedTuple):
    """What hot has at the place of a record."""

    path: str
    record: TwinRecord | None
    problem: str = ""
    """Why it is no record that is understood; empty where it is one."""


class TwinPartitionRead(NamedTuple):
    """What there is of one partition."""

    partition_id: str
    parts: Sequence[PartsOf]
    """Of each replica, in the order of the tables."""
    noted: RecordZnode | None
    """Its record; None where there is none."""
    inserted: Collection[str] = ()
    """Names of parts that the twin got by an INSERT; they may be gone or merged since."""
    changed: bool = False
    """Whether its record was written, replaced or removed while the servers were asked."""


class TwinShardRead(NamedTuple):
    """One look at a shard path.

    pairs: the replicas whose server answered, by name.
    silent: replica → why its server did not.
    partitions: by id; none where not every replica has both tables.
    noted: partition id → what there is at the place of its record, also where no server was asked.
    problem: why nothing is known of the partitions, where a server ceased to answer; else empty.
    lock: who holds the lock of the shard path; empty where nobody does.
    """

    shard_path: str
    pairs: Sequence[ReplicaTables]
    silent: Mapping[str, str]
    partitions: Mapping[str, TwinPartitionRead]
    noted: Mapping[str, RecordZnode]
    problem: str = ""
    lock: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether hot has no such table."""
        return not self.pairs and not self.silent

    @property
    def tables(self) -> Sequence[TwinTables] | None:
        """The tables of all replicas; None where one is not known to have both."""
        found = [
            TwinTables(each.replica, each.server, each.hot, each.cold) for each in self.pairs if each.cold
        ]
        return found if found and len(found) == len(self.pairs) and not self.silent else None
