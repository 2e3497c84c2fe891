# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ClickHouse servers of the tests that run: their processes, and statements over their HTTP interface."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from support.servers.ports import ReservedPorts
from support.servers.process import ServerProcess
from support.servers.server import Server

QUERY_SECONDS = 300.0


class QueryError(RuntimeError):
    """ClickHouse refused a query; the text is its own, with its code."""


class SqlServer(Server):
    """What servers of all releases have in common."""

    def __init__(
        self, name: str, folder: Path, process: ServerProcess, reserved: ReservedPorts, http_port: int
    ) -> None:
        """Take a process that is not started yet, and the ports that are reserved for it.

        folder: where the configuration, the data and the log are.
        http_port: the port of the HTTP interface on 127.0.0.1.
        """
        super().__init__(process)
        self.name = name
        self.folder = folder
        self.http_port = http_port
        self._reserved = reserved

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and give its ports back."""
        self.close()

    @property
    def data_dir(self) -> Path:
        """The folder of all data."""
        return self.folder / "data"

    def restart(self) -> None:
        """Stop and start; the data and the ports stay.

        Raises:
            ServerError: it did not come back; the text holds the end of its log.
        """
        self.stop()
        self.start()

    def close(self) -> None:
        """End the server and give its ports back; the data stays in `folder`."""
        self.kill()
        self._reserved.release()

    def serving(self) -> bool:
        """Whether the HTTP interface answers now."""
        try:
            return self._request("GET", "/ping", b"", 10.0)[0] == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def execute(self, sql: str, **settings: int | str) -> str:
        """Run one statement and return the server's answer as text ("" for most statements).

        Raises:
            QueryError: the server refused the statement.
            OSError: the server does not answer.
        """
        target = "/?" + urllib.parse.urlencode(settings)
        status, body = self._request("POST", target, sql.encode(), QUERY_SECONDS)
        if status != http.client.OK:
            raise QueryError(f"{self.name}: {body.strip()} [{sql}]")
        return body

    def query(self, sql: str, **settings: int | str) -> list[tuple[Any, ...]]:
        """Run a SELECT (or SHOW) and return its rows; numbers are int or float, all else is text.

        Raises:
            QueryError: the server refused the statement.
            OSError: the server does not answer.
        """
        as_numbers = {"output_format_json_quote_64bit_integers": 0, **settings}
        return [
            tuple(row) for row in json.loads(self.execute(f"{sql} FORMAT JSONCompact", **as_numbers))["data"]
        ]

    def value(self, sql: str, **settings: int | str) -> Any:
        """Return the only value of a SELECT.

        Raises:
            QueryError: the server refused the statement, or answered with more or less than one value.
        """
        rows = self.query(sql, **settings)
        if len(rows) != 1 or len(rows[0]) != 1:
            raise QueryError(f"{self.name}: one value was expected, {rows!r} came [{sql}]")
        return rows[0][0]

    def replicated_tables(self) -> set[str]:
        """Databases and names of the replicated tables, quoted."""
        rows = self.query("SELECT database, name FROM system.tables WHERE engine LIKE 'Replicated%'")
        return {f"{_quoted(database)}.{_quoted(name)}" for database, name in rows}

    def _request(self, method: str, target: str, body: bytes, seconds: float) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=seconds)
        try:
            connection.request(method, target, body)
            response = connection.getresponse()
            return response.status, response.read().decode("utf-8", "surrogateescape")
        finally:
            connection.close()


ServerT = TypeVar("ServerT", bound=SqlServer)


class SqlServers(Generic[ServerT]):
    """Servers that belong together; as a context manager they are started and stopped."""

    def __init__(self, servers: Sequence[ServerT]) -> None:
        """Take servers that are made but not started."""
        self.servers = list(servers)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start all servers at the same time."""
        with ExitStack() as stack:
            for server in self.servers:
                stack.callback(server.close)
                server.spawn()
            for server in self.servers:
                server.wait()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all servers."""
        self._stack.close()

    @contextmanager
    def detaching_new_tables(self) -> Iterator[None]:
        """Detach the replicated tables that are created meanwhile, on servers that run all the time.

        Otherwise each costs its servers and its ensemble some work every second. Its data and znodes stay.
        """
        before = [(server, server.replicated_tables()) for server in self.servers if server.running]
        yield
        for server, known in before:
            for table in sorted(server.replicated_tables() - known) if server.running else ():
                server.execute(f"DETACH TABLE {table}")

    def execute(self, sql: str, **settings: int | str) -> None:
        """Run one statement on every server, one after the other.

        Raises:
            QueryError: a server refused it.
        """
        for server in self.servers:
            server.execute(sql, **settings)


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
