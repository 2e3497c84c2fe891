# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Twins are alike if their definitions differ only in names and paths."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.table_definition import (
    definition_of,
    ensemble_in,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError

COLUMNS = "(`day` Date, `id` UInt32, INDEX by_id id TYPE minmax GRANULARITY 1)"
KEYS = "PARTITION BY day ORDER BY id SETTINGS index_granularity = 8192"


def definition(name: str, engine: str, columns: str = COLUMNS, comment: str = "") -> str:
    return definition_of(engine, f"CREATE TABLE {name} {columns} ENGINE = {engine}{comment}", name)


HOT = definition("db.hits", f"ReplicatedMergeTree('/a/{{shard}}/hits', '{{replica}}') {KEYS}")


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("db.hits_cold", f"ReplicatedMergeTree('cold:/a/{{shard}}/hits', '{{replica}}') {KEYS}"),
        ("db.`hits-cold`", f"ReplicatedMergeTree('cold:/it\\'s', 'r1') {KEYS}"),
        ("db.hits_cold", f"ReplicatedMergeTree {KEYS}"),
    ],
)
def test_names_and_paths_do_not_matter(name: str, engine: str) -> None:
    assert definition(name, engine) == HOT


@pytest.mark.parametrize(
    ("engine", "columns"),
    [
        (f"ReplicatedReplacingMergeTree('cold:/a', 'r1') {KEYS}", COLUMNS),
        (f"ReplicatedMergeTree('cold:/a', 'r1', ver) {KEYS}", COLUMNS),
        (f"ReplicatedMergeTree('cold:/a', 'r1') {KEYS}, storage_policy = 'other'", COLUMNS),
        (f"ReplicatedMergeTree('cold:/a', 'r1') {KEYS.replace('ORDER BY id', 'ORDER BY day')}", COLUMNS),
        (f"ReplicatedMergeTree('cold:/a', 'r1') {KEYS}", COLUMNS.replace("UInt32", "UInt64")),
        (f"ReplicatedMergeTree('cold:/a', 'r1') {KEYS}", "(`day` Date, `id` UInt32)"),
    ],
)
def test_any_other_difference_counts(engine: str, columns: str) -> None:
    assert definition("db.hits_cold", engine, columns) != HOT


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a = 1, b = 'x, y'", "b = 'x, y', a = 1"),
        ("disk = disk(type = local, path = '/p'), a = 1", "a = 1, disk = disk(type = local, path = '/p')"),
    ],
)
def test_the_order_of_settings_does_not_matter(first: str, second: str) -> None:
    both = [
        definition("db.t", f"ReplicatedMergeTree('/a', 'r1') ORDER BY id SETTINGS {each}")
        for each in (first, second)
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a = 1, b = 2", "a = 1, b = 3"),
        ("a = 1, b = 2", "a = 1"),
        # The last one counts.
        ("a = 1, a = 2", "a = 2, a = 1"),
        ("a = 'x, y'", "a = 'y, x'"),
    ],
)
def test_values_of_settings_matter(first: str, second: str) -> None:
    both = [
        definition("db.t", f"ReplicatedMergeTree('/a', 'r1') ORDER BY id SETTINGS {each}")
        for each in (first, second)
    ]
    assert both[0] != both[1]


def test_names_with_parentheses_do_not_matter() -> None:
    engine = f"ReplicatedMergeTree('/a', 'r1') {KEYS}"
    assert definition("db.`hits (old)`", engine) == definition("db.`hits (old)_cold`", engine) == HOT


@pytest.mark.parametrize("comment", ["", "x", r"it\'s ) ENGINE = x", " COMMENT "])
def test_comments_of_columns_do_not_matter(comment: str) -> None:
    engine = f"ReplicatedMergeTree('/a', 'r1') {KEYS}"
    commented = COLUMNS.replace("`id` UInt32", f"`id` UInt32 COMMENT '{comment}'")
    assert definition("db.t", engine, commented) == HOT


def test_a_text_that_looks_like_a_comment_matters() -> None:
    engine = f"ReplicatedMergeTree('/a', 'r1') {KEYS}"
    with_default = COLUMNS.replace("`id` UInt32", "`id COMMENT 'x'` UInt32")
    assert definition("db.t", engine, with_default) != definition("db.t", engine)


def test_a_comment_does_not_matter() -> None:
    assert definition("db.t", f"ReplicatedMergeTree('/a', 'r1') {KEYS}", comment=" COMMENT 'old'") == HOT


@pytest.mark.parametrize(
    ("engine", "query"),
    [
        ("MergeTree ORDER BY id", "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY id"),
        (
            "ReplicatedMergeTree('/a', 'r1')",
            "CREATE TABLE t (a UInt8) ENGINE = ReplicatedMergeTree('/b', 'r1')",
        ),
        ("ReplicatedMergeTree('/a', 'r1')", "CREATE TABLE t ENGINE = ReplicatedMergeTree('/a', 'r1')"),
    ],
)
def test_unknown_text_is_refused(engine: str, query: str) -> None:
    with pytest.raises(FormatError, match="is not understood"):
        definition_of(engine, query, "t")


@pytest.mark.parametrize(
    ("engine", "ensemble"),
    [
        ("ReplicatedMergeTree('/a:/b', 'r1')", "default"),
        ("ReplicatedMergeTree('cold:/a', 'r1')", "cold"),
        ("ReplicatedSummingMergeTree('cold:/a', 'r1', (x, y)) ORDER BY z", "cold"),
    ],
)
def test_the_path_contains_the_ensemble(engine: str, ensemble: str) -> None:
    assert ensemble_in(engine, "t") == ensemble


def test_an_engine_without_a_path_is_refused() -> None:
    with pytest.raises(FormatError, match="has no path"):
        ensemble_in("ReplicatedMergeTree ORDER BY x", "t")
