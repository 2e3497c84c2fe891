# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ensembles in memory, shared by any number of sessions, with members that may be behind.

A commit is applied by the leader at once, and by any other member no sooner than ZooKeeper makes it: when a
session of the member syncs, or gets the answer to a write, or comes from a member that was further. A test
may let a member catch up at other times, too. ``tests/integration/test_memory.py`` shows that they answer as
a real ensemble does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.multi_batches import MAX_OPS
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import (
    ask_one_by_one,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Delete,
    Multi,
    Outcome,
    Query,
    QueryAnswer,
    Znode,
)
from support.memory.history import History

LEADER = 0
"""The number of the member that applies every commit at once."""

START = 1_600_000_000.0
"""What the clock says at first, in seconds since 1970."""


class ManualClock:
    """Implements Clock; time passes when somebody sleeps, or by hand."""

    def __init__(self, now: float = START) -> None:
        self.time = now

    def now(self) -> float:
        """Seconds since 1970."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.time += seconds


class MemoryEnsemble:
    """The history of one ensemble and how far each member is; `open` gives a session with it.

    Reads of the ensemble itself are answered by the leader.
    """

    def __init__(self, name: str, clock: ManualClock | None = None, members: int = 1) -> None:
        self.name = name
        self.clock = clock or ManualClock()
        self.history = History()
        self._applied = [0] * members
        self._times: list[tuple[float, int]] = []
        self._sessions = 0

    def open(self, member: int = LEADER) -> MemoryStore:
        """Return a store with a session of its own, which is connected to that member."""
        store = MemoryStore(self)
        store.member = member
        return store

    @property
    def members(self) -> range:
        """The numbers of the members."""
        return range(len(self._applied))

    def applied(self, member: int) -> int:
        """The number of the last transaction that the member has applied."""
        return self.history.last if member == LEADER else self._applied[member]

    def catch_up(self, member: int, to: int | None = None) -> None:
        """Let the member apply all transactions up to that one, or up to the last one there is."""
        until = self.history.last if to is None else to
        self._applied[member] = max(self._applied[member], until)

    def settle(self) -> None:
        """Let all members catch up, and forget how they got there."""
        for member in self.members:
            self.catch_up(member)
        self.history.forget(self.history.last)
        self._times = [(self.clock.now(), self.history.last)]

    def new_session(self) -> int:
        """Return the id of a session that nobody else has."""
        self._sessions += 1
        return self._sessions

    def end_session(self, session_id: int) -> None:
        """Delete the ephemeral znodes of a session, as when it expires."""
        for path in list(self.history.paths()):
            znode, _names = self.history.newest(path)
            if znode is not None and znode.stat.ephemeral_owner == session_id:
                self.commit(session_id, (Delete(path, znode.stat.version),))

    def commit(self, session_id: int, multi: Multi) -> Outcome:
        """Apply one multi."""
        now = self.clock.now()
        outcome = self.history.apply(multi, session_id, int(now * 1000))
        if self._times and self._times[-1][0] == now:
            self._times.pop()
        self._times.append((now, self.history.last))
        return outcome

    def last_at(self, seconds: float) -> int:
        """The number of the last transaction up to that time, in seconds since 1970."""
        return next((last for time, last in reversed(self._times) if time <= seconds), 0)

    def set_time(self, path: str, seconds: float) -> None:
        """Make a znode look as if it had been created and written at that time."""
        self.history.replace_stat(path, ctime=int(seconds * 1000), mtime=int(seconds * 1000))

    def read(self, paths: Sequence[str], member: int = LEADER) -> list[Znode | None]:
        """As a ZnodeReader does that is connected to the member."""
        at = self.applied(member)
        return [self.history.znode(path, at) for path in paths]

    def children(self, paths: Sequence[str], member: int = LEADER) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does that is connected to the member."""
        at = self.applied(member)
        names = [self.history.names(path, at) for path in paths]
        return [None if each is None else tuple(sorted(each)) for each in names]

    def tree(self, path: str = "/") -> dict[str, Znode]:
        """Every znode at and below the path, parents first."""
        prefix = f"{path.rstrip('/')}/"
        found = ((each, self.history.newest(each)[0]) for each in self.history.paths())
        return {
            each: znode
            for each, znode in found
            if znode is not None and (each == path or each.startswith(prefix))
        }

    def data(self, path: str = "/") -> dict[str, bytes]:
        """Path → data of every znode at and below the path."""
        return {each: znode.data for each, znode in self.tree(path).items()}


class MemoryStore:
    """Implements ZnodeStore; what it reads is as far as the member that it is connected to."""

    chroot = ""
    server_id = 1
    ops_at_once = MAX_OPS

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        self.ensemble = ensemble
        self.session_id = ensemble.new_session()
        self.member = LEADER
        self._seen = 0
        self._former_sessions: list[int] = []

    @property
    def name(self) -> str:
        """What messages call the ensemble."""
        return self.ensemble.name

    @property
    def addresses(self) -> tuple[str, ...]:
        """An address that differs from that of every other ensemble."""
        return (f"{self.ensemble.name}.example:2181",)

    def expire(self) -> None:
        """End the session; the next request begins a new one, which may know less."""
        self.ensemble.end_session(self.session_id)
        self.session_id = self.ensemble.new_session()

    def replace_session(self) -> None:
        """Begin a new session, as at a reconnection with ClickHouse Keeper.

        The former session and its ephemeral znodes are there until `end_former_sessions`.
        """
        self._former_sessions.append(self.session_id)
        self.session_id = self.ensemble.new_session()

    def end_former_sessions(self) -> None:
        """End the sessions that were replaced."""
        while self._former_sessions:
            self.ensemble.end_session(self._former_sessions.pop(0))

    def connect_to(self, member: int) -> None:
        """Move the session to another member, which does not take it before it is as far."""
        self.ensemble.catch_up(member, self._seen)
        self.member = member

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does; there is no chroot, so that every path is absolute."""
        self._see()
        return self.ensemble.read(paths, self.member)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        self._see()
        return self.ensemble.children(paths, self.member)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """As a ZnodeReader does; something else may come between any two answers."""
        return ask_one_by_one(self, queries)

    def sync(self, path: str) -> None:
        """Let the member catch up."""
        self.ensemble.catch_up(self.member)
        self._see()

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Apply the multis in order."""
        return [self.commit_one(multi) for multi in multis]

    def commit_one(self, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply a multi; the member answers when it has applied it itself, also where it is rejected."""
        outcome = self.ensemble.commit(self.session_id, multi)
        if answered:
            self.ensemble.catch_up(self.member)
            self._see()
        return outcome

    def members(self) -> Sequence[MemoryStore]:
        """A session with each member."""
        if len(self.ensemble.members) == 1:
            return [self]
        return [MemoryMember(self.ensemble, member) for member in self.ensemble.members]

    def _see(self) -> None:
        self._seen = self.ensemble.applied(self.member)


class MemoryMember(MemoryStore):
    """A direct connection to one member."""

    def __init__(self, ensemble: MemoryEnsemble, member: int) -> None:
        super().__init__(ensemble)
        self.member = member

    @property
    def name(self) -> str:
        """The address of the member."""
        return f"{self.ensemble.name}{self.member + 1}.example:2181"
