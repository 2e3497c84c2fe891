# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checksums of rows, some of which the user does not see; test_users.py has real row policies."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_checksum import checksum_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTable

TABLE = TwinTable("db", "hits", "default", "/hits", "r1", "()", ("day", "id"), 1, 1, "")


class Server:
    """A server with these rows in its parts, some of which the user reads."""

    label = "ch1"

    def __init__(self, read: int, written: int, *, active: int = 2) -> None:
        self._read, self._written, self._active = read, written, active
        self.sql = ""

    def rows(self, sql: str) -> list[list[Any]]:
        if "system.settings" in sql:
            return [["allow_experimental_projection_optimization"], ["apply_deleted_mask"]]
        if "system.parts" in sql:
            return [[str(self._written), str(self._active)]]
        self.sql = sql
        return [[str(self._read), "77"]]


def checksum(server: Server, table: TwinTable = TABLE) -> str:
    return checksum_of(cast(ClickHouseClient, server), table, ["p_1_1_0", "p_2_2_0"])


def test_all_rows_are_read_from_the_parts_themselves() -> None:
    server = Server(3, 3)
    assert checksum(server) == "3 rows 77"
    assert server.sql.endswith(
        " SETTINGS allow_experimental_projection_optimization = 0, apply_deleted_mask = 0"
    )


@pytest.mark.parametrize("read", [0, 2])
def test_rows_that_the_user_does_not_see_are_no_checksum(read: int) -> None:
    with pytest.raises(
        NotPermitted, match=rf"ch1 has 3 rows in parts of db\.hits, and the user sees {read} of"
    ):
        checksum(Server(read, 3))


def test_a_part_that_was_merged_meanwhile_hides_nothing() -> None:
    assert checksum(Server(2, 1, active=1)) == "2 rows 77"


def test_a_table_without_columns_is_hidden() -> None:
    with pytest.raises(NotPermitted, match=r"any column of db\.hits. GRANT SELECT ON db\.hits to the user"):
        checksum(Server(3, 3), TABLE._replace(columns=()))


def test_a_right_that_is_missing_is_not_permitted() -> None:
    class Denied(Server):
        def rows(self, sql: str) -> list[list[Any]]:
            if "cityHash64" in sql:
                raise QueryRefused("ch1", 497, "Not enough privileges")
            return super().rows(sql)

    with pytest.raises(NotPermitted, match="Not enough privileges"):
        checksum(Denied(3, 3))
