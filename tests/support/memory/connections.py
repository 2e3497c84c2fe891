# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sessions with memory ensembles that may go back: no member asks what the client has seen before.

The adapter reads through them, with its own requests and bytes, as it does through a session of kazoo.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Multi,
    Outcome,
    Query,
    QueryAnswer,
    Znode,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.client import ConnectionLog
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.reader import Reader
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.session import Session
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.sockets import PendingReply
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.window import RequestWindow
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    CONNECTION_LOSS,
    Answer,
    Request,
)
from support.memory.interleaving import Script, WatchedStore
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.scene import Scene
from support.memory.wire import answer

_SECONDS = 5.0


class ErrorCode(Exception):
    """An answer with an error, as kazoo keeps it."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class MemorySession(Session):
    """A session whose member answers each request when it is sent; answers arrive when they are waited for.

    requests: type of each request that was sent.
    before_answer: number of an answer, from 0 → what happens before it arrives.
    errors: number of an answer → the error that it has instead.
    """

    def __init__(self, store: MemoryStore, seconds: float = _SECONDS) -> None:
        self.label = f"ensemble {store.name}"
        self.store = store
        self.requests: list[int] = []
        self.before_answer: dict[int, Callable[[], object]] = {}
        self.errors: dict[int, int] = {}
        self.options = EnsembleOptions(store.name, ("memory.example:2181",), operation_timeout=seconds)
        self._options = self.options
        self._log = ConnectionLog()
        self.window = RequestWindow()
        self._breaks = 0
        self._answered = 0
        self._under_way: deque[tuple[Request, PendingReply, tuple[int, bytes]]] = deque()

    @property
    def session_id(self) -> int:
        """The id of the session of the store."""
        return self.store.session_id

    def reconnect(self, member: int) -> None:
        """Lose the connection with all answers under way, and connect to a member as it is."""
        under_way, self._under_way = self._under_way, deque()
        for _request, reply, _answer in under_way:
            reply.set_exception(ErrorCode(CONNECTION_LOSS))
        self._breaks += 1
        self.store.member = member

    def wait_connected(self, deadline: float) -> bool:
        """There is always a connection."""
        return True

    def send(self, request: Request) -> PendingReply:
        """Let the member answer."""
        self.requests.append(request.type)
        reply = PendingReply(lambda: self._breaks)
        self._under_way.append((request, reply, answer(self.store, request.type, request.serialize())))
        return reply

    def wait(self, result: PendingReply, deadline: float) -> Answer:
        """Let the answers arrive, in order, up to that of the request."""
        while not result.wait(0.0) and self._under_way and time.monotonic() < deadline:
            self._arrive()
        return super().wait(result, deadline)

    def close(self) -> None:
        """End the session."""
        self.store.expire()

    def _arrive(self) -> None:
        number, self._answered = self._answered, self._answered + 1
        self.before_answer.pop(number, lambda: None)()
        if not self._under_way:
            return
        request, reply, (error, body) = self._under_way.popleft()
        error = self.errors.get(number, error)
        if error:
            reply.set_exception(ErrorCode(error))
        else:
            reply.set(request.deserialize(body, 0))

    def _ended(self) -> bool:
        return False


def open_store(
    ensemble: MemoryEnsemble, member: int, seconds: float = _SECONDS
) -> tuple[ZooKeeperStore, MemorySession]:
    """Return a store of the adapter that is connected to a member, and its session."""
    session = MemorySession(ensemble.open(member), seconds)
    store = ZooKeeperStore(session.options, session)
    session.requests.clear()
    session._answered = 0
    return store, session


class ReconnectingStore(MemoryStore):
    """Reads through the adapter, over a session that `go_back` connects to the member that knows least.

    Writes are made as a MemoryStore makes them, so that a watch can judge each.
    """

    def __init__(self, served: MemoryStore) -> None:
        self.ensemble = served.ensemble
        self._served = served
        self._session = MemorySession(served)
        self._reader = Reader(self._session.options, self._session)
        self.session_id = served.session_id

    @property
    def name(self) -> str:
        """What messages call the ensemble, or the member."""
        return self._served.name

    def go_back(self, to: int = 0) -> None:
        """Lose the connection, and connect to the member that knows least.

        to: the number of a transaction that the member has applied, at least.
        """
        member = min(self.ensemble.members, key=self.ensemble.applied)
        self.ensemble.catch_up(member, to)
        self.connect_to(member)

    def connect_to(self, member: int) -> None:
        """Lose the connection, and connect to a member, which takes the session as it is."""
        self._session.reconnect(member)

    def expire(self) -> None:
        """End the session; the next request begins a new one."""
        self._served.expire()
        self.session_id = self._served.session_id

    def replace_session(self) -> None:
        """Begin a new session while the former one lives on."""
        self._served.replace_session()
        self.session_id = self._served.session_id

    def end_former_sessions(self) -> None:
        """End the sessions that were replaced."""
        self._served.end_former_sessions()

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does; there is no chroot, so that every path is absolute."""
        return self._reader.read(paths)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        return self._reader.children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """As a ZnodeReader does."""
        return self._reader.ask(queries)

    def sync(self, path: str) -> None:
        """Send a sync, which is not waited for."""
        self._reader.sync(path)

    def commit_one(self, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply a multi; its answer is lost with the connection."""
        outcome = self._served.commit_one(multi, answered=answered)
        if not answered:
            self.go_back()
        return outcome

    def members(self) -> Sequence[MemoryStore]:
        """A session with each member."""
        return [ReconnectingStore(each) for each in self._served.members()]


class ReconnectingScene(Scene):
    """A scene whose runs are connected to the leaders, until `go_back` connects them to who knows least."""

    def sessions(self, script: Script) -> tuple[WatchedStore, WatchedStore]:
        """Open sessions with hot and cold."""
        self._stores = [ReconnectingStore(each.open()) for each in (self.hot, self.cold)]
        hot, cold = (WatchedStore(each, script, self.watch) for each in self._stores)
        return hot, cold

    def end_sessions(self) -> None:
        """Forget the last run, whose connections cannot be copied."""
        self._stores = []
        del self._last

    def go_back(self) -> None:
        """Let the last run lose both connections; the next members know nothing of the run."""
        for each in self._stores:
            each.go_back()

    def go_back_a_bit(self) -> None:
        """Let the last run lose both connections; the next members know all but the last transaction."""
        for each in self._stores:
            each.go_back(each.ensemble.history.last - 1)

    def act_and_go_back(self, act: Callable[[], object], later: Script, number: int) -> Callable[[], None]:
        """Return an action that lets the run lose both connections at a later operation.

        The next members know all that was before the act.
        """

        def do() -> None:
            known = [each.ensemble.history.last for each in self._stores]
            act()

            def lose() -> None:
                for store, to in zip(self._stores, known):
                    store.go_back(to)

            later.actions[number] = lose

        return do
