# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A session with an ensemble or a member: kazoo's client with a deadline for every wait."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

from .._partmove.errors import EnsembleError, EnsembleUnreachable, SessionRefused
from .client import ConnectionLog, make_client, queue_request, stop_client
from .options import EnsembleOptions
from .sockets import PendingReply
from .window import RequestWindow
from .wire import (
    AUTH_FAILED,
    CONNECTION_LOSS,
    MARSHALLING_ERROR,
    NO_NODE,
    OPERATION_TIMEOUT,
    REQUEST_TIMEOUT,
    SESSION_EXPIRED,
    SESSION_MOVED,
    Answer,
    Exists,
    Request,
)

LOST = frozenset({CONNECTION_LOSS, OPERATION_TIMEOUT, REQUEST_TIMEOUT, SESSION_EXPIRED, SESSION_MOVED})
"""Errors after which reads are repeated."""

_POLL_SECONDS = 0.05
_CLOSE_SECONDS = 3.0


class Session:
    """A session of one kazoo client.

    States:

    - connected;
    - reconnecting: automatically, to any host, in the same session or, after an expiry, a new one;
    - ended: by `close`, or because the servers rejected the identity.
    """

    def __init__(self, options: EnsembleOptions, label: str, window: RequestWindow | None = None) -> None:
        """Connect.

        label: name of the other side in messages. window: the one of another session with the ensemble.

        Raises:
            PartMoveError: kazoo, or a package of the authentication scheme, is not installed.
            EnsembleUnreachable: no host answered within the connect timeout.
            AccessDenied: the identity was rejected.
        """
        self.label = label
        self._options = options
        self.window = window or RequestWindow()
        """The operations in flight, of other sessions, too."""
        self._log = ConnectionLog()
        self._client = make_client(options, self._log)
        self._breaks = 0
        self._client.add_listener(self._notice)
        self._connected: threading.Event = self._client.start_async()
        # kazoo's states do not distinguish "not yet connected" from "given up"; its thread does.
        self._loop: threading.Thread = self._client._connection._connection_routine
        try:
            self._await_connection()
        except BaseException:
            self.close()
            raise

    @property
    def operation_timeout(self) -> float:
        """Seconds to wait for an answer, reconnections included."""
        return self._options.operation_timeout

    @property
    def breaks(self) -> int:
        """Number of lost connections: equal values mean the same connection in between."""
        return self._breaks

    @property
    def session_id(self) -> int:
        """Id of the current session; waits for a new session after an expiry.

        Raises:
            EnsembleUnreachable: no connection within the operation timeout.
        """
        seconds = self._options.operation_timeout
        deadline = time.monotonic() + seconds
        while self.wait_connected(deadline):
            identity = self._client.client_id
            if identity is not None:
                return int(identity[0])
        raise self._no_answer(seconds)

    def wait_connected(self, deadline: float) -> bool:
        """Wait for a connection. Returns False at the deadline, or if the session has ended."""
        while not self._connected.wait(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline or self._ended():
                return False
        return True

    def send(self, request: Request) -> PendingReply:
        """Queue a request; return its pending reply for `wait`. Its connection is a value of `breaks`.

        Waits first until the window has room for the operations of the request.
        """
        done = None
        if request.ops:
            self.window.enter(request.ops, self._connected.is_set)
            done = partial(self.window.leave, request.ops)
        return queue_request(self._client, request, lambda: self._breaks, done)

    def wait(self, result: PendingReply, deadline: float) -> Answer:
        """Return the answer, or an answer with an error code; OPERATION_TIMEOUT at the deadline."""
        if not result.wait(max(0.0, deadline - time.monotonic())):
            return Answer(b"", 0, OPERATION_TIMEOUT)
        error = result.exception
        if error is None:
            # kazoo returns None for Exists of a missing znode, and a list for an answer to a multi.
            value: Any = result.value
            return Answer(b"", 0, NO_NODE) if value is None else Answer(*value)
        # Answers that kazoo cannot parse raise exceptions without a code.
        return Answer(b"", 0, getattr(error, "code", MARSHALLING_ERROR))

    def try_once(self, request: Request) -> Answer:
        """Send a request once; return its answer or error code."""
        return self.outcome(self.send(request))

    def outcome(self, result: PendingReply) -> Answer:
        """Return the answer to a sent request, or its error code, as `wait` does."""
        return self.wait(result, time.monotonic() + self._options.operation_timeout)

    def ask(self, request: Request) -> Answer:
        """Send a repeatable request, again after a lost connection; return its answer.

        Raises:
            EnsembleUnreachable: no answer within the operation timeout.
            AccessDenied: the identity was rejected after a reconnection.
        """
        return self._persist(request, self.send(request), self._options.operation_timeout)

    def require_connection(self, deadline: float) -> None:
        """Wait until a lost request can be sent again.

        Raises:
            EnsembleUnreachable: no connection at the deadline, or the deadline has passed.
            AccessDenied: the identity was rejected after a reconnection.
        """
        if not self.wait_connected(deadline) or time.monotonic() >= deadline:
            raise self._no_answer(self._options.operation_timeout)

    def check_identity(self, answer: Answer) -> None:
        """Raise AccessDenied if the answer rejects the identity."""
        if answer.error == AUTH_FAILED:
            raise self._refused(self._log.reasons())

    def close(self) -> None:
        """End the session. Waits only a short time for a server without answer."""
        closing = threading.Thread(target=stop_client, args=(self._client,), daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)

    def _notice(self, state: str) -> None:
        if state != "CONNECTED":
            self._breaks += 1

    def _ended(self) -> bool:
        return not self._loop.is_alive()

    def _await_connection(self) -> None:
        seconds = self._options.connect_timeout
        if not self.wait_connected(time.monotonic() + seconds):
            self._log.probe_unclear_hosts(self._options)
            raise self._no_answer(seconds)
        # kazoo authenticates after reporting the connection: only an answer proves success.
        probe = Exists(b"/")
        error = self._persist(probe, self.send(probe), seconds).error
        if error:
            raise self._refused(f"error {error}")

    def _persist(self, request: Request, result: PendingReply, seconds: float) -> Answer:
        deadline = time.monotonic() + seconds
        answer = self.wait(result, deadline)
        while answer.error in LOST:
            if not self.wait_connected(deadline) or time.monotonic() >= deadline:
                raise self._no_answer(seconds)
            answer = self.wait(self.send(request), deadline)
        self.check_identity(answer)
        return answer

    def _no_answer(self, seconds: float) -> EnsembleError:
        reasons = self._log.reasons()
        if self._ended():
            return self._refused(reasons)
        return EnsembleUnreachable(
            f"No answer from {self.label} within {seconds:g} s" + (f": {reasons}" if reasons else ""),
            remedy="Check the addresses, that the servers run and have a quorum, and the TLS settings",
        )

    def _refused(self, reason: str) -> EnsembleError:
        return SessionRefused(
            f"The session with {self.label} was refused" + (f": {reason}" if reason else ""),
            remedy=f"Check auth_scheme ({self._options.auth_scheme or 'none'}) and its credential",
        )
