# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The limit of a server is lifted where the user may do so, and otherwise read where the version shows it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.drop_limits import DropLimits
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.sent_settings import (
    PART_SIZE,
    TABLE_SIZE,
    KnownSettings,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted

PART, TABLE = "max_partition_size_to_drop", "max_table_size_to_drop"
CONSTRAINT = QueryRefused("ch1", 452, f"Setting {PART} should not be changed.")


class Server:
    """Knows these settings; the answers about them are values or errors."""

    label = "ch1"

    def __init__(
        self,
        *known: str,
        forbids: QueryRefused | None = None,
        of_profile: str = "",
        of_configuration: str | QueryRefused = "",
    ) -> None:
        self.asked: list[str] = []
        self._known, self._forbids = known, forbids
        self._of_profile, self._of_configuration = of_profile, of_configuration

    def rows(self, sql: str) -> list[list[str]]:
        self.asked.append(sql)
        if "server_settings" in sql:
            if isinstance(self._of_configuration, QueryRefused):
                raise self._of_configuration
            return [[self._of_configuration]] if self._of_configuration else []
        if "changed" in sql:
            return [[self._of_profile]] if self._of_profile else []
        return [[name] for name in self._known]

    def execute(self, sql: str, **settings: int) -> None:
        self.asked.append(f"{sql} {settings}")
        if self._forbids:
            raise self._forbids


def limits_of(server: Server) -> tuple[dict[str, int], int | None]:
    limits = DropLimits(KnownSettings())
    client = cast("Any", server)
    return limits.lifted(client, PART_SIZE), limits.most_bytes(client)


def test_a_limit_is_lifted_where_the_user_may_change_the_setting() -> None:
    server = Server("alter_sync", PART, TABLE, of_profile="7", of_configuration="8")
    assert limits_of(server) == ({PART: 0}, None)
    # Each server is asked once for its settings, and once for each of the two.
    assert len(server.asked) == 2
    assert DropLimits(KnownSettings()).lifted(cast("Any", server), TABLE_SIZE) == {TABLE: 0}


@pytest.mark.parametrize(
    ("of_profile", "of_configuration", "most"),
    [("7", "8", 7), ("", "8", 8), ("0", "8", None), ("", "0", None)],
)
def test_a_limit_counts_that_the_user_may_not_change(
    of_profile: str, of_configuration: str, most: int | None
) -> None:
    server = Server(PART, forbids=CONSTRAINT, of_profile=of_profile, of_configuration=of_configuration)
    assert limits_of(server) == ({}, most)


@pytest.mark.parametrize(
    ("shown", "most"), [("8", 8), ("", None), (QueryRefused("ch1", 60, "no such table"), None)]
)
def test_a_version_without_the_setting_may_show_its_limit(
    shown: str | QueryRefused, most: int | None
) -> None:
    server = Server("alter_sync", of_configuration=shown)
    assert limits_of(server) == ({}, most)
    assert not any(each.startswith("SELECT 1") for each in server.asked)


def test_what_the_user_may_not_read_is_no_missing_limit() -> None:
    server = Server(PART, forbids=CONSTRAINT, of_configuration=QueryRefused("ch1", 497, "no right"))
    with pytest.raises(NotPermitted, match="no right"):
        limits_of(server)


@pytest.mark.parametrize("code", [241, 497])
def test_another_error_is_no_limit(code: int) -> None:
    with pytest.raises(QueryRefused):
        limits_of(Server(PART, forbids=QueryRefused("ch1", code, "busy")))
