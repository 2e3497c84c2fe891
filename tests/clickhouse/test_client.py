# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries to real servers over HTTP, with and without TLS and passwords, and to what is no ClickHouse."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.sql import identifier, literal
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource
from support.servers.plain_answer import asks_for_settings, settings_rows
from support.servers.ports import ReservedPorts
from support.servers.tls import TlsFiles

PASSWORD = "pä ss'\\ ✓"
NO_ZOOKEEPER = ZooKeeperSource("127.0.0.1:1")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return TlsFiles.create(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def secure_port() -> Iterator[int]:
    ports = ReservedPorts()
    yield ports.take()
    ports.release()


@pytest.fixture(scope="module")
def server(
    clickhouse: str, tls: TlsFiles, secure_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClickHouseServer]:
    """A server that also speaks TLS and has the user `guarded`, who needs a password."""
    folder = tmp_path_factory.mktemp("clickhouse")
    extra = (
        f"<https_port>{secure_port}</https_port><openSSL><server>"
        f"<certificateFile>{tls.server}</certificateFile><privateKeyFile>{tls.server}</privateKeyFile>"
        "<verificationMode>none</verificationMode></server></openSSL>"
    )
    server = ClickHouseServer("tls", folder, NO_ZOOKEEPER, ServerOptions(program=clickhouse, extra_xml=extra))
    users = folder / "users.xml"
    guarded = (
        f"<guarded><password>{PASSWORD}</password><networks><ip>127.0.0.1</ip></networks>"
        "<profile>default</profile><quota>default</quota></guarded></users>"
    )
    users.write_text(users.read_text().replace("</users>", guarded), encoding="utf-8")
    with server:
        yield server


def ask(server: ClickHouseServer, sql: str, options: ClickHouseOptions | None = None) -> list[list[object]]:
    return ClickHouseClient("127.0.0.1", server.http_port, options or ClickHouseOptions()).rows(sql)


@pytest.mark.parametrize(
    "text", ["", "plain", "it's", "\\", "\\'", "a\tb\nc\r\0", "ünï ✓ 𝄞", "'; DROP TABLE x; --", '{"a": "b"}']
)
def test_text_comes_back_as_it_was_sent(server: ClickHouseServer, text: str) -> None:
    assert ask(server, f"SELECT {literal(text)}, length({literal(text)})") == [
        [text, str(len(text.encode()))]
    ]


def test_rows_of_all_kinds(server: ClickHouseServer) -> None:
    rows = ask(server, "SELECT number, toUInt8(number), NULL FROM numbers(2) ORDER BY number")
    assert rows == [["0", 0, None], ["1", 1, None]]
    assert ask(server, "SELECT 1 WHERE 0") == []


def test_user_with_password(server: ClickHouseServer) -> None:
    options = ClickHouseOptions(user="guarded", password=PASSWORD)
    assert ask(server, "SELECT DISTINCT user FROM system.processes", options) == [["guarded"]]


@pytest.mark.parametrize(
    "options",
    [
        ClickHouseOptions(user="nobody", password=PASSWORD),
        ClickHouseOptions(user="guarded", password="wrong"),
        ClickHouseOptions(user="guarded"),
    ],
)
def test_wrong_user_is_refused_without_showing_the_password(
    server: ClickHouseServer, options: ClickHouseOptions
) -> None:
    with pytest.raises(PartMoveError, match=f"refuses the user {options.user}: ") as caught:
        ask(server, "SELECT 1", options)
    assert options.password == "" or options.password not in f"{caught.value}{options!r}"


def test_exception_of_the_server_is_one_short_sentence(server: ClickHouseServer) -> None:
    with pytest.raises(PartMoveError) as caught:
        ask(server, f"SELECT * FROM nowhere_{'x' * 500}")
    message = caught.value.message
    assert (
        f"ClickHouse at 127.0.0.1:{server.http_port} refused a query with code 60: Table default." in message
    )
    assert len(message) < 300
    assert "\n" not in message
    assert "e.what" not in message


def test_exception_after_the_first_rows_is_not_taken_for_rows(server: ClickHouseServer) -> None:
    with pytest.raises(PartMoveError, match="code 395"):
        ask(server, "SELECT throwIf(number = 150000) FROM numbers(200000)")


def test_stream_gives_rows_by_column(server: ClickHouseServer) -> None:
    client = ClickHouseClient("127.0.0.1", server.http_port, ClickHouseOptions())
    rows = client.stream("SELECT toUInt32(number) AS n, 'a\\nb' AS text FROM numbers(100000)")
    assert next(rows) == {"n": 0, "text": "a\nb"}
    assert sum(row["n"] for row in rows) == sum(range(100_000))


def test_stream_that_the_server_refuses_gives_no_row(server: ClickHouseServer) -> None:
    client = ClickHouseClient("127.0.0.1", server.http_port, ClickHouseOptions())
    with pytest.raises(QueryRefused, match="code 395"):
        next(client.stream("SELECT throwIf(number = 150000) FROM numbers(200000)"))


@pytest.mark.parametrize("name", ["plain", "_1", "1st", "a.b", "it's", "a`b", "a\\\\b", "ünï"])
def test_identifiers_are_names_to_the_server(server: ClickHouseServer, name: str) -> None:
    client = ClickHouseClient("127.0.0.1", server.http_port, ClickHouseOptions())
    assert list(client.stream(f"SELECT toUInt8(1) AS {identifier(name)}")) == [{name: 1}]


def test_tls_with_the_authority_of_the_server(
    server: ClickHouseServer, tls: TlsFiles, secure_port: int
) -> None:
    options = ClickHouseOptions(secure=True, ca=str(tls.authority))
    assert ClickHouseClient("127.0.0.1", secure_port, options).rows("SELECT 1") == [[1]]


def test_tls_without_verification(server: ClickHouseServer, secure_port: int) -> None:
    options = ClickHouseOptions(secure=True, verify=False)
    assert ClickHouseClient("127.0.0.1", secure_port, options).rows("SELECT 1") == [[1]]


def test_certificate_of_an_unknown_authority_is_refused(server: ClickHouseServer, secure_port: int) -> None:
    client = ClickHouseClient("127.0.0.1", secure_port, ClickHouseOptions(secure=True))
    with pytest.raises(PartMoveError, match="cannot be reached: .*certificate verify failed"):
        client.rows("SELECT 1")


def test_certificate_for_another_host_is_refused(
    server: ClickHouseServer, tls: TlsFiles, secure_port: int
) -> None:
    client = ClickHouseClient("127.0.0.2", secure_port, ClickHouseOptions(secure=True, ca=str(tls.authority)))
    with pytest.raises(PartMoveError, match="cannot be reached: "):
        client.rows("SELECT 1")


def test_plain_and_secure_port_mixed_up(server: ClickHouseServer, secure_port: int) -> None:
    # The server waits for the end of a line if the random bytes of the greeting look like a request.
    with pytest.raises(
        PartMoveError, match="the port does not speak TLS|no answer .* whether that port speaks TLS"
    ):
        ask(server, "SELECT 1", ClickHouseOptions(secure=True, verify=False, timeout=0.5))
    with pytest.raises(PartMoveError):
        ClickHouseClient("127.0.0.1", secure_port, ClickHouseOptions(timeout=0.5)).rows("SELECT 1")


def test_nobody_listens() -> None:
    ports = ReservedPorts()
    client = ClickHouseClient("127.0.0.1", ports.take(), ClickHouseOptions())
    try:
        with pytest.raises(PartMoveError, match=r"127\.0\.0\.1:\d+ cannot be reached: Connection refused\."):
            client.rows("SELECT 1")
    finally:
        ports.release()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a b", "::1%nowhere", ""])
def test_host_that_leads_nowhere(host: str) -> None:
    with pytest.raises(PartMoveError, match="cannot be reached: "):
        ClickHouseClient(host, 1, ClickHouseOptions(timeout=5)).rows("SELECT 1")


def test_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = ClickHouseClient("127.0.0.1", port, ClickHouseOptions(timeout=0.2))
        with pytest.raises(PartMoveError, match=r"cannot be reached: no answer within 0\.2 s"):
            client.rows("SELECT 1")


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>", "gave an answer that is not understood: <html>"),
        (200, b"[1]", "gave an answer that is not understood: "),
        (200, b"\xff", "gave an answer that is not understood: "),
        (404, b"<html>\nnot here", "answered with HTTP status 404: <html> not here"),
        (302, b"", "answered with HTTP status 302: "),
    ],
)
def test_server_of_another_kind(status: int, body: bytes, message: str) -> None:
    with http_server(status, body) as port, pytest.raises(PartMoveError, match=message) as caught:
        ClickHouseClient("127.0.0.1", port, ClickHouseOptions()).rows("SELECT 1")
    assert "the address of the HTTP interface of a ClickHouse server" in str(caught.value)


