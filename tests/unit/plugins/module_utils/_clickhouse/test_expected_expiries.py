# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When parts of the twin expire by the TTL of the table; test_twin_alter_ttl.py has real servers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.expected_expiries import (
    read_expected_expiries,
    ttl_of_rows,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    TwinReplica,
    TwinTable,
    TwinTables,
)

ENGINE = "(`day` Date) ReplicatedMergeTree() PARTITION BY day ORDER BY day"
HOT = TwinTable(
    "db", "hits", "default", "/hits", "r1", f"{ENGINE} TTL day + toIntervalDay(1)", ("day",), 1, 1
)
COLD = HOT._replace(name="hits_cold", ensemble="cold", definition=ENGINE)


class Server:
    """A server with two parts of the twin, each of two rows."""

    label = "ch1"

    def __init__(self, *, code: int = 0) -> None:
        self._code = code
        self.visible = 2
        self.sql = ""

    def rows(self, sql: str) -> list[list[Any]]:
        if "system.settings" in sql:
            return [["apply_deleted_mask"]]
        if "system.parts" in sql:
            return [["d_1_1_0", "2"], ["d_2_2_0", "2"]]
        self.sql = sql
        if self._code:
            raise QueryRefused(self.label, self._code, "no")
        return [["d_1_1_0", "2", "100"], ["d_2_2_0", str(self.visible), "200"], ["d_3_3_0", "1", "300"]]


def expiries(server: Server, hot: TwinTable = HOT, cold: TwinTable = COLD, *days: str) -> dict[str, int]:
    tables = TwinTables(TwinReplica("r1", ""), "ch1", hot, cold)
    return dict(read_expected_expiries(cast(ClickHouseClient, server), tables, days))


def test_the_rows_of_the_twin_expire_by_the_ttl_of_the_table() -> None:
    server = Server()
    assert expiries(server, HOT, COLD, "d") == {"d_1_1_0": 100, "d_2_2_0": 200}
    assert "max(day + toIntervalDay(1))" in server.sql
    assert server.sql.endswith(
        " FROM db.hits_cold WHERE _partition_id IN ('d') GROUP BY _part SETTINGS apply_deleted_mask = 0"
    )


def test_a_part_with_rows_that_the_user_does_not_see_may_expire_later() -> None:
    server = Server()
    server.visible = 1
    assert expiries(server, HOT, COLD, "d") == {"d_1_1_0": 100}


def test_nothing_is_known_of_parts_that_no_query_tells_apart() -> None:
    server = Server()
    assert expiries(server, HOT, COLD._replace(virtual_names=("_part",)), "d") == {}
    assert server.sql == ""


def test_nothing_expires_without_a_ttl() -> None:
    server = Server()
    assert expiries(server, COLD, COLD, "d") == {}
    assert server.sql == ""


@pytest.mark.parametrize("hot", [HOT, COLD])
def test_a_user_that_may_not_read_the_twin_learns_it_without_partitions(hot: TwinTable) -> None:
    with pytest.raises(NotPermitted):
        expiries(Server(code=497), hot)
    server = Server()
    assert expiries(server, hot) == {"d_1_1_0": 100, "d_2_2_0": 200}
    assert " WHERE 0 GROUP BY " in server.sql


def test_a_time_that_a_server_cannot_compute_is_not_known() -> None:
    assert expiries(Server(code=43), HOT, COLD, "d") == {}


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("", ""),
        (" SETTINGS x = 1", ""),
        (" TTL d + toIntervalDay(1)", "d + toIntervalDay(1)"),
        (" TTL d + toIntervalDay(1) DELETE", "d + toIntervalDay(1)"),
        (" TTL f(d, 1) TO VOLUME 'cold', g(d, 2) SETTINGS x = 1, y = 2", "g(d, 2)"),
        (" TTL d + 1 WHERE x = 1", ""),
        (" TTL d + 1 RECOMPRESS CODEC(ZSTD(1)), d + 2", "d + 2"),
        (" TTL d + 1 GROUP BY a, b SET x = max(x), y = min(y)", ""),
        (" TTL d + 2, d + 1 GROUP BY a SET x = max(x), y = min(y)", "d + 2"),
        (" TTL if(x = ' TTL ', d, e) SETTINGS y = 1", "if(x = ' TTL ', d, e)"),
    ],
)
def test_the_element_of_a_ttl_that_deletes_every_row(text: str, expression: str) -> None:
    assert (
        ttl_of_rows(f"(`d` Date, `e` Date TTL d + toIntervalDay(9)) ReplicatedMergeTree(){text}")
        == expression
    )
