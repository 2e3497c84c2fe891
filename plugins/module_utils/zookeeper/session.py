# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session with an ensemble, or with one member: kazoo's client with a deadline on every wait."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

from ..partmove.errors import AccessDenied, EnsembleError, EnsembleUnreachable, PartMoveError
from .options import EnsembleOptions
from .wire import (
    AUTH_FAILED,
    CONNECTION_LOSS,
    NO_NODE,
    OPERATION_TIMEOUT,
    REQUEST_TIMEOUT,
    SESSION_EXPIRED,
    SESSION_MOVED,
    Answer,
    Exists,
    Request,
)

try:
    from kazoo.client import KazooClient
    from kazoo.protocol.states import KazooState
    from kazoo.retry import KazooRetry
except ImportError as error:
    KAZOO_IMPORT_ERROR: ImportError | None = error
else:
    KAZOO_IMPORT_ERROR = None

LOST = frozenset({CONNECTION_LOSS, OPERATION_TIMEOUT, REQUEST_TIMEOUT, SESSION_EXPIRED, SESSION_MOVED})
"""Errors after which a read is sent again."""

_CLOSE_SECONDS = 5.0
_POLL_SECONDS = 0.05
_RECONNECT_DELAY = 0.05
_RECONNECT_MAX_DELAY = 2.0

_Request = TypeVar("_Request", bound=Request)