@pytest.mark.parametrize("body", [b"<html>", b"[1]\n", b"\xff", b'{"1":1}\n{"1"'])
def test_stream_that_is_none_of_rows_is_not_understood(body: bytes) -> None:
    with (
        http_server(200, body) as port,
        pytest.raises(PartMoveError, match="gave an answer that is not understood: "),
    ):
        list(ClickHouseClient("127.0.0.1", port, ClickHouseOptions()).stream("SELECT 1"))


def test_stream_that_breaks_off_is_no_answer() -> None:
    with (
        http_server(200, b'{"1":1}\n', promised=100) as port,
        pytest.raises(PartMoveError, match="cannot be reached: IncompleteRead"),
    ):
        list(ClickHouseClient("127.0.0.1", port, ClickHouseOptions()).stream("SELECT 1"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"Code: 516. DB::Exception: default: Unknown user. (AUTHENTICATION_FAILED) (version 22.3.2.1)",
            r"refuses the user default: default: Unknown user\. \(AUTHENTICATION_FAILED\)\. Check",
        ),
        (
            b"Code: 60, e.displayText() = DB::Exception: No table a.b. (version 20.12.3.1 (x))\n",
            r"refused a query with code 60: No table a\.b\. Use",
        ),
        (
            b"Poco::Exception. Code: 1000, e.code() = 0, e.displayText() = Timeout (version 20.12.3.1)",
            "refused a query with code 1000: ",
        ),
        (
            b'{"data": [], "rows": 0, "exception": "Code: 60. DB::Exception: No a.b. (version 25.8.2.1)"}',
            r"refused a query with code 60: No a\.b\. Use",
        ),
        (
            b'{"1": 1}\n{"exception": "Code: 60. DB::Exception: No a.b. (version 25.8.2.1)"}\n',
            r"refused a query with code 60: No a\.b\. Use",
        ),
    ],
)
@pytest.mark.parametrize("status", [500, 404])
def test_exceptions_as_later_versions_write_them(status: int, body: bytes, message: str) -> None:
    with http_server(status, body) as port:
        client = ClickHouseClient("127.0.0.1", port, ClickHouseOptions())
        for query in (client.rows, lambda sql: list(client.stream(sql)), client.execute):
            with pytest.raises(PartMoveError, match=message):
                query("SELECT 1")


