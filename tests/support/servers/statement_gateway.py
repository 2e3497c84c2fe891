# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gateway in front of a server, where something happens at a chosen statement of a move between twins."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import NO_PART
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.sql import literal

_SECONDS = 600.0
_PASSED_ON = frozenset({"x-clickhouse-exception-code", "content-type"})


class Moment(NamedTuple):
    """A statement of a run that moves partitions between twins.

    attaches: how many ATTACH there were, this one included, since the moment was set.
    drops: how many DROP PART followed the last of these; 0 for the ATTACH itself. A later partition is taken
        where that one has not as many parts.
    given: whether the server carries the statement out before anything happens, and only its answer waits.
    """

    attaches: int
    drops: int
    given: bool


class StatementGateway:
    """Passes requests on, each in a thread of its own, to a server on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        """Listen in front of the port; from `__enter__` on something is passed on."""
        self._target = port
        self._guard = threading.Lock()
        self._moment: Moment | None = None
        self._act: Callable[[], bool] = lambda: True
        self._attaches = self._drops = 0
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            """Passes on one request."""

            # Headers and body are sent together.
            wbufsize = -1

            def do_POST(self) -> None:
                # Either side may be killed meanwhile, and then nobody is told anything.
                with suppress(OSError, http.client.HTTPException):
                    gateway._pass_on(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where clients connect on 127.0.0.1."""
        return int(self._server.server_address[1])

    def at(self, moment: Moment, act: Callable[[], bool]) -> None:
        """Do something at the moment, once; it says whether the statement or its answer is passed on then."""
        with self._guard:
            self._moment, self._act = moment, act
            self._attaches = self._drops = 0

    def forget(self) -> None:
        """Let nothing happen at a moment that has not come yet."""
        with self._guard:
            self._moment = None

    @property
    def is_waiting(self) -> bool:
        """Whether the moment has not come yet."""
        return self._moment is not None

    def _is_due(self, sql: str) -> Moment | None:
        """The moment, if it is this one."""
        with self._guard:
            if " ATTACH PARTITION " in sql:
                self._attaches, self._drops = self._attaches + 1, 0
            elif " DROP PART " in sql and literal(NO_PART) not in sql:
                self._drops += 1
            else:
                return None
            moment = self._moment
            if moment is None or self._attaches < moment.attaches or self._drops != moment.drops:
                return None
            self._moment = None
            return moment

    def _pass_on(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        moment = self._is_due(body.decode())
        if moment is not None and not moment.given and not self._act():
            return
        connection = http.client.HTTPConnection("127.0.0.1", self._target, timeout=_SECONDS)
        try:
            connection.request(
                "POST",
                request.path,
                body,
                {name: value for name, value in request.headers.items() if name.startswith("X-")},
            )
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        if moment is not None and moment.given and not self._act():
            return
        request.send_response(response.status)
        request.send_header("Content-Length", str(len(answer)))
        for name, value in response.getheaders():
            if name.lower() in _PASSED_ON:
                request.send_header(name, value)
        request.end_headers()
        request.wfile.write(answer)
