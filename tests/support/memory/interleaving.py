# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs something else between two operations of a mover, and checks the invariants after every step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import inf

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_part_name
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import parent_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Outcome,
    SetData,
    Unknown,
    Znode,
)
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.simulated import SimulatedServers

_PART = re.compile(r"(?P<path>.*/replicas/(?P<replica>[^/]+)/parts/(?P<name>[^/]+))(/[^/]+)?")
_STATE = re.compile(r".*/block_numbers/([^/]+)/State")

_STARTING_SECONDS = 600.0
"""How long a znode of a server that is gone may make a replica look active at the most."""

Action = Callable[[], None]


class Died(BaseException):
    """The process of the mover is gone; nothing of it may catch this."""


class Lost(Enum):
    """What became of a multi whose answer was lost."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"


class Script:
    """Counts the operations of one run, and says what happens before which of them.

    actions: number of an operation → what is done before it.
    lost: number of a multi → what becomes of it while its answer is lost.
    """

    def __init__(self, lost: Mapping[int, Lost] | None = None) -> None:
        self.trace: list[str] = []
        self.actions: dict[int, Action] = {}
        self.lost = lost or {}
        self._dead = False

    def step(self, operation: str) -> int:
        """Note an operation that is about to be done, and return its number. Raises Died."""
        number = len(self.trace)
        self.trace.append(operation)
        action = self.actions.get(number)
        if action is not None:
            action()
        if self._dead:
            raise Died
        return number

    def die(self) -> None:
        """Let this operation and every later one fail: the process is gone."""
        self._dead = True

    def last(self, pattern: str) -> int:
        """Number of the last operation that the pattern is found in; -1 for none."""
        return max((number for number, each in enumerate(self.trace) if re.search(pattern, each)), default=-1)


class Violation(AssertionError):
    """An invariant of the protocol does not hold."""


class _Starting:
    """What a server of one replica that is starting now may have read in hot; cold it reads after that."""

    def __init__(self) -> None:
        self._disk: object = None
        self._until: dict[frozenset[str], float] = {}
        self._hot: frozenset[str] = frozenset()
        self._last_active = -inf

    def note(self, now: float, active: bool, disk: object, hot: frozenset[str]) -> frozenset[str]:
        """Note how things are now; returns the names that such a server has found in hot whenever it looked.

        It has begun after the last change of the disk, and after a replica that looks active was alive.
        """
        if self._disk != disk:
            self._disk, self._until, self._hot = disk, {}, hot
        if active:
            self._last_active = now
        # What was so at the last call was so until just now.
        self._until |= {self._hot: now, hot: now}
        self._hot = hot
        begun = self._last_active - _STARTING_SECONDS
        self._until = {names: until for names, until in self._until.items() if until > begun}
        return frozenset.intersection(*self._until)


class Watch:
    """Checks the invariants: after each multi of a mover, and whenever `check` is called."""

    def __init__(self, servers: SimulatedServers, hot: MemoryEnsemble, cold: MemoryEnsemble) -> None:
        self._servers = servers
        self._hot = hot
        self._cold = cold
        self._read: dict[str, int] = {}
        self._seen = 0
        self._epochs: dict[str, Script] = {}
        self._states_created: set[tuple[int, str]] = set()
        self._starting: defaultdict[str, _Starting] = defaultdict(_Starting)
        self.check()

    def note_read(self, znode: Znode) -> None:
        """Remember which creation of a znode of hot the mover has seen last, and when it began to look."""
        self._read[znode.path] = znode.stat.czxid
        if znode.path.endswith("/host"):
            # The last of the versions that the switch is fenced by; what the gates look at comes later.
            self._seen = self._servers.assigned

    def commit(self, run: Script, store: MemoryStore, multi: Multi) -> Outcome:
        """Apply a multi of a mover and check that it was allowed to."""
        paths = [self._servers.table.path, *(path for op in multi for path in (op.path, parent_of(op.path)))]
        hot, cold = (
            {znode.path: znode for znode in each.read(paths) if znode is not None}
            for each in (self._hot, self._cold)
        )
        outcome = store.ensemble.commit(store.session_id, multi)
        if isinstance(outcome, Committed):
            self._judge_lease(run, store, multi)
            if store.ensemble is self._hot:
                self._judge_hot(multi, hot, cold)
            else:
                self._judge_cold(multi, hot)
            self.check()
        return outcome

    def check(self) -> None:
        """I1, I3 and I4."""
        for replica, disk in self._servers.disk.items():
            hot, cold = (self._names(each, replica) for each in (self._hot, self._cold))
            for name in hot | cold:
                parse_part_name(name, 1, replica)  # I4
            self._check_starting_server(replica, frozenset(disk), hot, cold)
            for name in disk & cold - hot:
                if self._state(name.split("_")[0]) != b"COLD":
                    raise Violation(f"I3: {name} of {replica} is in cold only, and State is not COLD")

    def _check_starting_server(
        self, replica: str, disk: frozenset[str], hot: frozenset[str], cold: frozenset[str]
    ) -> None:
        """I1, for a server that is starting: it read hot whenever it can have, and reads cold now."""
        active = self._hot.read([f"{self._servers.table.path}/replicas/{replica}/is_active"])[0]
        kept = (self._servers.times_made, disk)
        found = self._starting[replica].note(self._hot.clock.now(), active is not None, kept, hot)
        missing = disk - cold - found
        if missing:
            raise Violation(f"I1: {sorted(missing)} of {replica} can be found neither in hot nor in cold")

    def _judge_lease(self, run: Script, store: MemoryStore, multi: Multi) -> None:
        """Only the run that raised the epoch of the ensemble last may write to the table."""
        for op in multi:
            if "/epochs/" in op.path and isinstance(op, (Create, SetData)):
                self._epochs[store.name] = run
                continue
            of_the_table = _PART.fullmatch(op.path) or _STATE.fullmatch(op.path)
            if of_the_table and not isinstance(op, Check) and self._epochs.get(store.name) is not run:
                raise Violation(f"{op.path} of {store.name} was written to without the lease")

    def _judge_hot(self, multi: Multi, hot: Mapping[str, Znode], cold: Mapping[str, Znode]) -> None:
        """I2, I3, I5 and I9, the fence, and that nothing else of the table is written to."""
        made_cold, made_hot = _switched_to(b"COLD", multi), _switched_to(b"HOT", multi)
        switched = made_cold | made_hot
        if switched and self._seen != self._servers.assigned:
            raise Violation(f"{sorted(switched)} were switched, and more was assigned than the gates saw")
        self._judge_return(multi, cold, made_hot)
        for op in multi:
            part, state = _PART.fullmatch(op.path), _STATE.fullmatch(op.path)
            if isinstance(op, Delete) and part:
                if part["name"].split("_")[0] not in made_cold:
                    raise Violation(f"I3: {op.path} was deleted without State=COLD")
                if cold.get(op.path) is None or cold[op.path].data != hot[op.path].data:
                    raise Violation(f"I2: {op.path} was deleted, but cold has not the same bytes")
                if self._read.get(op.path) != hot[op.path].stat.czxid:
                    raise Violation(f"I5: {op.path} was deleted without having been read")
            elif state and isinstance(op, Create):
                creation = hot[self._servers.table.path].stat.czxid, op.path
                if creation in self._states_created:
                    raise Violation(f"I9: {op.path} was created twice")
                self._states_created.add(creation)
            elif isinstance(op, Delete) and op.path.startswith(self._servers.table.path):
                raise Violation(f"{op.path} was deleted")

    def _judge_return(self, multi: Multi, cold: Mapping[str, Znode], made_hot: frozenset[str]) -> None:
        """I2 and I3 of the way back: hot gets what cold and the disk have, and then has all of the disk."""
        for op in multi:
            part = _PART.fullmatch(op.path)
            if isinstance(op, Create) and part:
                if part["name"].split("_")[0] not in made_hot:
                    raise Violation(f"I3: {op.path} was created without State=HOT")
                if cold.get(op.path) is None or cold[op.path].data != op.data:
                    raise Violation(f"I2: {op.path} was created, but cold has not the same bytes")
                children = [each.children([part["path"]])[0] for each in (self._hot, self._cold)]
                if children[0] != children[1]:
                    raise Violation(f"I2: {part['path']} was created, but cold has other children")
                if part["name"] not in self._servers.disk.get(part["replica"], ()):
                    raise Violation(f"{op.path} was created, and the disk has it not")
        for replica, disk in self._servers.disk.items():
            of_them = {name for name in disk if name.split("_")[0] in made_hot}
            missing = of_them - self._names(self._hot, replica)
            if missing:
                raise Violation(f"I3: State=HOT was set, and hot has not {sorted(missing)} of {replica}")

    def _judge_cold(self, multi: Multi, hot: Mapping[str, Znode]) -> None:
        """I6."""
        for op in multi:
            part = _PART.fullmatch(op.path)
            if isinstance(op, Delete) and part:
                on_disk = part["name"] in self._servers.disk.get(part["replica"], ())
                if on_disk and part["path"] not in hot:
                    raise Violation(f"I6: {op.path} was deleted, and hot has it not")

    def _names(self, ensemble: MemoryEnsemble, replica: str) -> frozenset[str]:
        return frozenset(ensemble.children([self._servers.table.parts_path(replica)])[0] or ())

    def _state(self, partition: str) -> bytes | None:
        znode = self._hot.read([self._servers.table.state_path(partition)])[0]
        return None if znode is None else znode.data


def _switched_to(state: bytes, multi: Multi) -> frozenset[str]:
    """Partitions whose State the multi sets to that."""
    return frozenset(
        match[1]
        for op in multi
        if isinstance(op, SetData) and op.data == state and (match := _STATE.fullmatch(op.path))
    )


class WatchedStore:
    """Implements ZnodeStore: every operation is a step of the script, every multi is watched."""

    chroot = ""
    server_id = 1

    def __init__(self, store: MemoryStore, script: Script, watch: Watch) -> None:
        self._store = store
        self._script = script
        self._watch = watch

    @property
    def name(self) -> str:
        """As of the store below."""
        return self._store.name

    @property
    def addresses(self) -> tuple[str, ...]:
        """As of the store below."""
        return self._store.addresses

    @property
    def session_id(self) -> int:
        """As of the store below."""
        return self._store.session_id

    def expire(self) -> None:
        """End the session; the next request begins a new one."""
        self._store.expire()

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """One step."""
        self._step("read", paths)
        found = self._store.read(paths)
        if self.name == "hot":
            for znode in found:
                if znode is not None:
                    self._watch.note_read(znode)
        return found

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """One step."""
        self._step("children", paths)
        return self._store.children(paths)

    def sync(self, path: str) -> None:
        """One step."""
        self._step("sync", [path])

    def members(self) -> Sequence[WatchedStore]:
        """The one member."""
        return [self]

    def commit(self, multis: Sequence[Multi]) -> list[Outcome]:
        """One step a multi; after a lost answer nothing more is sent."""
        outcomes: list[Outcome] = []
        for multi in multis:
            number = self._step("commit", [op.path for op in multi[-1:]])
            lost = self._script.lost.get(number)
            if lost is Lost.NOT_APPLIED:
                break
            outcome = self._watch.commit(self._script, self._store, multi)
            if lost is Lost.APPLIED:
                break
            outcomes.append(outcome)
        return outcomes + [Unknown("the answer was lost")] * (len(multis) - len(outcomes))

    def _step(self, kind: str, paths: Sequence[str]) -> int:
        return self._script.step(f"{self.name} {kind} {paths[0] if paths else ''}")
