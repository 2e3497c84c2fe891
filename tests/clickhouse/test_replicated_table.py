# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How tests wait for the replicas of a table."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient

from support.servers.replicated import TableMaker
from support.servers.sql_server import QueryError, SqlServer

pytestmark = pytest.mark.clickhouse


def test_a_time_that_a_server_left_behind_does_not_hold_it_up_for_good(
    make_table: TableMaker, hot_client: KazooClient
) -> None:
    table = make_table()
    table.fill(["2019-12-01"])
    table.settle()
    left = f"{table.path}/replicas/r2/min_unprocessed_insert_time"
    assert hot_client.get(left)[0] in {b"", b"0"}
    # What is left where the session ends between the last entry of the queue and this.
    hot_client.set(left, b"1700000000")

    table.settle()

    assert hot_client.get(left)[0] == b"1700000000"
    table.fill(["2019-12-02"])
    table.settle()
    assert hot_client.get(left)[0] == b"0"


def test_a_statement_is_sent_again_until_the_server_knows_the_leader(
    make_table: TableMaker, hot_client: KazooClient
) -> None:
    table = make_table()
    table.fill(["2019-12-01"])
    table.settle()
    server = table.servers[0]
    drop = f"ALTER TABLE {table.name} DROP PARTITION 20191201"

    with table.electing(hot_client):
        with pytest.raises(QueryError, match="Code: 292, .*Leader was suddenly changed"):
            SqlServer.execute(server, drop)
        server.execute(drop, replication_alter_partitions_sync=2)

    assert table.active_parts() == {}
