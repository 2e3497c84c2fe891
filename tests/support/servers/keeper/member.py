# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One member: the transactions that it has applied, its watches, and what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from support.servers.keeper.connection import Connection, Session
from support.servers.keeper.manners import Manners
from support.servers.keeper.messages import (
    EXISTS,
    FILTERED_LIST,
    GET_CHILDREN,
    GET_CHILDREN2,
    SYNC,
    Answer,
    Request,
    event,
)
from support.servers.keeper.tree import Tree
from support.servers.keeper.znode import CHILD, DELETED, NO_NODE, READ, Event, Transaction, may

if TYPE_CHECKING:
    from support.servers.keeper.ensemble import KeeperStandIn

_CONNECTION_LOSS = -4
_LISTS = (GET_CHILDREN, GET_CHILDREN2, FILTERED_LIST)
_ACCEPTING = "_accept_connection"
"""The name of asyncio's task that accepts a connection."""


class StandInMember:
    """Implements Serving for one address.

    holds_back: whether the member applies only what a client of its own writes or syncs with.
    requests: type of each request that its clients sent, apart from pings.
    """

    def __init__(self, ensemble: KeeperStandIn, myid: int, port: int, manners: Manners) -> None:
        self._ensemble = ensemble
        self._manners = manners
        self.myid = myid
        self.port = port
        self.running = False
        self.paused = False
        self.holds_back = False
        self.requests: list[int] = []
        self.tree = Tree(manners, ensemble.members_text.encode())
        self.applied = 0
        self._zxid = 0
        self._server: asyncio.Server | None = None
        self.connections: set[Connection] = set()
        self._watches: dict[bool, dict[str, set[Connection]]] = {True: {}, False: {}}

    @property
    def address(self) -> str:
        """Where clients connect, as 127.0.0.1:port."""
        return f"127.0.0.1:{self.port}"

    @property
    def zxid(self) -> int:
        """The number of the last transaction that the member has applied."""
        return self._zxid

    @property
    def is_keeper(self) -> bool:
        """Whether the manners are those of Keeper."""
        return self._manners.is_keeper

    @property
    def multi_read(self) -> bool:
        """Whether there is multiRead."""
        return self._manners.multi_read

    def start(self) -> None:
        """Serve clients."""
        self._ensemble.call(self._listen())

    def kill(self) -> None:
        """End at once; what was applied stays, as on a disk."""
        self._ensemble.call(self._end())

    stop = kill
    spawn = start

    def pause(self) -> None:
        """Freeze: connections stay open, nobody answers, nothing is applied."""
        self._ensemble.run(lambda: setattr(self, "paused", True))

    def resume(self) -> None:
        """Go on."""
        self._ensemble.run(self._go_on)

    def cut(self) -> int:
        """Lose all connections, not their sessions; return how many there were."""
        return self._ensemble.run(self._lose_connections)

    def hold_back(self) -> None:
        """Stay behind the others until a client of this member writes or syncs, or `catch_up`."""
        self._ensemble.run(lambda: setattr(self, "holds_back", True))

    def catch_up(self) -> None:
        """Apply all there is, and whatever comes."""
        self._ensemble.run(self._catch_up)

    def mode(self) -> str | None:
        """Return standalone, leader or follower; None when the member does not serve."""
        if not self.running or self.paused or not self.has_leader():
            return None
        if len(self._ensemble.members) == 1:
            return "standalone"
        return "leader" if self._ensemble.leads(self) else "follower"

    # What the connections ask.

    def open_session(self, session_id: int, password: bytes, timeout: float) -> Session | None:
        """Return the session of a client; Keeper ignores the id that it brings."""
        if session_id and not self.is_keeper:
            session = self._ensemble.sessions.get(session_id)
            return session if password == self.password(session_id) else None
        return self._ensemble.new_session(self.myid, timeout)

    def refuses(self, seen: int) -> bool:
        """Whether the client has seen more than this member, and the manners are to ask."""
        return self._manners.asks_what_was_seen and seen > self.zxid

    def has_leader(self) -> bool:
        """Whether a majority of the members runs."""
        return self._ensemble.has_majority()

    def write(self, connection: Connection, request: Request) -> Answer:
        """Let all members apply the request; return the answer of this one."""
        self.requests.append(request.kind)
        assert connection.session is not None
        answer = Answer(0)
        if request.kind != SYNC:
            number = self._ensemble.append(connection.session, request)
            answer = self.apply(number) or answer
        else:
            self.apply(len(self._ensemble.log))
        self._ensemble.spread()
        return answer

    def read(self, connection: Connection, request: Request) -> Answer:
        """Answer a read, and keep its watch."""
        self.requests.append(request.kind)
        assert connection.session is not None
        answer = self.tree.read(request, connection.session.identities)
        is_awaited = request.kind == EXISTS and answer.error == NO_NODE
        if request.watch and (is_awaited or not answer.error):
            watches = self._watches[request.kind in _LISTS]
            watches.setdefault(request.path, set()).add(connection)
        return answer

    def end_session(self, session: Session) -> None:
        """Let all members end the session."""
        self._ensemble.end_session(session)
        self.apply(len(self._ensemble.log))

    def forget(self, connection: Connection) -> None:
        """Forget a connection and its watches."""
        self.connections.discard(connection)
        for watches in self._watches.values():
            for path in [path for path, those in watches.items() if connection in those]:
                watches[path].discard(connection)
        if connection.session is not None and connection.session.connection is connection:
            connection.session.connection = None

    def password(self, session_id: int) -> bytes:
        """Return sixteen bytes that only the ensemble knows to be those of the session."""
        return session_id.to_bytes(8, "big") + bytes(8) if session_id else bytes(16)

    def four_letter(self, word: str) -> str | None:
        """Answer a four-letter command that this stand-in knows; None for something else."""
        answers: dict[str, Callable[[], str]] = {"srvr": self._srvr, "mntr": self._mntr}
        answers["dump"] = lambda: "".join(f"0x{each:x}\n" for each in self._ensemble.sessions)
        answers["ruok"] = lambda: "imok"
        if self.is_keeper:
            answers["conf"] = lambda: f"server_id={self.myid}\ntcp_port={self.port}\n"
        answer = answers.get(word)
        return None if answer is None else answer()

    # What the ensemble tells.

    def apply(self, until: int) -> Answer | None:
        """Apply the log up to that number of entries; return the answer to the last one."""
        answer = None
        while self.applied < until:
            entry = self._ensemble.log[self.applied]
            self.applied += 1
            if isinstance(entry, Transaction):
                self._zxid = entry.zxid
                answer, events = self.tree.write(entry)
            else:
                self._zxid, session_id, time = entry
                events = self.tree.end_session(session_id, self._zxid, time)
            self._fire(events)
        return answer

    def _fire(self, events: list[Event]) -> None:
        for each in events:
            kinds = (True,) if each.kind == CHILD else (True, False) if each.kind == DELETED else (False,)
            told: set[Connection] = set()
            for is_list in kinds:
                told |= self._watches[is_list].pop(each.path, set())
            for connection in told:
                # ZooKeeper tells only those who may read the znode, since CVE-2024-23944.
                if self.is_keeper or may(each.znode, READ, connection.identities):
                    connection.send(event(each.kind, each.path))

    def without_leader(self, connection: Connection) -> Answer:
        """Answer that the connection is lost, as Keeper does over one that is not; ZooKeeper ends it."""
        if not self.is_keeper:
            connection.close()
        return Answer(_CONNECTION_LOSS)

    def _srvr(self) -> str:
        name = "ClickHouse Keeper" if self.is_keeper else "Zookeeper"
        mode = self.mode()
        if mode is None:
            return "This ZooKeeper instance is not currently serving requests\n"
        return (
            f"{name} version: stand-in\nLatency min/avg/max: 0/0/0\nReceived: 0\nSent: 0\n"
            f"Connections: {len(self.connections)}\nOutstanding: 0\nZxid: 0x{self.zxid:x}\nMode: {mode}\n"
            f"Node count: {len(self.tree)}\n"
        )

    def _mntr(self) -> str:
        values = {
            "zk_server_state": self.mode(),
            "zk_znode_count": len(self.tree),
            "zk_ephemerals_count": self.tree.ephemerals(),
            "zk_num_alive_connections": len(self.connections),
        }
        return "".join(f"{name}\t{value}\n" for name, value in values.items())

    async def _listen(self) -> None:
        if self.running:
            return
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connected, "127.0.0.1", self.port)
        self.running = True
        self._catch_up()

    def _connected(self) -> Connection:
        connection = Connection(self)
        self.connections.add(connection)
        return connection

    async def _end(self) -> None:
        if self._server is not None:
            # asyncio leaves a connection open that is just being accepted when the server closes.
            while accepting := [task for task in asyncio.all_tasks() if _ACCEPTING in repr(task)]:
                await asyncio.wait(accepting)
            self._server.close()
            self._server = None
        self.running = self.paused = False
        self._lose_connections()

    def _lose_connections(self) -> int:
        lost = list(self.connections)
        for connection in lost:
            connection.close()
        return len(lost)

    def _catch_up(self) -> None:
        self.holds_back = False
        self.apply(len(self._ensemble.log))

    def _go_on(self) -> None:
        self.paused = False
        self._catch_up()
        for connection in list(self.connections):
            connection.take()
