# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many queries a shard path takes: each look asks every replica, and shard paths are thousands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from support.servers.clickhouse import ClickHouseCluster
from support.servers.counting_gateway import CountingGateway
from support.servers.moving import Mover
from support.servers.replicated import TableMaker

MOST_FOR_A_SHARD_PATH = 4
"""Of each replica: what it has active and detached, before the switch and after it."""
ONCE = 1
"""What a server can tell at all is asked once a run."""


@pytest.fixture
def gateways(replicas: ClickHouseCluster) -> Iterator[Mapping[str, CountingGateway]]:
    """Replica → what its server is asked through."""
    with ExitStack() as stack:
        yield {
            f"r{number}": stack.enter_context(CountingGateway("127.0.0.1", server.http_port))
            for number, server in enumerate(replicas.servers, 1)
        }


def test_a_shard_path_takes_few_queries_of_each_replica(
    mover: Mover, make_table: TableMaker, gateways: Mapping[str, CountingGateway]
) -> None:
    tables = [make_table() for _each in range(3)]
    for table in tables:
        table.fill(["2019-12-01", "2019-12-02"])
        table.settle()
    endpoints = {name: f"127.0.0.1:{each.port}" for name, each in gateways.items()}
    probe = HttpReplicaProbe(ClickHouseOptions(endpoints=endpoints))
    for table in tables:
        context = mover.context(table)._replace(servers=AskServers(probe, at_once=2))
        moved = move_shard(context, table.path, ["20191201", "20191202"], mover.options).moved
        assert sorted(moved) == ["20191201", "20191202"]
    for gateway in gateways.values():
        assert 0 < gateway.requests <= len(tables) * MOST_FOR_A_SHARD_PATH + ONCE
