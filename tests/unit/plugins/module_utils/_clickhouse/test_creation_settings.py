# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A definition is sent with the settings that it needs, and with others only after it was refused."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.creation_settings import create_table

USUAL = {"flatten_nested": "1", "data_type_default_nullable": "0", "max_query_size": "100"}


class Server:
    """Refuses statements with the codes of ``refusals``, one after the other, and keeps what it was sent."""

    def __init__(self, *refusals: int, settings: dict[str, str] | None = None, allowed: str = "a b") -> None:
        self.refusals = list(refusals)
        self.settings = USUAL if settings is None else settings
        self.allowed = allowed.split()
        self.sent: list[dict[str, int]] = []

    def rows(self, sql: str) -> list[list[str]]:
        if "flatten_nested" in sql:
            return [list(each) for each in self.settings.items()]
        return [[each] for each in self.allowed]

    def execute(self, sql: str, **settings: int) -> None:
        self.sent.append(settings)
        if self.refusals:
            raise QueryRefused("the server", self.refusals.pop(0), "no")


def create(server: Server, statement: str = "CREATE", definition: str = "(`d` Date)") -> list[dict[str, int]]:
    create_table(cast("Any", server), statement, definition)
    return server.sent


def test_a_usual_definition_needs_no_settings() -> None:
    assert create(Server()) == [{}]


@pytest.mark.parametrize(
    ("settings", "statement", "definition", "sent"),
    [
        (USUAL, "CREATE", "(`n` Nested(a UInt8))", {"flatten_nested": 0}),
        ({**USUAL, "flatten_nested": "0"}, "CREATE", "(`n` Nested(a UInt8))", {}),
        ({**USUAL, "data_type_default_nullable": "1"}, "CREATE", "", {"data_type_default_nullable": 0}),
        (USUAL, "x" * 100, "", {"max_query_size": 150}),
        (USUAL, "ä" * 50, "", {"max_query_size": 150}),
        ({"max_query_size": "0", "max_ast_elements": "0"}, "x" * 100, "", {}),
        ({"max_ast_elements": "100"}, "x" * 100, "", {"max_ast_elements": 150}),
    ],
)
def test_settings_that_a_definition_needs(
    settings: dict[str, str], statement: str, definition: str, sent: dict[str, int]
) -> None:
    assert create(Server(settings=settings), statement, definition) == [sent]


def test_a_refused_definition_is_sent_again_with_all_that_may_allow_it() -> None:
    assert create(Server(455), definition="Nested(") == [
        {"flatten_nested": 0},
        {"flatten_nested": 0, "a": 1, "b": 1},
    ]


@pytest.mark.parametrize(
    ("codes", "allowed", "raised", "times"),
    [
        # No setting would help.
        ([253], "a", 253, 1),
        # The user may change none.
        ([455], "", 455, 1),
        ([455, 36], "a", 36, 2),
        # The user may change only some: the message that names the setting counts.
        ([455, 452], "a", 455, 2),
        ([455, 164], "a", 455, 2),
    ],
)
def test_what_stays_refused(codes: list[int], allowed: str, raised: int, times: int) -> None:
    server = Server(*codes, allowed=allowed)
    with pytest.raises(QueryRefused) as error:
        create(server)
    assert (error.value.code, len(server.sent)) == (raised, times)
