# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The client without a server: its label, and errors without an answer."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.query_errors import ServerSilent
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError

NOBODY = 9
"""A port of this machine that nothing listens on."""


@pytest.mark.parametrize(
    ("host", "label"),
    [("ch1", "ClickHouse at ch1:8123"), ("::1", "ClickHouse at [::1]:8123")],
)
def test_messages_call_a_server_by_its_address(host: str, label: str) -> None:
    assert ClickHouseClient(host, 8123, ClickHouseOptions()).label == label


def test_an_unreachable_server_is_an_error() -> None:
    client = ClickHouseClient("127.0.0.1", NOBODY, ClickHouseOptions())
    for ask in (lambda: client.rows("SELECT 1"), lambda: list(client.stream("SELECT 1"))):
        with pytest.raises(PartMoveError) as refusal:
            ask()
        assert not isinstance(refusal.value, ServerSilent)
        assert refusal.value.message == f"{client.label} cannot be reached: Connection refused"
        assert refusal.value.remedy


def test_a_statement_without_an_answer_is_not_told_as_a_server_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = ClickHouseClient("127.0.0.1", port, ClickHouseOptions(timeout=0.2))
        client._overrides = {}
        with pytest.raises(ServerSilent, match=r"did not finish a statement within 0\.2 s") as error:
            client.execute("ALTER TABLE t")
    assert "TLS" not in str(error.value)
    assert error.value.remedy.startswith("The server may still execute it")


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("nothing")
    client = ClickHouseClient("127.0.0.1", 9, ClickHouseOptions(secure=True, ca=str(ca)))
    with pytest.raises(PartMoveError, match=r"ca\.pem \(ca of ClickHouse\) holds no certificate"):
        client.rows("SELECT 1")
