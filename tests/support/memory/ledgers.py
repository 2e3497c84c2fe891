# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ledgers of twins in memory."""

from __future__ import annotations

from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.blocks import (
    read_hot_blocks,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.compare import (
    Blocks,
    entry_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import (
    LedgerEntry,
    TwinPair,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.identity import (
    UNKNOWN_BIRTHS,
    pair_of,
    read_births,
    read_identities,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import (
    OpenLedger,
    read_heads,
    read_ledger,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.work import LedgerContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.interleaving import Script
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import (
    DAY,
    PATH,
    REPLICAS,
    ModelServers,
    ModelTable,
    TwinBench,
    Twins,
    table_of,
)


def key(first: int, last: int, level: int) -> Any:
    """The key of a part that no mutation has rewritten, by its blocks and level, in a table in memory."""
    table = ModelTable()
    table.add(("x",))
    return (first, last, level, *next(iter(table.parts))[3:])


def servers_alone() -> MemoryWitnesses:
    """Servers of empty tables, without an ensemble."""
    return MemoryWitnesses(ModelServers(Twins(), Script()))


def tables_of_replicas() -> list[TwinTables]:
    """Both tables of every replica."""
    return [
        TwinTables(TwinReplica(each, ""), each, table_of(Side.HOT, each), table_of(Side.COLD, each))
        for each in REPLICAS
    ]


def context_of(bench: TwinBench, servers: MemoryWitnesses | None = None) -> LedgerContext:
    """What a command works with, in a session of its own."""
    store = bench.hot.open()
    leases = LeaseKeeper(store, None, bench.clock, owner="a test", wait_seconds=0)
    witnesses = servers or MemoryWitnesses(bench.servers)
    return LedgerContext(store, leases, witnesses, bench.journal, "/partmove")


def head_of(bench: TwinBench) -> TwinPair:
    """The tables of the ledger."""
    return read_heads(bench.hot.open(), "/partmove")[PATH]


def entered(bench: TwinBench, servers: MemoryWitnesses, *, with_births: bool = False) -> None:
    """Enter the partition as it is in the twin now.

    with_births: whether the head says when the znodes of the tables were created.
    """
    store = bench.hot.open()
    tables = tables_of_replicas()
    births = read_births(store, PATH, servers, tables) if with_births else UNKNOWN_BIRTHS
    pair = pair_of(tables, read_identities(servers, tables), births)
    blocks = Blocks(read_hot_blocks(store, PATH, [DAY]).get(DAY, 0), (servers.cold or {}).get(DAY, 0))
    entry = entry_of(bench.twins.tables[Side.COLD].shown(), DAY, blocks, servers.expires)
    leases = LeaseKeeper(store, None, bench.clock, owner="a test")
    lease = leases.acquire(PATH)
    OpenLedger(store, "/partmove", PATH).commit(lease, pair, {DAY: entry})
    leases.release(lease)
    store.expire()


def entries_of(bench: TwinBench) -> dict[str, LedgerEntry]:
    """What the ledger has."""
    ledger = read_ledger(bench.hot.open(), "/partmove", PATH)
    return {} if ledger is None else ledger.entries
