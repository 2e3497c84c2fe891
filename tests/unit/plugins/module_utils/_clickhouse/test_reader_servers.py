# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A policy that may belong to a pair is not taken for that of another pair; tests/integration has servers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.reader_servers import known_policies
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    LeftPolicy,
    ReadingTable,
    older_policy_name,
    policy_name,
)
from support.memory.readers import BOTH

NAME, OLDER = policy_name(BOTH[0]), older_policy_name(BOTH[0])


class FakeServer:
    """Is its own client: shows policies, no table of the engine Merge, and the rights of the user."""

    label = "ch1"

    def __init__(
        self, *policies: str, right: str = "SHOW TABLES ON db.*", denied: bool = False, reading: bool = False
    ) -> None:
        self._policies = policies
        self._right = right
        self._denied = denied
        self._reading = reading

    def rows(self, sql: str) -> list[list[Any]]:
        """Return the rows of a query."""
        if "row_policies" in sql:
            if self._denied:
                raise QueryRefused("ch1", 497, "Not enough privileges")
            return [[each, "db", "hits_all"] for each in self._policies]
        if "SHOW GRANTS" in sql:
            return [[f"GRANT {self._right} TO ops"]]
        if "engine = 'Merge'" in sql:
            return [["db", "hits_all", "Merge('db', '^hits$')"]] if self._reading else []
        assert sql.startswith("SELECT [")
        return [[["1", "0"]]]


def known(server: FakeServer) -> tuple[LeftPolicy, ...]:
    return known_policies(cast("ClickHouseClient", server), BOTH[0])


def test_the_policies_of_the_shard_path_need_no_other_right() -> None:
    assert known(FakeServer()) == ()
    assert known(FakeServer(NAME)) == (LeftPolicy(NAME, ReadingTable("db", "hits_all")),)


def test_without_the_right_nothing_may_read_the_tables() -> None:
    """A policy is on a table that reads them, and hides nothing without one."""
    assert known(FakeServer(denied=True, right="SHOW ON *.*")) == ()
    for blind in (FakeServer(denied=True), FakeServer(denied=True, right="SHOW ON *.*", reading=True)):
        with pytest.raises(NotPermitted, match="Not enough privileges"):
            known(blind)


def test_an_older_policy_on_a_table_that_the_user_may_not_see_is_unknown() -> None:
    """Its name is that of all tables called so, and only the table that it is on tells them apart."""
    with pytest.raises(NotPermitted, match="ch1 may hide reading tables"):
        known(FakeServer(OLDER))
    assert known(FakeServer(OLDER, right="SHOW ON *.*")) == ()
