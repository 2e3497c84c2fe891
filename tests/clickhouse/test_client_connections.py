# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections to a real server are kept from query to query, and given up where the server closed them."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse import client as client_file
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource
from support.servers.counting_gateway import CountingGateway
from support.servers.ports import ReservedPorts
from support.servers.tls import TlsFiles

NO_ZOOKEEPER = ZooKeeperSource("127.0.0.1:1")
# So that the server closes no idle connection on a busy machine.
KEEP_ALIVE = "<keep_alive_timeout>3600</keep_alive_timeout>"


@pytest.fixture(scope="module")
def secure_port() -> Iterator[int]:
    ports = ReservedPorts()
    yield ports.take()
    ports.release()


@pytest.fixture(scope="module")
def server(
    clickhouse: str, secure_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClickHouseServer]:
    folder = tmp_path_factory.mktemp("clickhouse")
    tls = TlsFiles.create(tmp_path_factory.mktemp("tls"))
    extra = (
        f"{KEEP_ALIVE}<https_port>{secure_port}</https_port><openSSL><server>"
        f"<certificateFile>{tls.server}</certificateFile><privateKeyFile>{tls.server}</privateKeyFile>"
        "<verificationMode>none</verificationMode></server></openSSL>"
    )
    options = ServerOptions(program=clickhouse, extra_xml=extra)
    with ClickHouseServer("kept", folder, NO_ZOOKEEPER, options) as running:
        yield running


@pytest.fixture
def gateway(server: ClickHouseServer) -> Iterator[CountingGateway]:
    with CountingGateway("127.0.0.1", server.http_port) as counting:
        yield counting


@pytest.fixture
def client(gateway: CountingGateway) -> ClickHouseClient:
    return ClickHouseClient("127.0.0.1", gateway.port, ClickHouseOptions())


def test_queries_one_after_the_other_share_a_connection(
    client: ClickHouseClient, gateway: CountingGateway
) -> None:
    assert [client.rows(f"SELECT toUInt8({number})") for number in range(5)] == [
        [[each]] for each in range(5)
    ]
    # The first of them is the one for the settings.
    assert (gateway.connections, gateway.requests) == (1, 1 + 5)


def test_a_query_that_was_refused_leaves_the_connection_in_order(
    client: ClickHouseClient, gateway: CountingGateway
) -> None:
    with pytest.raises(QueryRefused):
        client.rows("SELECT * FROM nowhere")
    assert client.rows("SELECT 1") == [[1]]


def test_a_connection_that_the_server_closed_is_made_anew(
    client: ClickHouseClient, gateway: CountingGateway
) -> None:
    for _each in range(3):
        assert client.rows("SELECT 1") == [[1]]
        gateway.cut()
    assert gateway.connections == 3


def test_a_connection_that_was_idle_for_long_is_not_used_again(
    client: ClickHouseClient, gateway: CountingGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_file, "_IDLE_SECONDS", 0.0)
    for _each in range(2):
        assert client.rows("SELECT 1") == [[1]]
    assert gateway.connections == gateway.requests == 1 + 2


def test_threads_have_connections_of_their_own(client: ClickHouseClient, gateway: CountingGateway) -> None:
    together = threading.Barrier(4)

    def ask(thread: int) -> list[object]:
        together.wait()
        return [client.rows(f"SELECT toUInt16({thread * 100 + number})") for number in range(20)]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert found == [[[[thread * 100 + number]] for number in range(20)] for thread in range(4)]
    assert 1 <= gateway.connections <= 4
    assert gateway.requests == 1 + 80


def test_a_statement_that_does_something_has_a_connection_of_its_own(
    client: ClickHouseClient, gateway: CountingGateway
) -> None:
    """Over one that is closed meanwhile nobody would know whether it was done."""
    client.rows("SELECT 1")
    gateway.cut()
    client.execute("CREATE TABLE IF NOT EXISTS t (id UInt8) ENGINE = Memory")
    client.execute("DROP TABLE t")
    assert (gateway.connections, gateway.requests) == (3, 1 + 3)


def test_connections_with_tls_are_kept(server: ClickHouseServer, secure_port: int) -> None:
    options = ClickHouseOptions(secure=True, verify=False)
    with CountingGateway("127.0.0.1", secure_port) as gateway:
        client = ClickHouseClient("127.0.0.1", gateway.port, options)
        assert [client.rows("SELECT 1") for _each in range(3)] == [[[1]]] * 3
        assert gateway.connections == 1
        gateway.cut()
        assert client.rows("SELECT 1") == [[1]]
        assert gateway.connections == 2


def test_a_copy_shares_no_connection(client: ClickHouseClient, gateway: CountingGateway) -> None:
    client.rows("SELECT 1")
    for other in (copy.copy(client), pickle.loads(pickle.dumps(client))):
        assert other.rows("SELECT 1") == [[1]]
    assert gateway.connections == 3
