# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries over the HTTP interface of a ClickHouse server."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import urlencode

from .._partmove.errors import PartMoveError, ServerAway, UserRefused
from .._partmove.text import shortened
from .options import ClickHouseOptions
from .plain_settings import FIRST, NO_OFFSET, PLAIN, SQL, differing, forbidden_setting
from .query_errors import (
    REFUSED_USER,
    UNFINISHED_REMEDY,
    UNKNOWN_SETTING,
    NoAnswer,
    ServerSilent,
    exception_of,
    forbids_setting,
    remedy_of,
    unreachable,
)


class QueryRefused(PartMoveError):
    """The server answered with an error: ``code`` is the number of the error, ``text`` its message."""

    def __init__(self, label: str, code: int, text: str) -> None:
        super().__init__(
            f"{label} refused a query with code {code}: {text}",
            remedy=remedy_of(code, text),
        )
        self.code = code
        self.text = text


_FORMAT = "JSONCompact"
_Connection = http.client.HTTPConnection
_Settings = Mapping[str, object]
_CLOSED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""Errors of a connection that the server has closed. They do not mean that the server is down."""
_IDLE_SECONDS = 30.0
"""After this time a connection is not used again: a device in between may have dropped it silently."""


class ClickHouseClient:
    """Queries a server, from any number of threads.

    The client keeps a connection for the next query. Servers close idle connections within seconds, so a
    query for rows is repeated over a new connection if the kept connection turns out to be closed. A repeated
    statement could take effect twice, so each statement uses a new connection.

    Queries override settings in the profile of the user that shorten answers, change them or make them
    unreadable, see `plain_settings`. If the user may not change such a setting, every query raises
    PartMoveError.
    """

    def __init__(self, host: str, port: int, options: ClickHouseOptions) -> None:
        self._host = host
        self._port = port
        self._options = options
        self._context: ssl.SSLContext | None = None
        self._idle: list[tuple[float, _Connection]] = []
        """Connections that are not in use, with the time until which they may be used again."""
        weakref.finalize(self, _close_all, self._idle)
        self._version: str | None = None
        self._overrides: Mapping[str, str] | None = None
        """The settings that go with each query; None before the first one."""
        self._first_query = threading.Lock()
        self.label = f"ClickHouse at {f'[{host}]' if ':' in host else host}:{port}"

    def __reduce__(self) -> tuple[type[ClickHouseClient], tuple[str, int, ClickHouseOptions]]:
        """Make a copy in another process open its own connections."""
        return ClickHouseClient, (self._host, self._port, self._options)

    def rows(self, sql: str, **settings: int) -> list[list[Any]]:
        """Execute a SELECT with these settings and return its rows.

        Most versions return 64-bit numbers as text. Raises QueryRefused if the server rejects the query, and
        PartMoveError if the server cannot be reached or rejects the user.
        """
        return self._rows(sql, {**self._plain_settings(), **settings})

    def rows_of_text(self, sql: str) -> list[list[Any]]:
        """Do as `rows` does for the text of an operator, of which a clause FORMAT could become a part."""
        return self._rows(sql, {**self._plain_settings(), "default_format": _FORMAT}, end="")

    def _rows(self, sql: str, given: _Settings, end: str = f" FORMAT {_FORMAT}") -> list[list[Any]]:
        status, body = self._read(f"{sql}{end}", given)
        if status != http.client.OK:
            raise self._refused(status, body.decode(errors="replace"))
        try:
            answer = json.loads(body)
            if "exception" in answer:
                raise self._refused(status, body.decode(errors="replace"))
            return list(answer["data"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._not_understood(body) from error

    def version(self) -> str:
        """Return the version of the server, which is queried once. Raises as `rows` does."""
        if self._version is None:
            ((version,),) = self.rows("SELECT version()")
            self._version = str(version)
        return self._version

    def execute(self, sql: str, **settings: int) -> None:
        """Execute a statement without rows, with these settings. Raises as `rows` does."""
        given = {**self._plain_settings(), **settings}
        try:
            with closing(self._connection()) as connection:
                response = self._request(connection, sql, given)
                status, body = response.status, response.read()
        except NoAnswer:
            reason = f"did not finish a statement within {self._options.timeout:g} s"
            raise ServerSilent(f"{self.label} {reason}", remedy=UNFINISHED_REMEDY) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        if status != http.client.OK:
            raise self._refused(status, body.decode(errors="replace"))

    def stream(self, sql: str) -> Iterator[dict[str, Any]]:
        """Execute a SELECT and yield its rows by column, with few in memory. Raises as `rows` does."""
        given = self._plain_settings()
        try:
            with closing(self._connection()) as connection:
                response = self._request(connection, f"{sql} FORMAT JSONEachRow", given)
                if response.status != http.client.OK:
                    raise self._refused(response.status, response.read().decode(errors="replace"))
                for line in response:
                    yield self._row(line)
                if response.length:
                    raise http.client.IncompleteRead(b"", response.length)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _row(self, line: bytes) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except ValueError as error:
            raise self._not_understood(line) from error
        if not isinstance(row, dict):
            raise self._not_understood(line)
        if row.keys() == {"exception"}:
            raise self._refused(http.client.OK, line.decode(errors="replace"))
        return row

    def _plain_settings(self) -> Mapping[str, str]:
        """Return the settings that queries need and the profile of the user does not have; queried once."""
        with self._first_query:
            if self._overrides is None:
                self._overrides = self._differing_settings()
            return self._overrides

    def _differing_settings(self) -> Mapping[str, str]:
        """Return what `plain_settings.differing` does. Raises PartMoveError if an answer is not whole."""
        given: Mapping[str, str] = {}
        try:
            found = differing(self._rows(SQL, given))
            if found is None:
                given = NO_OFFSET
                found = differing(self._rows(SQL, given))
        except QueryRefused as error:
            # The profile of the user may be the reason, unless the version does not know such settings.
            given = FIRST
            try:
                found = differing(self._rows(SQL, given))
            except QueryRefused as second:
                raise (error if second.code == UNKNOWN_SETTING else second) from None
        if found is None:
            raise PartMoveError(
                f"{self.label} shows the user {self._options.user} only some of its settings, so that other"
                " answers may be short too",
                remedy="Remove the user's row policies and additional_table_filters on the database system",
            )
        return {**given, **found}

    def _read(self, sql: str, settings: _Settings) -> tuple[int, bytes]:
        """Send a query that may be sent twice; return the status and the body of the answer."""
        try:
            idle = self._idle_connection()
            if idle is not None:
                with suppress(*_CLOSED):
                    return self._exchange(idle, sql, settings)
            return self._exchange(self._connection(), sql, settings)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _idle_connection(self) -> _Connection | None:
        """Return a connection that may be used again, or None; closes connections that are too old."""
        while True:
            try:
                until, connection = self._idle.pop()
            except IndexError:
                return None
            if time.monotonic() < until:
                return connection
            connection.close()

    def _exchange(self, connection: _Connection, sql: str, settings: _Settings) -> tuple[int, bytes]:
        """Send a query over the connection, and keep the connection unless the server wants it closed."""
        try:
            response = self._request(connection, sql, settings)
            answer = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        # Without a socket the connection is already closed, as the answer demanded.
        if connection.sock is not None:
            self._idle.append((time.monotonic() + _IDLE_SECONDS, connection))
        return answer

    def _request(self, connection: _Connection, sql: str, settings: _Settings) -> http.client.HTTPResponse:
        # Without wait_end_of_query the server would send the status before the query can fail.
        given = urlencode({"wait_end_of_query": 1, **settings})
        if connection.sock is None:
            connection.connect()
        try:
            connection.request("POST", f"/?{given}", sql.encode(), self._headers())
            return connection.getresponse()
        except TimeoutError:
            raise NoAnswer from None

    def _connection(self) -> _Connection:
        timeout = self._options.timeout
        if not self._options.secure:
            return _Connection(self._host, self._port, timeout=timeout)
        if self._context is None:
            self._context = self._tls()
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context)

    def _tls(self) -> ssl.SSLContext:
        options = self._options
        context = ssl.create_default_context()
        if options.ca:
            try:
                context.load_verify_locations(options.ca)
            except ssl.SSLError as error:
                raise PartMoveError(
                    f"The TLS file {options.ca} (ca of ClickHouse) holds no certificate",
                    remedy="Give a PEM file of certificate authorities",
                ) from error
        if not options.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def _headers(self) -> dict[str, Any]:
        """Return the headers as bytes: http.client encodes text as Latin-1, and ClickHouse expects UTF-8."""
        headers = {"X-ClickHouse-User": self._options.user.encode()}
        if self._options.password:
            headers["X-ClickHouse-Key"] = self._options.password.encode()
        return headers

    def _unreachable(self, error: Exception) -> ServerAway:
        kind = ServerSilent if isinstance(error, TimeoutError) else ServerAway
        reason, remedy = unreachable(error, self._options)
        return kind(f"{self.label} cannot be reached: {reason}", remedy=remedy)

    def _not_understood(self, body: bytes) -> PartMoveError:
        text = shortened(body.decode(errors="replace"))
        return PartMoveError(
            f"{self.label} gave an answer that is not understood: {text}",
            remedy="Check that this is the address of the HTTP interface of a ClickHouse server",
        )

    def _refused(self, status: int, body: str) -> PartMoveError:
        found = exception_of(body)
        if found is None:
            return PartMoveError(
                f"{self.label} answered with HTTP status {status}: {shortened(body)}",
                remedy="Check that this is the address of the HTTP interface of a ClickHouse server",
            )
        code, text = found
        if code in REFUSED_USER:
            return UserRefused(
                f"{self.label} refuses the user {self._options.user}: {text}",
                remedy="Check the user, its password, and the networks it may connect from",
            )
        setting = forbidden_setting(code, text)
        if setting in PLAIN:
            return forbids_setting(self.label, self._options.user, setting, PLAIN[setting], text)
        return QueryRefused(self.label, code, text)


def _close_all(idle: list[tuple[float, _Connection]]) -> None:
    while idle:
        idle.pop()[1].close()
