# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The macros of a table are kept only if they give the place of the twin."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.kept_macros import keep_macros
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTable

HOT = TwinTable("db", "hits", "default", "/t/01/hits", "r1", "", ("a",), 1, 1)


class Server:
    """Has macros, and refuses a query for others as servers do."""

    def __init__(self, **macros: str) -> None:
        self.macros = macros
        self.queries = 0

    def rows(self, sql: str) -> list[list[str]]:
        self.queries += 1
        if "getMacro" not in sql:
            assert "name = 'hits'" in sql
            return [["1234"]]
        try:
            return [[self.macros[each] for each in re.findall(r"getMacro\('(\w+)'\)", sql)]]
        except KeyError as error:
            raise QueryRefused("the server", 139, f"No macro {error} in config") from None


def kept(server: Server, text: str, expected: str) -> str:
    return keep_macros(cast("Any", server), HOT, {expected: text})[expected]


@pytest.mark.parametrize(
    ("written", "place", "result"),
    [
        ("/t/{shard}/hits_cold", "/t/01/hits_cold", "/t/{shard}/hits_cold"),
        ("{replica}-{shard}", "r1-01", "{replica}-{shard}"),
        ("/t/{uuid}/{shard}_cold", "/t/1234/01_cold", "/t/1234/{shard}_cold"),
        ("/t/{database}/{table}/{shard}_cold", "/t/db/hits/01_cold", "/t/db/hits/{shard}_cold"),
        ("/t/01/hits_cold", "/t/01/hits_cold", "/t/01/hits_cold"),
        # What the macros give is another place, so that the place is given as it is.
        ("/t/{shard}/other", "/t/01/hits_cold", "/t/01/hits_cold"),
        ("/t/{unknown}/hits_cold", "/t/01/hits_cold", "/t/01/hits_cold"),
    ],
)
def test_macros_are_kept_where_they_give_the_place(written: str, place: str, result: str) -> None:
    assert kept(Server(shard="01", replica="r1"), written, place) == result


def test_a_text_without_macros_needs_no_query() -> None:
    server = Server()
    assert kept(server, "r1", "r1") == "r1"
    assert server.queries == 0


def test_an_unknown_macro_of_the_replica_keeps_none_of_the_path() -> None:
    """One query asks for all macros."""
    both = {"/t/01/hits_cold": "/t/{shard}/hits_cold", "r1": "{unknown}"}
    assert keep_macros(cast("Any", Server(shard="01")), HOT, both) == {each: each for each in both}
