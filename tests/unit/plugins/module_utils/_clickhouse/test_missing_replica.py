# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica that a server does not show is explained by what its ensemble and its detached tables say."""

from __future__ import annotations

from typing import Any, cast

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.missing_replica import missing_replica
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError


class Server:
    """Answers from lists, and refuses what is None."""

    label = "ch1"

    def __init__(self, registered: bool | None, detached: list[list[str]] | None) -> None:
        self.registered = registered
        self.detached = detached

    def rows(self, sql: str) -> list[list[str]]:
        if "system.zookeeper" in sql:
            assert "path = '/t/01/replicas' AND name = 'r1'" in sql
            return self.answer(None if self.registered is None else [["r1"]][: int(self.registered)])
        if "system.columns" in sql:
            return [["is_permanently"]] if self.detached is not None else [["other"]]
        return self.answer(self.detached)

    def answer(self, rows: list[list[str]] | None) -> list[list[str]]:
        if rows is None:
            raise QueryRefused(self.label, 497, "no right")
        return rows


def missing(server: Server, found: int = 0) -> PartMoveError:
    return missing_replica(cast("Any", server), "/t/01", "r1", found)


def test_a_replica_that_the_ensemble_lacks_may_be_below_another_chroot() -> None:
    for registered in (False, None):
        error = missing(Server(registered, [["db", "hits"]]))
        assert error.message == "ch1 has 0 tables that are replica r1 of /t/01"
        assert "chroot of hot" in error.remedy


def test_two_tables_are_not_detached() -> None:
    assert "chroot of hot" in missing(Server(True, []), 2).remedy


def test_a_detached_table_is_named() -> None:
    error = missing(Server(True, [["db", "hits-old"]]))
    assert error.message.endswith("the user; db.`hits-old` are DETACHed there")
    assert error.remedy.startswith("ATTACH TABLE db.`hits-old` on that server")
    assert "SYSTEM DROP REPLICA 'r1' FROM ZKPATH '/t/01' on another replica" in error.remedy


def test_detached_tables_may_be_unknown() -> None:
    """Before 24.8 no server lists them."""
    for server in (Server(True, None), Server(True, [])):
        error = missing(server)
        assert "the table is DETACHed, was dropped" in error.message
        assert error.remedy.startswith("ATTACH TABLE … on that server")
    several = missing(Server(True, [["db", "a"], ["db", "b"]]))
    assert "db.a, db.b are DETACHed there" in several.message
    assert several.remedy.startswith("ATTACH TABLE … on that server")