class ConnectionLog(logging.Handler):
    """Keeps kazoo's log to itself, and of it why each host could not be used."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._host = ""
        self._reasons: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Note the host being tried, or what went wrong with it."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        if record.levelno < logging.WARNING:
            if record.msg.startswith("Connecting to"):
                self._host = f"{arguments[0]}:{arguments[2]}"
            elif record.msg.startswith("Zookeeper connection established"):
                self._reasons.clear()
        elif record.msg.startswith("Cannot resolve"):
            self._reasons[str(arguments[0])] = str(arguments[1])
        elif record.msg.startswith(("Connection dropped", "Connection time-out", "AUTH_FAILED")):
            self._reasons[self._host] = _plain(arguments[0])
        elif record.exc_info and record.exc_info[1]:
            self._reasons[self._host] = repr(record.exc_info[1])

    def reasons(self) -> str:
        """One clause for each host that failed since the last connection, or ""."""
        return "; ".join(f"{host}: {reason}" for host, reason in sorted(self._reasons.items()))


class Session:
    """One kazoo client.

    States: connected; reconnecting, by itself, to any of its hosts, in the same session or after an
    expiry in a new one; dead, after `close` or when the identity was refused.
    """

    def __init__(self, options: EnsembleOptions, label: str) -> None:
        """Connect; ``label`` is what messages call the other side.

        Raises:
            PartMoveError: kazoo, or what the authentication scheme needs, is not installed.
            EnsembleUnreachable: no host answered within the connect timeout.
            AccessDenied: the identity was refused.
        """
        require_client(options)
        self.label = label
        self._options = options
        self._log = ConnectionLog()
        self._client = _make_client(options, self._log)
        self._breaks = 0
        self._client.add_listener(self._notice)
        self._connected: threading.Event = self._client.start_async()
        self._loop: threading.Thread = self._client._connection._connection_routine
        try:
            self._await_connection()
        except BaseException:
            self.close()
            raise

    @property
    def breaks(self) -> int:
        """How often the connection was lost: two equal values mean one connection in between."""
        return self._breaks

    @property
    def session_id(self) -> int:
        """The id of the session in use; waits for a new one after an expiry."""
        if not self.wait_connected(time.monotonic() + self._options.operation_timeout):
            raise self.unreachable(self._options.operation_timeout)
        return int(self._client.client_id[0])

    def wait_connected(self, deadline: float) -> bool:
        """Wait until there is a connection; False when there is none by the deadline or ever again."""
        while not self._connected.wait(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or self._dead():
                return False
        return True

    def send(self, request: Request) -> Any:
        """Queue a request; `wait` gives its answer."""
        result = self._client.handler.async_result()
        self._client._call(request, result)
        return result

    def wait(self, result: Any, deadline: float) -> Answer:
        """The answer, or the error in its place; OPERATION_TIMEOUT when there is none by the deadline."""
        if not result.wait(max(0.0, deadline - time.monotonic())):
            return Answer(b"", 0, OPERATION_TIMEOUT)
        error = result.exception
        if error is None:
            # kazoo gives None for an Exists of no znode, and makes a list of the answer to a multi.
            return Answer(b"", 0, NO_NODE) if result.value is None else Answer(*result.value)
        if not isinstance(getattr(error, "code", None), int):
            raise EnsembleError(f"{self.label} gave an answer that is not understood: {error!r}")
        return Answer(b"", 0, error.code)

    def ask(self, request: Request) -> Answer:
        """The answer to one request that may be sent again."""
        return self._persist(request, self.send(request), self._options.operation_timeout)

    def try_once(self, request: Request) -> Answer:
        """The answer to one request, which is not sent again; OPERATION_TIMEOUT when there is none in time."""
        return self.wait(self.send(request), time.monotonic() + self._options.operation_timeout)

    def stream(self, requests: Iterable[_Request], window: int) -> Iterator[tuple[_Request, Answer]]:
        """Send requests, at most ``window`` without an answer, and give their answers in order.

        Only for requests that may be sent again: those lost with a connection are.

        Raises:
            EnsembleUnreachable: no answer for as long as the operation timeout.
        """
        waiting: deque[tuple[_Request, Any]] = deque()
        for request in requests:
            waiting.append((request, self.send(request)))
            if len(waiting) == window:
                first, result = waiting.popleft()
                yield first, self._persist(first, result, self._options.operation_timeout)
        for first, result in waiting:
            yield first, self._persist(first, result, self._options.operation_timeout)

    def unreachable(self, seconds: float) -> EnsembleError:
        """The error of a wait in vain."""
        reasons = self._log.reasons()
        if self._dead():
            return self._refused(reasons or "the connection is closed")
        return EnsembleUnreachable(
            f"{self.label} gave no answer within {seconds:g} s" + (f": {reasons}" if reasons else ""),
            remedy="Check the addresses, that these servers run and have a quorum, and that TLS settings are theirs",
        )

    def close(self) -> None:
        """End the session. A server that does not answer is not waited for long."""
        closing = threading.Thread(target=self._stop, name="zookeeper-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def _stop(self) -> None:
        try:
            self._client.stop()
            self._client.close()
        except Exception:  # noqa: BLE001
            pass

    def _notice(self, state: str) -> None:
        if state != KazooState.CONNECTED:
            self._breaks += 1

    def _refused(self, reason: str) -> EnsembleError:
        scheme = self._options.auth_scheme or "none"
        return AccessDenied(
            f"{self.label} refused the session: {reason}",
            remedy=f"Check the authentication scheme ({scheme}) and its credential",
        )

    def _dead(self) -> bool:
        return not self._loop.is_alive()

    def _await_connection(self) -> None:
        seconds = self._options.connect_timeout
        deadline = time.monotonic() + seconds
        if not self.wait_connected(deadline):
            raise self.unreachable(seconds)
        # kazoo authenticates after it calls itself connected: only an answer tells that all is well.
        error = self._persist(probe := Exists(b"/"), self.send(probe), seconds).error
        if error:
            raise self._refused(f"error {error}")

    def _persist(self, request: Request, result: Any, seconds: float) -> Answer:
        deadline = time.monotonic() + seconds
        answer = self.wait(result, deadline)
        while answer.error in LOST:
            if not self.wait_connected(deadline) or time.monotonic() >= deadline:
                raise self.unreachable(seconds)
            answer = self.wait(self.send(request), deadline)
        if answer.error == AUTH_FAILED:
            raise self._refused(self._log.reasons() or "authentication failed")
        return answer


def require_client(options: EnsembleOptions) -> None:
    """Refuse to go on without the Python packages that the options need."""
    packages = {} if KAZOO_IMPORT_ERROR is None else {"kazoo": str(KAZOO_IMPORT_ERROR)}
    if options.auth_scheme.startswith("sasl") and find_spec("puresasl") is None:
        packages["pure-sasl"] = "SASL needs it"
    if packages:
        missing = ", ".join(f"{name} ({reason})" for name, reason in packages.items())
        raise PartMoveError(
            f"{sys.executable} has no Python package {missing}",
            remedy=f"Run `{sys.executable} -m pip install {' '.join(packages)}`",
        )


def _make_client(options: EnsembleOptions, log: ConnectionLog) -> Any:
    logger = logging.Logger("zookeeper", logging.INFO)
    logger.addHandler(log)
    tls = options.tls
    return KazooClient(
        hosts=",".join(options.hosts),
        timeout=options.session_timeout,
        read_only=False,
        auth_data=[("digest", options.auth_credential)] if options.auth_scheme == "digest" else None,
        sasl_options=_sasl_options(options),
        connection_retry=KazooRetry(max_tries=-1, delay=_RECONNECT_DELAY, max_delay=_RECONNECT_MAX_DELAY),
        logger=logger,
        use_ssl=tls is not None,
        ca=tls.ca or None if tls else None,
        certfile=tls.cert or None if tls else None,
        keyfile=tls.key or None if tls else None,
        keyfile_password=tls.key_password or None if tls else None,
        verify_certs=tls.verify if tls else True,
        check_hostname=tls.check_hostname if tls else False,
    )


def _sasl_options(options: EnsembleOptions) -> dict[str, str] | None:
    if options.auth_scheme == "sasl_digest_md5":
        user, _colon, password = options.auth_credential.partition(":")
        return {"mechanism": "DIGEST-MD5", "username": user, "password": password}
    if options.auth_scheme == "sasl_gssapi":
        principal = {"principal": options.auth_credential} if options.auth_credential else {}
        return {"mechanism": "GSSAPI", "service": options.sasl_service, **principal}
    return None


def _plain(reason: object) -> str:
    return str(reason).removeprefix("socket connection error: ") or "authentication failed"
