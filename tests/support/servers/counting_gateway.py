# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gateway in front of an HTTP server that counts connections and requests, and can cut connections."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from types import TracebackType
from typing import Self

_CHUNK = 64 * 1024
_REQUEST = b"POST /?"
"""What each request of the collection begins with, and no query has."""


class CountingGateway:
    """Passes on all that is said in both directions, TLS included, of which it cannot count requests."""

    def __init__(self, host: str, port: int) -> None:
        """Listen in front of a server; from `__enter__` on something is passed on."""
        self.connections = 0
        """How many were made so far."""
        self.requests = 0
        """How many requests were begun so far."""
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        gateway = self

        class Handler(BaseRequestHandler):
            """Passes on one connection."""

            def handle(self) -> None:
                gateway._pass_on(self.request, (host, port))

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def __enter__(self) -> Self:
        """Begin to pass on."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cut all connections and listen no more."""
        self._server.shutdown()
        self.cut()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where clients connect on 127.0.0.1."""
        return int(self._server.server_address[1])

    def cut(self) -> None:
        """Close every connection, as a server does with those that were idle for some time."""
        with self._guard:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _pass_on(self, client: socket.socket, target: tuple[str, int]) -> None:
        with socket.create_connection(target) as server:
            with self._guard:
                self.connections += 1
                self._open |= {client, server}
            back = threading.Thread(target=_copy, args=(server, client))
            back.start()
            with suppress(OSError):
                while chunk := client.recv(_CHUNK):
                    with self._guard:
                        self.requests += chunk.count(_REQUEST)
                    server.sendall(chunk)
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            back.join()
            with self._guard:
                self._open -= {client, server}


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
