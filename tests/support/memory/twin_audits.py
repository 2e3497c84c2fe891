# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers in memory that an audit of twins asks, and what it says of a bench."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import (
    TwinAudit,
    audit_twins,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import ReplicaTables
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.reader import TwinReader
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import Birth
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import SetAside
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartsOf,
    Side,
    TwinReplica,
    TwinTable,
    TwinTables,
)
from support.memory.twins import PATH, ModelServers, TwinBench

SILENT = "ClickHouse at nowhere cannot be reached"


class MemoryLedgerServers:
    """Implements LedgerServers: every server has both tables.

    uuids: name of a table → its UUID but for the name of the replica at its end; without a table whose
    database has none. others: what servers have of tables with known UUIDs besides.
    """

    def __init__(self) -> None:
        self.uuids: dict[str, str] = {"db.hits": "hot", "db.hits_cold": "cold"}
        self.others: dict[str, str] = {}
        self.folders: dict[str, Mapping[str, Sequence[SetAside]]] = {}
        """Replica → partition id → what is in detached/ of the twin."""
        self.born: Birth | None = Birth(7, 900_000)
        """When the znodes of the twin were created, as the servers show."""
        self.births: dict[str, Birth | None] = {}
        """What the servers of some replicas show instead."""
        self.cold: Mapping[str, int] | None = {}
        self.expires: Mapping[str, int] = {}
        self.time = 1_000_000.0

    def identities(
        self, replica: TwinReplica, tables: Sequence[TwinTable], uuids: Collection[str]
    ) -> Mapping[str, str]:
        """As LedgerServers says."""
        own = {
            str(each): f"{self.uuids[str(each)]}-{replica.name}" for each in tables if str(each) in self.uuids
        }
        return {**own, **{name: uuid for name, uuid in self.others.items() if uuid in uuids}}

    def set_aside(self, tables: TwinTables) -> Mapping[str, Sequence[SetAside]]:
        """As LedgerServers says."""
        return self.folders.get(tables.replica.name, {})

    def cold_birth(self, tables: TwinTables) -> Birth | None:
        """As LedgerServers says."""
        return self.births.get(tables.replica.name, self.born)

    def cold_blocks(self, tables: TwinTables) -> Mapping[str, int] | None:
        """As LedgerServers says."""
        return self.cold

    def expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """As LedgerServers says."""
        return self.expires

    def now(self, tables: TwinTables) -> float:
        """As LedgerServers says."""
        return self.time


class MemoryWitnesses(MemoryLedgerServers):
    """Implements TwinWitnesses.

    silent: replicas whose servers do not answer. lacking: those that have no twin. came: parts that the twin
    got by an INSERT. ceases: whether servers answer no more once they have told their tables.
    """

    def __init__(self, servers: ModelServers) -> None:
        super().__init__()
        self.servers = servers
        self.silent: Collection[str] = ()
        self.lacking: Collection[str] = ()
        self.came: Mapping[str, Collection[str]] = {}
        self.ceases = False
        self.exchanged = False
        """Whether the names are exchanged on every replica."""
        self.looks = 0

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """As TwinWitnesses says."""
        if replica.name in self.silent:
            raise PartMoveError(SILENT)
        tables = self.servers.tables(shard_path, replica)
        cold = None if replica.name in self.lacking or self.exchanged else tables.cold
        return ReplicaTables(replica, tables.server, tables.hot, cold, self.exchanged)

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """As TwinWitnesses says."""
        if self.ceases:
            raise PartMoveError(SILENT)
        self.looks += 1
        return self.servers.parts(tables, partition_ids)

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """As TwinWitnesses says."""
        return self.servers.partition_ids(tables, side)

    def inserted(self, tables: TwinTables) -> Mapping[str, Collection[str]]:
        """As TwinWitnesses says."""
        return self.came


def reader_of(bench: TwinBench, servers: MemoryWitnesses | None = None) -> TwinReader:
    """Reads the bench, by servers that answer unless others are given."""
    store = bench.hot.open()
    return TwinReader(store, servers or MemoryWitnesses(bench.servers), bench.clock, "/partmove")


def audited(bench: TwinBench, servers: MemoryWitnesses | None = None) -> TwinAudit:
    """What an audit says of the bench."""
    return audit_twins(reader_of(bench, servers), PATH)
