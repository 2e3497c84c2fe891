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
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartsOf,
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import PATH, ModelServers, TwinBench

SILENT = "ClickHouse at nowhere cannot be reached"


class MemoryWitnesses:
    """Implements TwinWitnesses.

    silent: replicas whose servers do not answer. lacking: those that have no twin. came: parts that the twin
    got by an INSERT. ceases: whether servers answer no more once they have told their tables.
    """

    def __init__(self, servers: ModelServers) -> None:
        self.servers = servers
        self.silent: Collection[str] = ()
        self.lacking: Collection[str] = ()
        self.came: Mapping[str, Collection[str]] = {}
        self.ceases = False
        self.looks = 0

    def pair(self, shard_path: str, replica: TwinReplica) -> ReplicaTables:
        """As TwinWitnesses says."""
        if replica.name in self.silent:
            raise PartMoveError(SILENT)
        tables = self.servers.tables(shard_path, replica)
        return ReplicaTables(
            replica, tables.server, tables.hot, None if replica.name in self.lacking else tables.cold
        )

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
