# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Columns of tables that a version lacks, or that the user may not see."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.system_tables import columns_of


class Server:
    """Shows these columns, and answers DESCRIBE with this error, or with these columns too."""

    def __init__(self, *columns: str, error: QueryRefused | None = None) -> None:
        self._columns = columns
        self._error = error
        self.described = False

    def rows(self, sql: str) -> list[list[Any]]:
        if sql.startswith("SELECT name FROM system.columns"):
            assert sql.endswith("AND table = 'moves'")
            return [[each] for each in self._columns]
        assert sql == "DESCRIBE TABLE system.moves"
        self.described = True
        if self._error is not None:
            raise self._error
        return [["part_name", "String", "", ""]]


def columns(server: Server) -> frozenset[str]:
    return columns_of(cast(ClickHouseClient, server), "moves")


def test_columns_that_the_server_shows() -> None:
    server = Server("table", "part_name")
    assert columns(server) == {"table", "part_name"}
    assert not server.described


def test_a_table_that_the_version_lacks_has_no_columns() -> None:
    assert columns(Server(error=QueryRefused("ch1", 60, "Table system.moves does not exist"))) == set()
    assert columns(Server()) == {"part_name"}


def test_a_table_that_the_user_may_not_see_is_an_error() -> None:
    text = "u: Not enough privileges. To execute this query, it's necessary to have the grant SHOW COLUMNS ON"
    with pytest.raises(QueryRefused, match="SHOW COLUMNS ON"):
        columns(Server(error=QueryRefused("ch1", 497, text)))
