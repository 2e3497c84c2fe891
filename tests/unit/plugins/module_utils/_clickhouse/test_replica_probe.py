# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The address of a replica's server; tests/clickhouse covers its answers."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
)

HOST = "host: 127.0.0.1\nport: 9009\ntcp_port: 9000\ndatabase: d\ntable: t\nscheme: http\n"


def asked(probe: HttpReplicaProbe, replica: str) -> str:
    """Return the address of the queried server from the error message."""
    with pytest.raises(PartMoveError) as refusal:
        probe.active_parts("/t", replica, HOST, ["2019"])
    with pytest.raises(PartMoveError) as again:
        probe.detached_parts("/t", replica, HOST)
    assert again.value.message == refusal.value.message
    return refusal.value.message.split(" cannot be reached")[0]


def test_a_server_is_queried_at_its_host_or_at_its_endpoint() -> None:
    # Nothing listens on these ports.
    probe = HttpReplicaProbe(ClickHouseOptions(port=9, endpoints={"r2": "localhost:7"}))
    assert asked(probe, "r1") == "ClickHouse at 127.0.0.1:9"
    assert asked(probe, "r2") == "ClickHouse at localhost:7"


def test_an_invalid_host_is_refused_with_its_path() -> None:
    probe = HttpReplicaProbe(ClickHouseOptions())
    with pytest.raises(FormatError, match="^/t/replicas/r1/host, line 1"):
        probe.active_parts("/t", "r1", "junk", [])
