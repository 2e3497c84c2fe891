# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of twins and of parts; tests/clickhouse covers the queries."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_activity import partition_of
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import (
    HttpTwinServers,
    _parts_are_equal,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    StatementEnded,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import DAY, table_of


@pytest.mark.parametrize("twin", ["cold", "{table}", ""])
def test_the_name_of_a_twin_depends_on_its_table(twin: str) -> None:
    with pytest.raises(PartMoveError, match=r"Write it as \{table\}_cold"):
        HttpTwinServers(ClickHouseOptions(), twin)


@pytest.mark.parametrize(
    ("part", "partition"),
    [
        ("20191201_1_1_0", "20191201"),
        ("20191201_1_5_2_9", "20191201"),
        ("all_0_0_0", "all"),
        ("20191201_20191220_0_5_2", "201912"),
        ("20191201_0_5_999999999", "20191201"),
        ("", ""),
        ("something", ""),
    ],
)
def test_an_entry_of_a_queue_concerns_the_partition_of_its_part_or_all(part: str, partition: str) -> None:
    assert partition_of(part) == partition


@pytest.mark.parametrize(
    ("code", "text", "equal"),
    [
        (999, "Transaction failed (Node exists): Op #3, path: /t/blocks/20240101_replace_from_8A", True),
        (999, "Transaction failed (Node exists): Op #3, path: /t/log/log-0000000001", False),
        (999, "Session expired, path: /t/blocks/20240101_replace_from_8A", False),
        (341, "Node exists, /t/blocks/20240101", False),
    ],
)
def test_an_attach_of_equal_parts_is_told_from_others_with_an_open_outcome(
    code: int, text: str, *, equal: bool
) -> None:
    assert _parts_are_equal(QueryRefused("a server", code, text)) is equal


LOCK = "Cannot create persistent zero copy lock /clickhouse/zero_copy/x because part was unlocked"


@pytest.mark.parametrize(
    ("code", "text", "engine", "outcome"),
    [
        (243, "Cannot reserve 1 MiB", "Atomic", "returned"),
        (142, LOCK, "Atomic", "returned"),
        (142, "another znode", "Atomic", "ended"),
        (49, "Logical error", "Atomic", "ended"),
        (159, "Timeout exceeded", "Atomic", "unknown"),
        (999, "Session expired", "Atomic", "unknown"),
        # Another server may execute the entry of the database again.
        (49, "Logical error", "Replicated", "unknown"),
        (243, "Cannot reserve 1 MiB", "Replicated", "returned"),
    ],
)
def test_errors_of_an_attach_say_whether_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, code: int, text: str, engine: str, outcome: str
) -> None:
    def rows(_client: ClickHouseClient, sql: str, **_settings: int) -> list[list[str]]:
        return [[engine]] if "system.databases" in sql else [["alter_sync"]]

    def execute(client: ClickHouseClient, sql: str, **_settings: int) -> None:
        if "ATTACH" in sql:
            raise QueryRefused(client.label, code, text)

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    monkeypatch.setattr(ClickHouseClient, "execute", execute)
    monkeypatch.setattr(ClickHouseClient, "version", lambda _client: "25.8.2.1")
    servers = HttpTwinServers(ClickHouseOptions(endpoints={"r1": "ch1"}))
    tables = TwinTables(TwinReplica("r1", ""), "ch1", table_of(Side.HOT, "r1"), table_of(Side.COLD, "r1"))
    servers._remembered(tables)
    statement = AttachPartitions(tables, Side.COLD, (DAY,))
    if outcome == "returned":
        assert servers.attach(statement) == text
        return
    with pytest.raises(PartMoveError, match=text) as error:
        servers.attach(statement)
    assert type(error.value) is (StatementEnded if outcome == "ended" else QueryRefused)
