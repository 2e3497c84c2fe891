# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text and names as ClickHouse reads them in SQL."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.sql import (
    identifier,
    is_one_of,
    literal,
)


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("", "''"),
        ("hits", "'hits'"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("\\'", r"'\\\''"),
        ("' OR 1 --", r"'\' OR 1 --'"),
    ],
)
def test_text_as_a_literal(text: str, sql: str) -> None:
    assert literal(text) == sql


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("hits", "hits"),
        ("_hits_2", "_hits_2"),
        ("2hits", "`2hits`"),
        ("my-hits", "`my-hits`"),
        ("таблица", "`таблица`"),
        ("a`b\\", "`a\\`b\\\\`"),
        ("", "``"),
    ],
)
def test_names_that_need_them_are_in_back_quotes(name: str, sql: str) -> None:
    assert identifier(name) == sql


@pytest.mark.parametrize(
    ("values", "condition"),
    [(["a"], "name IN ('a')"), (["a", "b'c"], r"name IN ('a', 'b\'c')"), ([], "0")],
)
def test_a_condition_on_no_value_has_no_empty_list(values: list[str], condition: str) -> None:
    assert is_one_of("name", values) == condition
