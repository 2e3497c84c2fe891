# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The server of a replica, so that no two merges run on one server."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.merge_servers import HttpMergeServers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions

HOST = "host: ch1\nport: 9009\ntcp_port: 9000\ndatabase: default\ntable: {}\n"


def test_server_is_the_same_for_all_of_its_tables() -> None:
    servers = HttpMergeServers(ClickHouseOptions())
    found = {servers.server(f"/ch/{table}", "r1", HOST.format(table)) for table in ("hits", "visits")}
    assert found == {"ClickHouse at ch1:8123"}


def test_an_endpoint_of_a_replica_counts() -> None:
    servers = HttpMergeServers(ClickHouseOptions(endpoints={"r1": "10.0.0.1:8124"}))
    assert servers.server("/ch/hits", "r1", HOST.format("hits")) == "ClickHouse at 10.0.0.1:8124"
    assert servers.server("/ch/hits", "r2", HOST.format("hits")) == "ClickHouse at ch1:8123"
