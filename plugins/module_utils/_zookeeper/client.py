# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kazoo client for the options of an ensemble."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .handshake import NEW_SESSION
from .options import EnsembleOptions
from .packages import require_packages
from .sockets import BufferedSocket, PendingReply, WakeUpPipe, select_ready

try:
    from kazoo.client import KazooClient
    from kazoo.exceptions import (
        AuthFailedError,
        ConnectionClosedError,
        SessionExpiredError,
        WriterNotClosedException,
    )
    from kazoo.handlers.threading import SequentialThreadingHandler
    from kazoo.handlers.utils import create_tcp_connection
    from kazoo.hosts import collect_hosts
    from kazoo.protocol.states import KeeperState
    from kazoo.retry import KazooRetry
except ImportError as error:
    KAZOO_IMPORT_ERROR: ImportError | None = error
else:
    KAZOO_IMPORT_ERROR = None

_RECONNECT_DELAY = 0.05
_RECONNECT_MAX_DELAY = 0.5
_GREETING_SECONDS = 1.0

_NO_ANSWER = "no answer"
_UNCLEAR = (_NO_ANSWER, "socket connection broken", "socket time-out during read")


class ConnectionLog(logging.Logger):
    """Captures kazoo's log, and keeps the latest connection failure of each host."""

    def __init__(self) -> None:
        super().__init__("zookeeper", logging.INFO)
        self._host = ""
        self._reasons: dict[str, str] = {}

    def handle(self, record: logging.LogRecord) -> None:
        """Record the host of a connection attempt, or the cause of its failure."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        if record.msg.startswith("Connecting to"):
            self._host = f"{arguments[0]}:{arguments[2]}"
            self._reasons.setdefault(self._host, _NO_ANSWER)
        elif record.msg.startswith("Zookeeper connection established"):
            self._reasons.clear()
        elif record.msg.startswith("Cannot resolve"):
            self._reasons[str(arguments[0])] = str(arguments[1])
        elif record.msg.startswith(("Connection dropped", "Connection time-out", "AUTH_FAILED")):
            reason = str(arguments[0]).removeprefix("socket connection error: ")
            self._reasons[self._host] = reason or "authentication failed"
        elif record.exc_info and record.exc_info[1]:
            self._reasons[self._host] = repr(record.exc_info[1])

    def probe_unclear_hosts(self, options: EnsembleOptions) -> None:
        """Connect to hosts with an unclear failure; record the greeting of servers other than ZooKeeper."""
        for host, port in [] if options.tls else collect_hosts(",".join(options.hosts))[0]:
            address = f"{host}:{port}"
            if self._reasons.get(address) in _UNCLEAR and (greeting := _greeting(host, port)):
                self._reasons[address] = f"does not speak ZooKeeper's protocol, but answers {greeting!r}"

    def reasons(self) -> str:
        """Return a clause for each host that failed since the last connection; ``""`` for none."""
        return "; ".join(f"{host}: {reason}" for host, reason in sorted(self._reasons.items()))


def make_client(options: EnsembleOptions, log: ConnectionLog) -> Any:
    """Return a kazoo client, not started and without chroot.

    Raises:
        PartMoveError: a Python package is missing or too old.
    """
    require_packages(options, KAZOO_IMPORT_ERROR)
    return KazooClient(
        hosts=",".join(options.hosts),
        timeout=options.session_timeout,
        handler=_handler(options.session_timeout / len(options.hosts)),
        # A read-only server without quorum would return stale data, useless as proof.
        read_only=False,
        auth_data=[("digest", options.auth_credential)] if options.auth_scheme == "digest" else None,
        sasl_options=_sasl_options(options),
        connection_retry=KazooRetry(max_tries=-1, delay=_RECONNECT_DELAY, max_delay=_RECONNECT_MAX_DELAY),
        logger=log,
        **_tls_settings(options),
    )


def connect_to(options: EnsembleOptions, host: str, seconds: float) -> Any:
    """Open a raw connection to a host, TLS included.

    Raises OSError: no connection within ``seconds``.
    """
    ((name, port),) = collect_hosts(host)[0]
    return create_tcp_connection(
        socket, (name, port), hostname=name, timeout=seconds, **_tls_settings(options)
    )


def stop_client(client: Any) -> None:
    """Close the session; a client without an answering server ends by itself later."""
    try:
        client.stop()
        client.close()
    except WriterNotClosedException:
        return


def queue_request(
    client: Any, request: object, connection: Callable[[], int], done: Callable[[], object] | None
) -> PendingReply:
    """Queue a request in the client; return its pending reply. Parameters as in `PendingReply`.

    Kazoo's own `_call` swallows all exceptions while waking its thread for a closed connection, including
    exceptions of signal handlers: an interrupted run would continue.
    """
    result = PendingReply(connection, done)
    refusals = {
        KeeperState.AUTH_FAILED: AuthFailedError,
        KeeperState.CLOSED: ConnectionClosedError,
        KeeperState.EXPIRED_SESSION: SessionExpiredError,
    }
    if client._state in refusals:
        result.set_exception(refusals[client._state]())
        return result
    client._queue.append((request, result))
    # The socket exists only while kazoo's thread runs.
    waker = client._connection._write_sock
    if waker is not None:
        with suppress(OSError):
            waker.send(b"\0")
            return result
    result.set_exception(ConnectionClosedError())
    return result


def _tls_settings(options: EnsembleOptions) -> dict[str, Any]:
    """Return kazoo's TLS arguments."""
    tls = options.tls
    if tls is None:
        return {}
    return {
        "use_ssl": True,
        "ca": tls.ca or None,
        "certfile": tls.cert or None,
        "keyfile": tls.key or None,
        "keyfile_password": tls.key_password or None,
        "verify_certs": tls.verify,
        "check_hostname": tls.check_hostname,
    }


def _handler(connect_timeout: float) -> Any:
    """Return kazoo's default handler, with a connect timeout.

    The timeout leaves time for the other hosts if one host does not answer.
    """
    handler = SequentialThreadingHandler()
    create_connection = handler.create_connection

    def create_connection_in_time(*args: Any, **options: Any) -> BufferedSocket:
        return BufferedSocket(create_connection(*args, **options | {"timeout": connect_timeout}))

    def create_socket_pair() -> tuple[WakeUpPipe, WakeUpPipe]:
        bell = WakeUpPipe()
        return bell, bell

    handler.create_connection = create_connection_in_time
    handler.create_socket_pair = create_socket_pair
    handler.select = select_ready
    return handler


def _greeting(host: str, port: int) -> bytes:
    """Return the first bytes of a server other than ZooKeeper; ``b""`` for ZooKeeper or no answer."""
    try:
        with socket.create_connection((host, port), _GREETING_SECONDS) as connection:
            connection.sendall(NEW_SESSION)
            # Servers of text protocols answer at the latest at the end of the input.
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(16)
    except OSError:
        return b""
    # ZooKeeper's answer begins with a small 4-byte length.
    return b"" if answer.startswith(b"\0") else answer


def _sasl_options(options: EnsembleOptions) -> dict[str, str] | None:
    if options.auth_scheme == "sasl_digest_md5":
        user, _colon, password = options.auth_credential.partition(":")
        return {"mechanism": "DIGEST-MD5", "username": user, "password": password}
    if options.auth_scheme == "sasl_gssapi":
        principal = {"principal": options.auth_credential} if options.auth_credential else {}
        return {"mechanism": "GSSAPI", "service": options.sasl_service, **principal}
    return None
