# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kazoo client of the options, and reasons from kazoo's log; sessions need real ensembles."""

from __future__ import annotations

import logging
import socket
import threading

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.client import (
    ConnectionLog,
    make_client,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions,
    TlsOptions,
)

CONNECTING = "Connecting to %s(%s):%s, use_ssl: %r"


def log_of(*records: tuple[object, ...]) -> ConnectionLog:
    """A log with these messages, each with its arguments."""
    log = ConnectionLog()
    for message, *arguments in records:
        log.info(message, *arguments)
    return log


@pytest.mark.parametrize(
    ("records", "reasons"),
    [
        ([], ""),
        ([(CONNECTING, "zk1", "10.0.0.1", 2181, False)], "zk1:2181: no answer"),
        (
            [
                (CONNECTING, "zk2", "10.0.0.2", 2181, False),
                ("Connection dropped: %s", OSError("socket connection error: Connection refused")),
                (CONNECTING, "zk1", "10.0.0.1", 2181, False),
                ("Connection time-out: %s", OSError("socket time-out during read")),
            ],
            "zk1:2181: socket time-out during read; zk2:2181: Connection refused",
        ),
        (
            [(CONNECTING, "zk1", "10.0.0.1", 2181, False), ("AUTH_FAILED closing: %s", "")],
            "zk1:2181: authentication failed",
        ),
        ([("Cannot resolve %s: %s", "nowhere", "not known")], "nowhere: not known"),
        (
            [
                (CONNECTING, "zk1", "10.0.0.1", 2181, False),
                ("Zookeeper connection established, state: %s", "CONNECTED"),
            ],
            "",
        ),
        ([("Session has expired",)], ""),
    ],
)
def test_reason_of_each_failed_host(records: list[tuple[object, ...]], reasons: str) -> None:
    assert log_of(*records).reasons() == reasons


def test_unexpected_error_of_kazoo_is_a_reason() -> None:
    log = log_of((CONNECTING, "zk1", "10.0.0.1", 2181, False))
    try:
        raise ValueError("odd")
    except ValueError:
        log.exception("Unhandled exception in connection loop")
    assert log.reasons() == "zk1:2181: ValueError('odd')"


def test_kazoos_log_goes_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        log_of((CONNECTING, "zk1", "10.0.0.1", 2181, False))
    assert caplog.records == []


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "does not speak ZooKeeper's protocol, but answers b'SSH-2.0-OpenSSH\\r'"),
        (b"\x00\x00\x00\x25\x00", "no answer"),
        (b"", "no answer"),
    ],
)
def test_greeting_of_another_server_is_reported(greeting: bytes, reason: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        log = log_of((CONNECTING, "127.0.0.1", "127.0.0.1", port, False))

        def answer() -> None:
            connection, _address = listener.accept()
            with connection:
                while connection.recv(1024):
                    pass
                connection.sendall(greeting)

        thread = threading.Thread(target=answer)
        thread.start()
        log.probe_unclear_hosts(EnsembleOptions("hot", (f"127.0.0.1:{port}",)))
        thread.join()
    assert log.reasons() == f"127.0.0.1:{port}: {reason}"


def test_client_matches_the_options() -> None:
    options = EnsembleOptions(
        "hot",
        ("zk1:2281", "[::1]"),
        chroot="/ch",
        session_timeout=10,
        auth_scheme="digest",
        auth_credential="mover:x",
        tls=TlsOptions(key_password="y", verify=False, check_hostname=False),
    )
    client = make_client(options, ConnectionLog())
    assert client.hosts == [("zk1", 2281), ("::1", 2181)]
    # Paths are given their chroot where requests are made.
    assert client.chroot == ""
    assert client._session_timeout == 10_000
    assert client.auth_data == {("digest", "mover:x")}
    assert (client.use_ssl, client.verify_certs, client.check_hostname) == (True, False, False)
    assert client.keyfile_password == "y"
    assert client.read_only is False


def test_a_client_without_tls_and_identity() -> None:
    client = make_client(EnsembleOptions("hot", ("zk1",)), ConnectionLog())
    assert (client.use_ssl, client.auth_data) == (False, set())
