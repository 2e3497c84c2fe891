# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Quotes and brackets hide what is in them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.sql_text import (
    first_bracket,
    split_outside,
)


@pytest.mark.parametrize(
    ("sql", "rest"),
    [
        ("CREATE TABLE db.t (`a` UInt8)", "(`a` UInt8)"),
        ("CREATE TABLE db.`t (x)` (`a` UInt8)", "(`a` UInt8)"),
        (r"CREATE TABLE db.`t \` (x` (`a` UInt8)", "(`a` UInt8)"),
        ("CREATE TABLE db.\"t (x)\" UUID '(1' (`a` UInt8)", "(`a` UInt8)"),
        ("CREATE TABLE db.`it's (` (`a` UInt8)", "(`a` UInt8)"),
    ],
)
def test_the_first_bracket_is_not_in_a_name(sql: str, rest: str) -> None:
    assert sql[first_bracket(sql) :] == rest


@pytest.mark.parametrize("sql", ["", "CREATE TABLE t", "CREATE TABLE `t (x)`", "CREATE TABLE `t ("])
def test_there_may_be_no_bracket(sql: str) -> None:
    assert first_bracket(sql) == -1


@pytest.mark.parametrize(
    ("sql", "pieces"),
    [
        ("", [""]),
        ("a = 1", ["a = 1"]),
        ("a = 1, b = ', ', c = [1, 2]", ["a = 1", "b = ', '", "c = [1, 2]"]),
        (r"a = '\', ', b = `x, y`", [r"a = '\', '", "b = `x, y`"]),
        ("disk = disk(type = cache, disk = disk(a, b)), b = 2", None),
    ],
)
def test_separators_in_quotes_and_brackets_do_not_count(sql: str, pieces: list[str] | None) -> None:
    expected = ["disk = disk(type = cache, disk = disk(a, b))", "b = 2"] if pieces is None else pieces
    assert split_outside(sql, ", ") == expected
