# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table in memory that any move lets pass, to be disarranged by a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import AccessDenied
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardReader
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Multi,
    Op,
    Outcome,
    Reason,
    Rejected,
    SetData,
    Unknown,
    Znode,
)
from support.memory.client import MemoryClient
from support.memory.memory import LEADER, ManualClock, MemoryEnsemble, MemoryStore
from support.memory.moves import ANY, ListJournal, make_world
from support.memory.statements import Statements
from support.memory.tables import TableOptions, build_table

PATH = "/clickhouse/tables/01/hits"
DAY = "20190101"
OTHER = "20190102"
PART = f"{DAY}_0_0_0"
LOCK = "/partmove/locks/%2Fclickhouse%2Ftables%2F01%2Fhits"


class HookedStore(MemoryStore):
    """Calls functions on the way.

    before, after: with each multi, before and after it is applied.
    listing: with the paths whose children are asked for.
    loses: with each multi; whether it is not applied, and its answer is lost.
    denied: paths of znodes that the identity may not read.
    denied_writes: paths of znodes that the identity may not write.
    """

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.before: Callable[[Multi], object] = _nothing
        self.after: Callable[[Multi], object] = _nothing
        self.listing: Callable[[Sequence[str]], object] = _nothing
        self.loses: Callable[[Multi], object] = _nothing
        self.denied: set[str] = set()
        self.denied_writes: set[str] = set()

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does."""
        self._refuse(paths)
        return super().read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        self._refuse(paths)
        self.listing(paths)
        return super().children(paths)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Apply the multis in order."""
        outcomes: list[Outcome] = []
        for multi in multis:
            self.before(multi)
            denied = [n for n, op in enumerate(multi) if op.path in self.denied_writes and _is_write(op)]
            if denied:
                outcomes.append(Rejected(denied[0], Reason.NO_AUTH, -102))
                continue
            outcomes += [Unknown("lost")] if self.loses(multi) else super().commit([multi])
            self.after(multi)
        return outcomes

    def _refuse(self, paths: Sequence[str]) -> None:
        for path in paths:
            if path in self.denied:
                raise AccessDenied(
                    f"The identity given to {self.name} may not read {path}", remedy="Correct it"
                )


def _is_write(op: Op) -> bool:
    return not isinstance(op, Check)


class Listing(HookedStore):
    """Calls a function after each listing of children."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.listed: Callable[[Sequence[str]], object] = lambda _paths: None

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        found = super().children(paths)
        self.listed(paths)
        return found


def _nothing(_what: object) -> None:
    pass


def _switches(multi: Multi, state: bytes) -> bool:
    return any(isinstance(op, SetData) and op.data == state for op in multi)


class Bench:
    """One table, a client of each ensemble to change it with, and the context of the move.

    Runs are connected to members that lag behind; all else is to the leaders.

    switched_to: the State of the switches that something is done before or after.
    """

    def __init__(self, options: TableOptions | None = None) -> None:
        self.clock = ManualClock()
        self.hot_ensemble, self.cold_ensemble = (
            MemoryEnsemble(name, self.clock, members=2) for name in ("hot", "cold")
        )
        self.hot = MemoryClient(self.hot_ensemble.open())
        self.cold = MemoryClient(self.cold_ensemble.open())
        table = build_table(self.hot, PATH, options or TableOptions(partitions=(DAY, OTHER)))
        self.servers = Statements(table, self.hot, self.cold)
        self.hot_store, self.cold_store = HookedStore(self.hot_ensemble), HookedStore(self.cold_ensemble)
        self.context: MoveContext = make_world(self.hot_store, self.cold_store, self.clock, lock_wait=3.0)
        self.options: GateOptions = ANY
        self.switched_to = b"COLD"

    def beside(self) -> Bench:
        """Return another process at work on the same table, with sessions of its own."""
        other = copy(self)
        other.hot_store, other.cold_store = HookedStore(self.hot_ensemble), HookedStore(self.cold_ensemble)
        other.context = make_world(other.hot_store, other.cold_store, self.clock, lock_wait=3.0)
        return other

    @property
    def journal(self) -> ListJournal:
        """The journal of the runs."""
        journal = self.context.journal
        assert isinstance(journal, ListJournal)
        return journal

    def move(self, *partitions: str) -> PatchedReport:
        """Move partitions, DAY if none is named."""
        with self.behind():
            return move_shard(self.context, PATH, partitions or (DAY,), self.options)

    def reheat(self, *partitions: str) -> PatchedReport:
        """Bring partitions back, DAY if none is named."""
        with self.behind():
            return reheat_shard(self.context, PATH, partitions or (DAY,))

    @contextmanager
    def behind(self) -> Iterator[None]:
        """Connect the run to the members that are as far behind as ZooKeeper allows."""
        stores = (self.hot_store, self.cold_store)
        for store in stores:
            store.connect_to(store.ensemble.members[-1])
        try:
            yield
        finally:
            for store in stores:
                store.connect_to(LEADER)

    def reader(self) -> ShardReader:
        """Return what reads the shard path, as a run does."""
        return ShardReader(self.hot_store, self.cold_store, ShardLayout(PATH), DEFAULT_ROOT)

    def before_switch(self, act: Callable[[], object], times: int = 1) -> None:
        """Do something right before a partition is switched, so many times."""
        left = [act] * times
        self.hot_store.before = lambda multi: (
            left.pop()() if left and _switches(multi, self.switched_to) else None
        )

    def before_lease(self, act: Callable[[], object]) -> None:
        """Do something right before the first lock is taken."""
        left = [act]
        self.hot_store.before = lambda multi: (
            left.pop()() if left and any(op.path == LOCK for op in multi) else None
        )

    def before_marked(self, act: Callable[[], object]) -> None:
        """Do something right before the marker in cold is written."""
        left = [act]
        self.cold_store.before = lambda multi: (
            left.pop()() if left and any(op.path == PATH for op in multi) else None
        )

    def before_copy(self, act: Callable[[], object]) -> None:
        """Do something right before the first write to a part in cold."""
        left = [act]
        self.cold_store.before = lambda multi: (
            left.pop()() if left and any("/parts/" in op.path for op in multi) else None
        )

    def after_switch(self, act: Callable[[], object]) -> None:
        """Do something right after a partition was switched."""
        self.hot_store.after = lambda multi: act() if _switches(multi, self.switched_to) else None

    def before_undone(self, act: Callable[[], object]) -> None:
        """Let an insert be late, and do something right before the switch of DAY is undone first."""
        state = f"{PATH}/block_numbers/{DAY}/State"
        acts: dict[bytes, Callable[[], object]] = {b"COLD": lambda: self.servers.insert(DAY), b"HOT": act}

        def before(multi: Multi) -> None:
            for op in multi:
                if isinstance(op, SetData) and op.path == state and op.data in acts:
                    acts.pop(op.data)()

        self.hot_store.before = before

    def part(self, replica: str = "r1", name: str = PART) -> str:
        """Return the path of a part."""
        return f"{PATH}/replicas/{replica}/parts/{name}"
