# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ensemble of a stand-in: its log, its sessions, and the loop in which all members work."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from support.servers.keeper.connection import Session
from support.servers.keeper.manners import KEEPER, Manners
from support.servers.keeper.member import StandInMember
from support.servers.keeper.messages import Request
from support.servers.keeper.znode import Transaction
from support.servers.ports import ReservedPorts

_TICK_SECONDS = 0.1
_LONGEST_TIMEOUT = 100.0
_SHORTEST_TIMEOUT = 0.2

_T = TypeVar("_T")
EndOfSession = tuple[int, int, int]
"""Number of the transaction, id of the session that ends, and milliseconds since 1970."""


class KeeperStandIn:
    """Members that answer as Keeper's do, or as ZooKeeper's; a context manager that starts and ends them.

    All members work in one thread of this process. A transaction is applied by every member at once, except
    by those that hold back.
    """

    def __init__(self, members: int = 1, manners: Manners = KEEPER) -> None:
        """Reserve ports. No member runs yet."""
        self.manners = manners
        self.log: list[Transaction | EndOfSession] = []
        self.sessions: dict[int, Session] = {}
        self._opened = 0
        self._reserved = ReservedPorts()
        ports = [self._reserved.take() for _each in range(2 * members)]
        port_between = dict(enumerate(ports[members:], 1))
        role = "participant;1" if manners.is_keeper else "participant;0.0.0.0:2181"
        lines = [f"server.{n}=127.0.0.1:{port};{role}" for n, port in port_between.items()]
        self.members_text = "\n".join(lines) if manners.is_keeper or members > 1 else ""
        self.members = [StandInMember(self, n, port, manners) for n, port in enumerate(ports[:members], 1)]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="keeper", daemon=True)
        self._thread.start()
        self._loop.call_soon_threadsafe(self._tick)

    def __enter__(self) -> Self:
        """Start all members."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all members and give the ports back."""
        self.close()

    def close(self) -> None:
        """End all members and give the ports back."""
        self.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._reserved.release()

    @property
    def connect_string(self) -> str:
        """The addresses of all members, separated by commas."""
        return ",".join(member.address for member in self.members)

    def heal(self) -> None:
        """Let paused members go on, start those that do not run, and let all catch up."""
        for member in self.members:
            member.resume()
            member.start()
        self.run(self._hear_all)

    start = heal

    def kill(self) -> None:
        """End all members at once."""
        for member in self.members:
            member.kill()

    stop = kill

    def leader(self) -> StandInMember:
        """Return the member that leads."""
        return next(member for member in self.members if self.leads(member))

    def followers(self) -> list[StandInMember]:
        """Return the members that run and do not lead."""
        return [member for member in self._serving() if not self.leads(member)]

    def leads(self, member: StandInMember) -> bool:
        """Whether it is the first that works."""
        return self._serving()[:1] == [member]

    def has_majority(self) -> bool:
        """Whether more than half of the members work."""
        return 2 * len(self._serving()) > len(self.members)

    # In the thread of the members.

    def run(self, act: Callable[[], _T]) -> _T:
        """Do something in the thread of the members, and return its result."""

        async def acted() -> _T:
            return act()

        return self.call(acted())

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for something in the thread of the members, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def new_session(self, myid: int, timeout: float) -> Session:
        """Return a session that nobody has."""
        self._opened += 1
        number = self._opened if self.manners.is_keeper else (myid << 56) + self._opened
        granted = min(max(timeout, _SHORTEST_TIMEOUT), _LONGEST_TIMEOUT)
        session = self.sessions[number] = Session(number, granted, self._loop.time())
        return session

    def append(self, session: Session, request: Request) -> int:
        """Add a transaction to the log, and return how long the log is."""
        entry = Transaction(self._next_zxid(), _now(), session.number, session.identities, request)
        self.log.append(entry)
        return len(self.log)

    def end_session(self, session: Session) -> None:
        """Add the end of a session to the log, for all members."""
        if self.sessions.pop(session.number, None) is not None:
            self.log.append((self._next_zxid(), session.number, _now()))
            self.spread()

    def spread(self) -> None:
        """Let all members that work and do not hold back apply the log."""
        for member in self._serving():
            if not member.holds_back:
                member.apply(len(self.log))

    def _hear_all(self) -> None:
        """A new leader gives each session its whole timeout."""
        for session in self.sessions.values():
            session.seen = self._loop.time()

    def _next_zxid(self) -> int:
        return len(self.log) + 1

    def _serving(self) -> list[StandInMember]:
        return [member for member in self.members if member.running and not member.paused]

    def _tick(self) -> None:
        if self.has_majority():
            now = self._loop.time()
            for session in [each for each in self.sessions.values() if now > each.seen + each.timeout]:
                connection = session.connection
                self.end_session(session)
                if connection is not None:
                    connection.close()
        self._loop.call_later(_TICK_SECONDS, self._tick)


def _now() -> int:
    return int(time.time() * 1000)
