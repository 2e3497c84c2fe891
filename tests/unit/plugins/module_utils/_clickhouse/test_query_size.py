# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Long queries carry the settings with which a server reads them; short ones carry none."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.query_size import (
    size_settings,
    too_small,
)

LONG = "x" * 20_001


class Server:
    """Shows these values, and keeps what it was asked."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.asked: list[str] = []

    def rows(self, sql: str) -> list[list[str]]:
        self.asked.append(sql)
        return [list(each) for each in self.values.items()]


def test_a_short_query_asks_nothing_and_carries_nothing() -> None:
    server = Server(max_query_size="1")
    assert size_settings(cast("Any", server), LONG[1:]) == {}
    assert server.asked == []


@pytest.mark.parametrize(
    ("values", "sent"),
    [
        ({}, {}),
        ({"max_query_size": "262144", "max_ast_elements": "50000"}, {}),
        (
            {"max_query_size": "30000", "max_ast_elements": "30000"},
            {"max_query_size": 30_001, "max_ast_elements": 30_001},
        ),
        ({"max_query_size": "0", "max_ast_elements": "9"}, {"max_ast_elements": 30_001}),
    ],
)
def test_a_long_query_carries_the_limits_that_are_too_small(
    values: dict[str, str], sent: dict[str, int]
) -> None:
    server = Server(**values)
    assert size_settings(cast("Any", server), LONG) == sent
    (asked,) = server.asked
    assert asked.endswith("WHERE name IN ('max_query_size', 'max_ast_elements')")


def test_bytes_count_and_not_characters() -> None:
    assert too_small({"max_query_size": 100}, "ä" * 40) == {"max_query_size": 120}
    assert too_small({"max_query_size": 100}, "a" * 40) == {}
