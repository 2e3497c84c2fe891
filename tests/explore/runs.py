# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of every kind on the table of a scene, each in a process of its own and configured in its own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    LedgerReadiness,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
    StillCold,
    Withdrawal,
    withdraw_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.set_state import (
    StateSetter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.token_writer import (
    TokenWriter,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, Outcome
from explore.guard import Guard
from explore.other_cluster import CopiedCluster, OtherCluster
from explore.repairs import Repairs
from explore.schedule import Settings
from support.memory.connections import ReconnectingStore
from support.memory.disks import SimulatedDisks
from support.memory.interleaving import Script, WatchedStore
from support.memory.memory import ManualClock, MemoryEnsemble, MemoryStore
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.scene import PATH, WANTED, Scene
from support.memory.violation import Violation

_OTHER_ROOT = "/elsewhere"
_WITHDRAWN = "r2"


class Process(NamedTuple):
    """What a run works with."""

    script: Script
    hot: WatchedStore
    cold: WatchedStore
    context: MoveContext
    root: str
    settings: Settings
    connections: tuple[ReconnectingStore, ...] = ()
    """The connections with hot and cold that may go back; none where members ask what the run has seen."""

    def expire(self) -> None:
        """End the session with hot; the member that the next one is with may know less."""
        self.hot.expire()
        for each in self.connections[:1]:
            each.go_back()

    def go_back(self, how_far: float) -> None:
        """Lose both connections to members that do not ask what the run has seen.

        how_far: 1 for as far as the member is that knows least, near 0 for nearly nothing.
        """
        for each in self.connections:
            history = each.ensemble.history
            least = min(map(each.ensemble.applied, each.ensemble.members))
            each.go_back(history.last - int((history.last - least) * how_far))


class _ClockAhead:
    """Implements Clock: that of a controller, which is not the one of the ensembles."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def now(self) -> float:
        """Seconds since 1970, as this controller thinks."""
        return self._clock.now() + self._seconds

    def sleep(self, seconds: float) -> None:
        """Let the time pass for all."""
        self._clock.sleep(seconds)


class _Unwatched:
    """Applies the multis to an ensemble that no server knows, whose znodes nobody judges."""

    def commit(self, _run: object, store: MemoryStore, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply one."""
        return store.commit_one(multi, answered=answered)

    def look_at_members(self) -> None:
        """Nobody reads from them."""

    def check(self) -> None:
        """There is nothing to check."""


class Runs:
    """Starts runs on the table of one scene."""

    def __init__(self, scene: Scene, *, by_ledger: bool) -> None:
        self._scene = scene
        self._by_ledger = by_ledger
        self._other_cold = MemoryEnsemble("other", scene.clock, 3)
        self._other_cluster = OtherCluster(scene)
        self._copied_cluster: CopiedCluster | None = None
        self._repairs = Repairs(PATH, SimulatedDisks(scene.servers))
        self._guard = Guard(scene, self._repairs)

    def start(self, settings: Settings, script: Script) -> Process:
        """Connect a run to both ensembles."""
        scene = self._scene
        connections: tuple[ReconnectingStore, ...] = ()
        if settings.goes_back:
            member = scene.next_member()
            connections = tuple(ReconnectingStore(each.open(member)) for each in (scene.hot, scene.cold))
            hot, cold = (WatchedStore(each, script, scene.watch) for each in connections)
        else:
            hot, cold = scene.sessions(script)
        if settings.other_cold:
            cold = WatchedStore(self._other_cold.open(1), script, _Unwatched())
        clock = _ClockAhead(scene.clock, settings.seconds_ahead)
        root = _OTHER_ROOT if settings.other_root else DEFAULT_ROOT
        context = make_world(hot, cold, clock, probe=SimulatedProbe(scene.servers))
        tokens = TokenWriter(hot, cold, clock, root)
        leases = LeaseKeeper(
            hot,
            cold,
            clock,
            owner="a run",
            root=root,
            wait_seconds=3.0,
            write_token=tokens.before_lease,
        )
        context = context._replace(leases=leases)
        if self._by_ledger:
            context = context._replace(readiness=LedgerReadiness(Ledger(hot, root), ColdEnsemble.of(cold)))
        return Process(script, hot, cold, context, root, settings, connections)

    def carry_out(self, goal: str, partition: str, process: Process) -> str:
        """Let the run do what it is for; returns what it tells. Raises PartMoveError, and Died."""
        runs: dict[str, Callable[[], object]] = {
            "move": lambda: told(self.move(process)),
            "reheat": lambda: told(reheat_shard(process.context, PATH, WANTED)),
            "downgrade": lambda: self._downgrade(process),
            "guard": lambda: self._guard.run(
                process.context,
                process.root,
                lambda: told(self.move(process)),
                by_ledger=self._by_ledger,
            ),
            "repair": lambda: self._repairs.repair_all(process.context),
            "restore": lambda: self._repairs.restore(process.context),
            "other cluster": lambda: self._other_cluster.run(
                process.cold, is_guarded=not process.settings.other_cold
            ),
            "copied cluster": lambda: self._of_copy(process),
            "state HOT": lambda: self.set_state(process, partition, State.HOT),
            "state COLD": lambda: self.set_state(process, partition, State.COLD),
        }
        return str(runs[goal]())

    def move(self, process: Process, partitions: Sequence[str] = WANTED) -> PatchedReport:
        """Move partitions to cold."""
        own = self._scene.options
        options = own._replace(
            min_age=process.settings.min_age, max_parts=own.max_parts + process.settings.more_parts
        )
        report = PatchedReport(PATH)
        move_shard(process.context, PATH, partitions, options, report)
        self._scene.watch.end(process.script, report.moved)
        return report

    def set_state(self, process: Process, partition: str, state: State) -> object:
        """Set State of a partition."""
        context = process.context
        setter = StateSetter(context.hot, context.cold, context.leases, context.servers, ShardLayout(PATH))
        return setter.set(partition, state)

    def copy_hot(self) -> None:
        """Start another cluster with a copy of the files of hot and of the servers as they are now."""
        self._copied_cluster = CopiedCluster(self._scene)

    def _of_copy(self, process: Process) -> str:
        """Let the copied cluster work, unless no run of the scene has begun since it was made."""
        if self._copied_cluster is None:
            self.copy_hot()
        assert self._copied_cluster is not None
        if process.settings.other_cold or not self._copied_cluster.is_recognised:
            return "nothing: no run shows that it is a copy"
        return self._copied_cluster.run(process.cold, is_guarded=True)

    def _downgrade(self, process: Process) -> str:
        key = ReplicaKey(PATH, _WITHDRAWN)
        ledger = Ledger(process.hot, process.root)
        guard = DowngradeGuard(process.hot, process.cold, process.root)
        try:
            withdraw_replicas(guard, ledger, [key], Withdrawal())
        except StillCold:
            return "still cold"
        self._judge_downgrade(ReplicaKey(PATH, _WITHDRAWN))
        return "withdrawn"

    def _judge_downgrade(self, key: ReplicaKey) -> None:
        """Unless it was entered again, no part is registered in cold only, or ever will be."""
        scene = self._scene
        if not self._by_ledger or scene.hot.read([Ledger(scene.hot.open()).entry_path(key)])[0] is not None:
            return
        for replica, disk in scene.servers.disk.items():
            names = scene.hot.children([scene.servers.table.parts_path(replica)])[0] or ()
            if disk - set(names):
                raise Violation(
                    f"the guard passed, and only cold has {sorted(disk - set(names))} of {replica}"
                )


def told(report: PatchedReport) -> str:
    """What a report says, as people read it."""
    words = {
        "moved": sorted(report.moved),
        "unchanged": sorted(report.unchanged),
        "removed": sorted(report.copies_removed),
        "deferred": {each: refusal.gate.value for each, refusal in sorted(report.deferred.items())},
        "failed": {each: refusal.gate.value for each, refusal in sorted(report.failed.items())},
    }
    return ", ".join(f"{word} {found}" for word, found in words.items() if found)
