# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves of real tables, with a look at what they do on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateCase, GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import PARTITION_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    Lease,
    LeaseKeeper,
    LeaseZnodes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    find_reheatable,
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.token_writer import (
    TokenWriter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardReader
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import (
    DelegatingStore,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import (
    ZnodeReader,
    ZnodeStore,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Multi,
    Outcome,
    Query,
    QueryAnswer,
    SetData,
    Znode,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.memory.moves import ANY, make_world
from support.servers.proxy import Action, ZooKeeperProxy, writes
from support.servers.replicated import ReplicatedTable

Before = Callable[[str, Sequence[Multi]], None]
"""Told the name of an operation, and what it writes, before it is carried out."""


class FastClock(SystemClock):
    """A clock that is ahead of that of the ensembles, as if a run were begun that much later."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: how far."""
        self.ahead = seconds

    def now(self) -> float:
        """Seconds since 1970."""
        return super().now() + self.ahead


class LaterLeases(LeaseKeeper):
    """Takes leases of ensembles whose clocks have gone on by some seconds."""

    def __init__(self, hot: ZnodeStore, cold: ZnodeStore, clock: FastClock, root: str) -> None:
        tokens = TokenWriter(hot, cold, clock, root)
        super().__init__(hot, cold, clock, owner="a test", root=root, write_token=tokens.before_lease)
        self._ahead = clock.ahead

    def acquire(self, shard_path: str, seen: LeaseZnodes | None = None) -> Lease:
        """As a LeaseKeeper does."""
        lease = super().acquire(shard_path, seen)
        return lease._replace(taken_at=lease.taken_at + self._ahead)


def make_later_world(
    hot: ZnodeStore, cold: ZnodeStore, seconds: float, root: str = DEFAULT_ROOT
) -> MoveContext:
    """Return the context as it is so many seconds later, by the clocks of the ensembles and of the run."""
    clock = FastClock(seconds)
    return make_world(hot, cold, clock)._replace(leases=LaterLeases(hot, cold, clock, root))


class ObservedProbe(HttpReplicaProbe):
    """A probe that tells before it asks a server for parts."""

    def __init__(self, options: ClickHouseOptions, before: Callable[[], object]) -> None:
        """`before` may do something to the servers."""
        super().__init__(options)
        self._before = before

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """Ask the server."""
        self._before()
        return super().active_parts(shard_path, replica, host, partitions)


class ObservedStore(DelegatingStore):
    """The store of an ensemble that tells of each operation before it is carried out; one multi at a time."""

    def __init__(self, store: ZnodeStore, before: Before) -> None:
        """`before` may take its time, do something to the ensemble, or raise."""
        super().__init__(store)
        self._before = before

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read znodes."""
        self._before("read", ())
        return super().read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Read names."""
        self._before("children", ())
        return super().children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Read znodes and names."""
        self._before("ask", ())
        return super().ask(queries)

    def sync(self, path: str) -> None:
        """Catch up with the leader."""
        self._before("sync", ())
        super().sync(path)

    def members(self) -> Sequence[ZnodeReader]:
        """Connect to the members."""
        self._before("members", ())
        return super().members()

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Write."""
        outcomes: list[Outcome] = []
        for multi in multis:
            self._before("commit", [multi])
            outcomes += super().commit([multi])
        return outcomes


def switches(multis: Sequence[Multi]) -> bool:
    """Whether one of the multis takes a partition out of the hot ensemble."""
    return any(isinstance(op, SetData) and op.data == b"COLD" for multi in multis for op in multi)


def returns(multis: Sequence[Multi]) -> bool:
    """Whether one of the multis registers a partition in the hot ensemble again."""
    return any(isinstance(op, SetData) and op.data == b"HOT" for multi in multis for op in multi)


def copies(multis: Sequence[Multi]) -> bool:
    """Whether one of the multis writes to a part."""
    return any("/parts/" in op.path for multi in multis for op in multi)


def nothing(_operation: str, _multis: Sequence[Multi]) -> None:
    """Watch an operation go by."""


@contextmanager
def log_not_pulled(gateway: ZooKeeperProxy, table: ReplicatedTable) -> Iterator[None]:
    """Keep both replicas from taking over new log entries: on 18.16 nothing else shows that there are any."""
    traps = [
        gateway.trap(writes(f"{table.path}/replicas/{replica}/log_pointer".encode()), Action.HOLD)
        for replica in ("r1", "r2")
    ]
    try:
        yield
    finally:
        for trap in traps:
            trap.release()


@contextmanager
def open_stores(
    hot: str, cold: str, session_timeout: float = 30.0
) -> Iterator[tuple[ZnodeStore, ZnodeStore]]:
    """Connect to both ensembles, given as host:port separated by commas."""
    options = [
        EnsembleOptions(name, tuple(hosts.split(",")), session_timeout=session_timeout)
        for name, hosts in (("hot", hot), ("cold", cold))
    ]
    first = connect(options[0])
    try:
        second = connect(options[1])
        try:
            yield first, second
        finally:
            second.close()
    finally:
        first.close()


@dataclass
class Mover:
    """Moves partitions of tables from one ensemble to another, and back.

    before_hot, before_cold: see ObservedStore.
    before_ask: see ObservedProbe.
    seconds_ahead: see FastClock.
    """

    hot: ZnodeStore
    cold: ZnodeStore
    before_hot: Before = nothing
    before_cold: Before = nothing
    before_ask: Callable[[], object] = lambda: None
    options: GateOptions = ANY
    endpoints: dict[str, str] = field(default_factory=dict)
    seconds_ahead: float = 0.0

    def move(self, table: ReplicatedTable, partitions: Sequence[str] | None = None) -> PatchedReport:
        """Move the partitions, or all that the table has."""
        wanted = sorted(table.active_parts()) if partitions is None else partitions
        return move_shard(self.context(table), table.path, wanted, self.options)

    def reheat(self, table: ReplicatedTable, partitions: Sequence[str] | None = None) -> PatchedReport:
        """Bring the partitions back to hot, or all that are not only there."""
        context = self.context(table)
        wanted = find_reheatable(context, table.path) if partitions is None else partitions
        return reheat_shard(context, table.path, wanted)

    def gates(self, table: ReplicatedTable, partition: str) -> set[str]:
        """Names of all the gates that stop the partition now; a report tells the first only."""
        self.hot.sync(table.path)
        reader = ShardReader(self.hot, self.cold, ShardLayout(table.path), DEFAULT_ROOT)
        shard, found = reader.read([partition])
        case = GateCase(shard, found[partition], self.options, time.time())
        return {gate.name.value for gate in SHARD_GATES if gate.refusal(shard)} | {
            gate.name.value for gate in PARTITION_GATES if gate.refusal(case)
        }

    def context(self, table: ReplicatedTable) -> MoveContext:
        """All that a move of the table works with."""
        hot = ObservedStore(self.hot, self.before_hot)
        cold = ObservedStore(self.cold, self.before_cold)
        probe = ObservedProbe(ClickHouseOptions(endpoints=self.endpoints_of(table)), self.before_ask)
        return make_later_world(hot, cold, self.seconds_ahead)._replace(servers=AskServers(probe))

    def endpoints_of(self, table: ReplicatedTable) -> dict[str, str]:
        """Where the servers of the replicas are asked."""
        servers = {name: f"127.0.0.1:{server.http_port}" for name, server in table.replicas.items()}
        return servers | self.endpoints
