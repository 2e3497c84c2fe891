# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No table is found only where the user may see every table."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.alter_servers import HttpAlterServers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_creation import TwinPlace
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.visible_tables import (
    hidden_from_user,
    refuse_hidden_tables,
    shows_tables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import table_of

Rows = Callable[..., "list[list[str]]"]


@pytest.mark.parametrize(
    ("grants", "database", "sees"),
    [
        (["GRANT SHOW TABLES ON db.* TO u"], "db", True),
        (["GRANT INSERT, SELECT ON db.* TO u"], "db", True),
        (["GRANT SHOW ON *.* TO u WITH GRANT OPTION"], "db", True),
        (["GRANT ALL ON *.* TO u"], "db", True),
        (["GRANT SHOW TABLES ON `my-db`.* TO u"], "my-db", True),
        (["GRANT SHOW TABLES ON `all`.* TO u"], "all", True),
        (["GRANT SELECT ON db.t TO u", "GRANT ALTER DELETE ON db.* TO u"], "db", False),
        (["GRANT SELECT(a) ON db.* TO u"], "db", False),
        (["GRANT SHOW TABLES ON other.* TO u"], "db", False),
        (["GRANT SELECT ON *.* TO u", "REVOKE SELECT ON db.hits_all FROM u"], "db", False),
        (["GRANT SELECT ON *.* TO u", "REVOKE INSERT ON db.hits_all FROM u"], "db", True),
        ([], "db", False),
    ],
)
def test_rights_with_which_every_table_of_a_database_is_seen(
    grants: list[str], database: str, *, sees: bool
) -> None:
    assert shows_tables(grants, database) is sees


def answering(monkeypatch: pytest.MonkeyPatch, *grants: str, knows_final: bool = True) -> ClickHouseClient:
    """A client of a server that shows the user these rights, and a Merge table."""

    def rows(client: ClickHouseClient, sql: str, **_settings: int) -> list[list[str]]:
        if sql == "SHOW GRANTS FINAL" and not knows_final:
            raise QueryRefused(client.label, 62, "Syntax error: failed at FINAL")
        if sql.startswith("SHOW GRANTS"):
            return [[each] for each in grants]
        if "engine_full" in sql:
            return [["hits_all", "Merge('db', '^(hits|hits_cold)$')"]]
        if "system.columns" in sql:
            return [["id", "UInt8", "", ""]]
        return [["Atomic"]] if "system.databases" in sql else [["alter_sync"]]

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    monkeypatch.setattr(ClickHouseClient, "version", lambda _client: "25.8.2.1")
    return ClickHouseClient("ch1", 8123, ClickHouseOptions())


@pytest.mark.parametrize("knows_final", [True, False])
def test_a_right_to_see_tables_is_enough(monkeypatch: pytest.MonkeyPatch, *, knows_final: bool) -> None:
    client = answering(monkeypatch, "GRANT SHOW TABLES ON db.* TO u", knows_final=knows_final)
    refuse_hidden_tables(client, "db")
    with pytest.raises(NotPermitted, match=re.escape("lacks the right SHOW TABLES ON `my-db`.*")) as error:
        refuse_hidden_tables(client, "my-db")
    assert error.value.remedy == "GRANT SHOW TABLES ON `my-db`.* to the user"
    assert hidden_from_user(client).endswith("it lacks the right SHOW on *.*")


def test_reading_tables_of_an_alter_are_read_by_a_user_who_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    place = TwinPlace("cold", "{path}_cold")
    servers = HttpAlterServers(ClickHouseOptions(endpoints={"r1": "ch1"}), place, "{table}_cold")
    hot, cold = (table_of(each, "r1") for each in Side)
    tables = TwinTables(TwinReplica("r1", ""), "ch1", hot, cold)
    answering(monkeypatch, "GRANT SHOW TABLES ON db.* TO u")
    assert [each.sql_name for each in servers.reading(tables)] == ["db.hits_all"]
    answering(monkeypatch, "GRANT ALTER DELETE ON db.hits TO u")
    with pytest.raises(NotPermitted, match="may hide reading tables of the database db from the user"):
        servers.reading(tables)
