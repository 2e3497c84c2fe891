# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTTP interface of a server, as ClickHouse has it: POST a statement, get its rows or the error."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from support.servers.modern.engine import QueryFailed

_AUTHENTICATION_FAILED = 516
_OF_THE_INTERFACE = frozenset(
    {"query", "user", "password", "database", "default_format", "wait_end_of_query"}
)
"""Parameters that are not settings. An answer is always sent when the statement has come to its end."""


class RunsStatements(Protocol):
    """An engine inside this process."""

    def run(self, sql: str, form: str = ..., settings: Mapping[str, str] | None = None) -> bytes:
        """Run a statement and return what it gives, in the format that it names or in `form`.

        Raises:
            QueryFailed: the engine refuses it, or a setting.
        """


class SqlInterface(ThreadingHTTPServer):
    """Listens on 127.0.0.1; each request has a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, engine: RunsStatements, version: str, users: Mapping[str, str]) -> None:
        """Begin to listen; `users` has a password for each name, "" where none is needed."""
        self.engine = engine
        self.version = version
        self.users = users
        super().__init__(("127.0.0.1", port), _Request)


class _Request(BaseHTTPRequestHandler):
    server: SqlInterface
    # Headers and body are sent together: the second of two writes would wait 40 ms for the other side.
    wbufsize = -1

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/ping":
            self._answer(HTTPStatus.OK, b"Ok.\n")
        else:
            self.do_POST()

    def do_POST(self) -> None:
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        try:
            self._check_user(given)
            settings = {name: value for name, value in given.items() if name not in _OF_THE_INTERFACE}
            # The data of an INSERT may follow its statement.
            sql = "\n".join(part for part in (given.get("query", ""), body) if part)
            form = given.get("default_format", "TabSeparated")
            self._answer(HTTPStatus.OK, self.server.engine.run(sql, form, settings))
        except QueryFailed as error:
            self._refuse(error)

    def _check_user(self, given: Mapping[str, str]) -> None:
        user = given.get("user") or self._header("X-ClickHouse-User") or "default"
        password = given.get("password") or self._header("X-ClickHouse-Key")
        if self.server.users.get(user) != password:
            raise QueryFailed(
                f"Code: {_AUTHENTICATION_FAILED}. DB::Exception: {user}: Authentication failed: password is "
                "incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)"
            )

    def _header(self, name: str) -> str:
        # http.server takes headers for Latin-1.
        return str(self.headers.get(name, "")).encode("latin-1").decode()

    def _refuse(self, error: QueryFailed) -> None:
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        if error.code == _AUTHENTICATION_FAILED:
            status = HTTPStatus.FORBIDDEN
        text = f"{error} (version {self.server.version} (official build))\n"
        self._answer(status, text.encode(), {"X-ClickHouse-Exception-Code": str(error.code)})

    def _answer(self, status: HTTPStatus, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the parent class
        """Say nothing: the engine logs statements itself."""
