# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The statement that creates a twin, for every way in which the engine may be written."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.table_definition import (
    TableTexts,
    create_statement,
    place_in,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError

TWIN = "CREATE TABLE db.t_cold (`d` Date) ENGINE = "


@pytest.mark.parametrize(
    ("engine", "twin"),
    [
        ("ReplicatedMergeTree('/a', 'r1') ORDER BY d", "ReplicatedMergeTree('c:/b', 'r1') ORDER BY d"),
        (
            "ReplicatedReplacingMergeTree('/a', '{replica}', d) ORDER BY d",
            "ReplicatedReplacingMergeTree('c:/b', 'r1', d) ORDER BY d",
        ),
        ("ReplicatedMergeTree ORDER BY d", "ReplicatedMergeTree('c:/b', 'r1') ORDER BY d"),
        ("ReplicatedMergeTree() ORDER BY d", "ReplicatedMergeTree('c:/b', 'r1') ORDER BY d"),
        (
            "ReplicatedSummingMergeTree((a, b)) ORDER BY d",
            "ReplicatedSummingMergeTree('c:/b', 'r1', (a, b)) ORDER BY d",
        ),
        (
            r"ReplicatedMergeTree('/a\'b', 'r1') ORDER BY d SETTINGS x = 'ENGINE = y'",
            "ReplicatedMergeTree('c:/b', 'r1') ORDER BY d SETTINGS x = 'ENGINE = y'",
        ),
    ],
)
def test_only_name_and_place_differ(engine: str, twin: str) -> None:
    query = f"CREATE TABLE db.t (`d` Date) ENGINE = {engine}"
    assert create_statement(TableTexts("db.t", engine, query), "db.t_cold", "c:/b", "r1") == TWIN + twin
    commented = f"{query} COMMENT 'about (it)'"
    assert create_statement(TableTexts("db.t", engine, commented), "db.t_cold", "c:/b", "r1") == TWIN + twin


@pytest.mark.parametrize("engine", ["MergeTree ORDER BY d", "Distributed(a, b, c)", ""])
def test_other_engines_are_refused(engine: str) -> None:
    query = f"CREATE TABLE db.t (`d` Date) ENGINE = {engine}"
    with pytest.raises(FormatError, match=r"The engine of db\.t is not understood"):
        create_statement(TableTexts("db.t", engine, query), "db.t_cold", "c:/b", "r1")


def test_a_name_may_have_parentheses() -> None:
    engine = "ReplicatedMergeTree('/a', 'r1') ORDER BY d"
    texts = TableTexts("db.`t (x)`", engine, f"CREATE TABLE db.`t (x)` (`d` Date) ENGINE = {engine}")
    assert create_statement(texts, "db.t_cold", "c:/b", "r1").startswith(f"{TWIN}ReplicatedMergeTree('c:/b'")


def test_columns_with_a_secret_are_copied_by_the_server() -> None:
    engine = "ReplicatedMergeTree('/a', 'r1') ORDER BY d"
    query = f"CREATE TABLE db.t (`d` String DEFAULT encrypt('x', '[HIDDEN]')) ENGINE = {engine}"
    twin = create_statement(TableTexts("db.t", engine, query), "db.t_cold", "c:/b", "r1")
    assert twin == "CREATE TABLE db.t_cold AS db.t ENGINE = ReplicatedMergeTree('c:/b', 'r1') ORDER BY d"


@pytest.mark.parametrize(
    "rest",
    ["ORDER BY encrypt('x', '[HIDDEN]')", "ORDER BY d SETTINGS disk = disk(type = s3, key = '[HIDDEN]')"],
)
def test_a_secret_beside_the_columns_is_refused(rest: str) -> None:
    engine = f"ReplicatedMergeTree('/a', 'r1') {rest}"
    texts = TableTexts("db.t", engine, f"CREATE TABLE db.t (`d` Date) ENGINE = {engine}")
    with pytest.raises(PartMoveError, match=r"settings of db\.t have a secret") as error:
        create_statement(texts, "db.t_cold", "c:/b", "r1")
    assert "SHOW CREATE TABLE db.t with the secret, and the path 'c:/b'" in error.value.remedy


@pytest.mark.parametrize(
    ("engine", "place"),
    [
        ("ReplicatedMergeTree('/a/{shard}', '{replica}') ORDER BY d", ("/a/{shard}", "{replica}")),
        (r"ReplicatedMergeTree('/it\'s\\', 'r1', ver) ORDER BY d", ("/it's\\", "r1")),
        ("ReplicatedMergeTree ORDER BY d", None),
        ("ReplicatedSummingMergeTree((a, b)) ORDER BY d", None),
    ],
)
def test_the_place_is_read_as_written(engine: str, place: tuple[str, str] | None) -> None:
    assert place_in(engine, "db.t") == place
