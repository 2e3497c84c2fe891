# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name of a setting is one that the server knows; without any nothing is done."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.merge_servers import HttpMergeServers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_table import TwinClients
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.sent_settings import (
    EVERY_REPLICA,
    KnownSettings,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_sql import OWN_ROWS, PROJECTIONS
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_witnesses import statements_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import ManualCheck
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import table_of

UNKNOWN = (
    "ClickHouse at r1:8123 runs ClickHouse 31.2.1.1, which does not know the setting"
    " replication_alter_partitions_sync or alter_sync. Use a version of olap.partmove that knows this version"
    " of ClickHouse."
)
OPTIONS = ClickHouseOptions(endpoints={"r1": "r1"})


def serve(patch: pytest.MonkeyPatch, *settings: str) -> list[str]:
    """Let every server know these settings, and return the queries and statements so far."""
    asked: list[str] = []

    def rows(_client: ClickHouseClient, sql: str) -> list[list[str]]:
        asked.append(sql)
        if sql == "SELECT version()":
            return [["31.2.1.1"]]
        if "system.settings" in sql:
            return [[name] for name in settings if f"'{name}'" in sql]
        return [["", "db", "t", "0", "0"]]

    def execute(_client: ClickHouseClient, sql: str, **given: int) -> None:
        asked.append(f"{sql} {sorted(given.items())}")

    patch.setattr(ClickHouseClient, "rows", rows)
    patch.setattr(ClickHouseClient, "execute", execute)
    return asked


@pytest.mark.parametrize(
    ("known", "name"),
    [
        (["replication_alter_partitions_sync"], "replication_alter_partitions_sync"),
        (["alter_sync"], "alter_sync"),
        (["alter_sync", "replication_alter_partitions_sync"], "replication_alter_partitions_sync"),
    ],
)
def test_a_name_is_one_of_those_that_the_server_knows(
    monkeypatch: pytest.MonkeyPatch, known: list[str], name: str
) -> None:
    asked = serve(monkeypatch, *known)
    client, settings = ClickHouseClient("r1", 8123, ClickHouseOptions()), KnownSettings()
    assert [settings.name_of(client, EVERY_REPLICA) for _twice in range(2)] == [name] * 2
    assert len(asked) == 1


def test_a_move_is_refused_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "optimize_throw_if_noop")
    with pytest.raises(PartMoveError) as refused:
        TwinClients(OPTIONS).of("/t", "r1", "")
    assert str(refused.value) == UNKNOWN


def test_a_merge_has_the_settings_by_their_names_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, "optimize_throw_if_noop", "alter_sync")
    assert HttpMergeServers(OPTIONS).optimize("/t", "r1", "", "all") == ""
    assert asked[-1] == (
        "OPTIMIZE TABLE db.t PARTITION ID 'all' FINAL [('alter_sync', 0), ('optimize_throw_if_noop', 1)]"
    )
    asked = serve(monkeypatch, "optimize_throw_if_noop")
    with pytest.raises(PartMoveError) as refused:
        HttpMergeServers(OPTIONS).optimize("/t", "r1", "", "all")
    assert str(refused.value) == UNKNOWN
    assert not any(each.startswith("OPTIMIZE") for each in asked)


@pytest.mark.parametrize(
    ("known", "end"),
    [
        (["alter_sync"], "WHERE _part IN ('all_0_0_0')"),
        (["alter_sync", PROJECTIONS], OWN_ROWS),
    ],
)
def test_the_statement_of_a_finding_has_no_setting_that_the_server_lacks(
    monkeypatch: pytest.MonkeyPatch, known: list[str], end: str
) -> None:
    serve(monkeypatch, *known)
    clients = TwinClients(OPTIONS)
    label = clients.of("/t", "r1", "").label
    tables = TwinTables(TwinReplica("r1", ""), label, table_of(Side.HOT, "r1"), table_of(Side.COLD, "r1"))
    check = ManualCheck({Side.HOT: ("all_0_0_0",)}, ())
    (statement,) = statements_of(tables, check, clients.settings)
    assert statement.endswith(end)
    assert statements_of(tables, check)[0].endswith(OWN_ROWS)