EXCEPTION = '"exception": "Code: 395. DB::Exception: Value passed. (version 24.8.4.1)"'


@pytest.mark.parametrize("body", [f'{{"data": [[1]], {EXCEPTION}}}', f"{{{EXCEPTION}}}"])
def test_exception_after_a_good_status_is_not_taken_for_rows(body: str) -> None:
    with (
        http_server(200, body.encode()) as port,
        pytest.raises(QueryRefused, match=r"code 395: Value passed\."),
    ):
        ClickHouseClient("127.0.0.1", port, ClickHouseOptions()).rows("SELECT 1")


def test_exception_after_streamed_rows_is_not_taken_for_a_row() -> None:
    body = f'{{"1": 1}}\n{{{EXCEPTION}}}\n'.encode()
    with http_server(200, body) as port:
        rows = ClickHouseClient("127.0.0.1", port, ClickHouseOptions()).stream("SELECT 1")
        assert next(rows) == {"1": 1}
        with pytest.raises(QueryRefused, match=r"code 395: Value passed\."):
            next(rows)


@contextmanager
def http_server(status: int, body: bytes, promised: int | None = None) -> Iterator[int]:
    """A server that gives one answer to everything, and may promise more bytes than it sends.

    Only the query for its settings, which comes first, is answered as any server does.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"])).decode()
            is_first = asks_for_settings(query)
            answer = json.dumps({"data": settings_rows()}).encode() if is_first else body
            self.send_response(HTTPStatus.OK if is_first else status)
            self.send_header("Content-Length", str(len(answer) if is_first or promised is None else promised))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: object) -> None:
            """Keep the test's output clean."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"port": 0}, "The HTTP port of ClickHouse is 0"),
        ({"port": 65_536}, "The HTTP port of ClickHouse is 65536"),
        ({"timeout": 0}, "The timeout for ClickHouse is 0"),
        ({"user": "a\n"}, "The user for ClickHouse has a character that cannot be sent"),
        ({"password": "secret\n"}, "The password for ClickHouse has a character"),
        ({"ca": "/tmp/ca.pem"}, "has a ca, but secure is false"),
        (
            {"secure": True, "ca": "/nowhere/ca.pem"},
            r"The TLS file /nowhere/ca\.pem \(ca of ClickHouse\) cannot",
        ),
        *(
            ({"endpoints": {"r1": text}}, "of replica r1 is not host:port")
            for text in ("", ":1", "a:0", "a:x", "a:70000", "a/b", "u@a", "http://a", "::1", "[::1", "a b\n")
        ),
    ],
)
def test_options_that_cannot_work_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(PartMoveError, match=message) as caught:
        replace(ClickHouseOptions(), **change)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("db1", ("db1", 8123)),
        ("db1:80", ("db1", 80)),
        ("[::1]:9", ("::1", 9)),
        ("[::1]", ("::1", 8123)),
    ],
)
def test_endpoints(text: str, endpoint: tuple[str, int]) -> None:
    options = ClickHouseOptions(endpoints={"r1": text})
    assert options.endpoint_of("r1") == endpoint
    assert options.endpoint_of("r2") is None


def test_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("no")
    with pytest.raises(PartMoveError, match="holds no certificate"):
        ClickHouseClient("127.0.0.1", 1, ClickHouseOptions(secure=True, ca=str(ca))).rows("SELECT 1")
