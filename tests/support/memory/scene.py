# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table in a pair of ensembles in memory, ready to be moved while things happen to it."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from support.memory.client import MemoryClient
from support.memory.interleaving import Script, WatchedStore
from support.memory.ledger import readiness
from support.memory.memory import LEADER, ManualClock, MemoryEnsemble
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.registration import BEHIND_SECONDS
from support.memory.statements import Statements
from support.memory.tables import TableOptions, build_table, days
from support.memory.watch import Watch

_Made = TypeVar("_Made")

PATH = "/clickhouse/tables/01/hits"
TARGET, OTHER, COLD = WANTED = days(3)
"""The partition that things happen to, another one, and one that is cold already."""


class Kind(NamedTuple):
    """What the table and its servers are like, and how far the members are that runs connect to.

    behind: whether they are as far behind as ZooKeeper allows; else each run is connected to the leaders.
    """

    options: TableOptions = TableOptions(partitions=WANTED)
    raises_log_version: bool = True
    behind: bool = False


MODERN = Kind()
OLD = Kind(TableOptions(partitions=WANTED, legacy=True), raises_log_version=False)
TWO_PARTS = Kind(TableOptions(partitions=WANTED, parts=2))
BEHIND, OLD_BEHIND, TWO_PARTS_BEHIND = (each._replace(behind=True) for each in (MODERN, OLD, TWO_PARTS))

_MEMBERS = 3


class Where(NamedTuple):
    """Where a partition is: its State, what each ensemble registers, what is on the disks; by replica."""

    state: bytes | None
    hot: Mapping[str, frozenset[str]]
    cold: Mapping[str, frozenset[str]]
    disk: Mapping[str, frozenset[str]]

    def covered_by(self, ensemble: Mapping[str, frozenset[str]]) -> bool:
        """Whether the ensemble registers all that is on the disks."""
        return all(names <= ensemble[replica] for replica, names in self.disk.items())

    @property
    def is_cold(self) -> bool:
        """Whether cold alone registers the partition, the same on every replica, as State says."""
        same = len(set(self.cold.values())) == 1
        return self.state == b"COLD" and not any(self.hot.values()) and same and self.covered_by(self.cold)

    @property
    def stale(self) -> bool:
        """Whether cold registers what neither hot registers nor a disk has."""
        return any(names - self.hot[replica] - self.disk[replica] for replica, names in self.cold.items())


_RANDOM_ID = re.compile(rb'"hot_id": "[0-9a-f]{32}"')


class Scene:
    """A table with two partitions in hot and one in cold, and what watches over it."""

    def __init__(
        self, kind: Kind = MODERN, *, by_ledger: bool = False, already_cold: Sequence[str] = (COLD,)
    ) -> None:
        """`by_ledger`: whether runs look into the ledger for which replicas are ready.

        `already_cold`: the partitions that are so at first.
        """
        self._by_ledger = by_ledger
        self.behind = kind.behind
        self._processes = 0
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock, _MEMBERS) for name in ("hot", "cold"))
        hot, cold = MemoryClient(self.hot.open()), MemoryClient(self.cold.open())
        table = build_table(hot, PATH, kind.options)
        self.servers = Statements(table, hot, cold, raises_log_version=kind.raises_log_version)
        self.options = GateOptions(0.0, kind.options.parts)
        clean = make_world(self.hot.open(), self.cold.open(), self.clock)
        assert move_shard(clean, PATH, already_cold, self.options).moved.keys() == set(already_cold)
        for ensemble in (self.hot, self.cold):
            ensemble.settle()
        self.watch = Watch(self.servers, self.hot, self.cold, by_ledger=by_ledger)

    def run(self, script: Script | None = None) -> PatchedReport:
        """Move the partitions in a process of its own."""
        script = script or Script()
        report = move_shard(self._context(script), PATH, WANTED, self.options)
        self.watch.end(script, report.moved)
        return report

    def reheat(self, script: Script | None = None) -> PatchedReport:
        """Bring the partitions back in a process of its own."""
        return reheat_shard(self._context(script or Script()), PATH, WANTED)

    def wait(self, seconds: float) -> None:
        """Let time pass in which nothing happens."""
        for each in (min(seconds, BEHIND_SECONDS), max(0.0, seconds - BEHIND_SECONDS)):
            self.clock.sleep(each)
            self.watch.check()

    def take_lease(self) -> None:
        """Take the lease from the last run and give it back, without any other write."""
        self.expire()
        hot, cold = self.sessions(Script())
        leases = make_world(hot, cold, self.clock).leases
        leases.release(leases.acquire(PATH))

    def expire(self) -> None:
        """End the session that the last run has with hot."""
        self._last.expire()

    def sessions(self, script: Script) -> tuple[WatchedStore, WatchedStore]:
        """Open sessions with hot and cold, as a process of its own does: each with another member."""
        member = self.next_member()
        hot, cold = (WatchedStore(each.open(member), script, self.watch) for each in (self.hot, self.cold))
        return hot, cold

    def next_member(self) -> int:
        """The member that the next process is connected to."""
        self._processes += 1
        return 1 + self._processes % (_MEMBERS - 1) if self.behind else LEADER

    def _context(self, script: Script) -> MoveContext:
        hot, cold = self.sessions(script)
        self._last = hot
        context = make_world(hot, cold, self.clock, probe=SimulatedProbe(self.servers))
        return context._replace(readiness=readiness(hot, cold)) if self._by_ledger else context

    def tables(self) -> tuple[Mapping[str, bytes], Mapping[str, bytes]]:
        """The data of both ensembles, without the coordination of the runs, and without random ids."""
        hot, cold = (
            {
                path: _RANDOM_ID.sub(b'"hot_id": ""', data)
                for path, data in each.data().items()
                if not path.startswith("/partmove")
            }
            for each in (self.hot, self.cold)
        )
        return hot, cold

    def where(self, partition: str) -> Where:
        """Where a partition is now."""
        disk = {
            replica: frozenset(self.servers.parts_of(partition, replica)) for replica in self.servers.disk
        }
        state = self.hot.read([self.servers.table.state_path(partition)])[0]
        hot, cold = (
            {
                replica: frozenset(
                    name
                    for name in ensemble.children([self.servers.table.parts_path(replica)])[0] or ()
                    if name.split("_")[0] == partition
                )
                for replica in disk
            }
            for ensemble in (self.hot, self.cold)
        )
        return Where(None if state is None else state.data, hot, cold, disk)


def copy_of(make: Callable[..., _Made], *args: Hashable) -> _Made:
    """What the function makes of the arguments, made once and copied each time; the copies share nothing.

    Exploring interleavings takes thousands of scenes that are alike, which would be half of its time.
    """
    made: _Made = pickle.loads(_pickled(make, *args))
    return made


@cache
def _pickled(make: Callable[..., object], *args: Hashable) -> bytes:
    return pickle.dumps(make(*args))


def trace_of(kind: Kind) -> list[str]:
    """The operations of a run that nothing disturbs."""
    script = Script()
    assert Scene(kind).run(script).moved.keys() == {TARGET, OTHER}
    return script.trace
