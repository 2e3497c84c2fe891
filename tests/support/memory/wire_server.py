# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server in front of a memory ensemble, which accepts every client whatever it has seen.

It is a stand-in for ZooKeeper, or for ClickHouse Keeper: its session ids do not tell the server, a znode of a
multiRead that is missing has a form of its own, and ``conf`` tells the number of the server.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from types import TracebackType

from support.memory.memory import MemoryEnsemble
from support.memory.wire import answer

_INT = Struct("!i")
_CONNECT = Struct("!iqiq")
_ACCEPTED = Struct("!iiqi")
_REQUEST = Struct("!ii")
_REPLY = Struct("!iqi")
_PASSWORD = bytes(16)
_TIMEOUT_MILLISECONDS = 30_000
_PING, _CLOSE = 11, -11
_CONF = b"conf"


class WireServer:
    """Serves one address, behind which `reconnect` and `expire` put other members.

    requests: type of each request.
    last_zxids: what each client said that it has seen, in the order of the connections.
    on_request: called with the type of a request before the answer.
    keeper: what a ClickHouse Keeper answers to ``conf``; None for a ZooKeeper.
    """

    def __init__(self, ensemble: MemoryEnsemble, member: int, keeper: str | None = None) -> None:
        self.keeper = keeper
        self.requests: list[int] = []
        self.last_zxids: list[int] = []
        self.on_request: Callable[[int], object] = lambda _kind: None
        self._store = ensemble.open(member)
        self._is_expired = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> WireServer:
        """Return self, which listens already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections and listen no more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._disconnect()

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def reconnect(self, member: int) -> int:
        """Lose all connections, and return how many; the next ones are with that member, as it is."""
        self._store.member = member
        return self._disconnect()

    def expire(self, member: int) -> None:
        """Lose all connections; the next one begins a new session with that member."""
        self._is_expired = True
        self.reconnect(member)

    def _disconnect(self) -> int:
        connections, self._connections = self._connections, []
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        return len(connections)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _address = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            first = _exactly(connection, _INT.size)
            if first == _CONF:
                connection.sendall((self.keeper or "").encode())
                return
            _protocol, zxid, _timeout, session_id = _CONNECT.unpack_from(_receive(connection, first))
            is_expired, self._is_expired = self._is_expired and session_id != 0, False
            timeout = 0 if is_expired else _TIMEOUT_MILLISECONDS
            accepted = _ACCEPTED.pack(0, timeout, self._store.session_id, len(_PASSWORD))
            _send(connection, accepted + _PASSWORD + b"\0")
            if is_expired:
                return
            self._connections.append(connection)
            self.last_zxids.append(zxid)
            while self._answer_one(connection):
                pass

    def _answer_one(self, connection: socket.socket) -> bool:
        request = _receive(connection)
        xid, kind = _REQUEST.unpack_from(request)
        error, body = 0, b""
        if kind not in (_PING, _CLOSE):
            self.requests.append(kind)
            self.on_request(kind)
            if connection not in self._connections:
                return False
            error, body = answer(self._store, kind, request[_REQUEST.size :], keeper=self.keeper is not None)
        zxid = self._store.ensemble.applied(self._store.member)
        _send(connection, _REPLY.pack(xid, zxid, error) + body)
        return bool(kind != _CLOSE)


def _receive(connection: socket.socket, first: bytes = b"") -> bytes:
    """Receive a message; ``first``: its first bytes, which have its size."""
    (size,) = _INT.unpack(first or _exactly(connection, _INT.size))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_INT.pack(len(data)) + data)
