# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The statement that creates a twin, for every way in which the engine may be written."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.table_definition import (
    create_statement,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError

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
    assert create_statement(engine, query, "db.t", "db.t_cold", "c:/b", "r1") == TWIN + twin
    commented = f"{query} COMMENT 'about (it)'"
    assert create_statement(engine, commented, "db.t", "db.t_cold", "c:/b", "r1") == TWIN + twin


@pytest.mark.parametrize("engine", ["MergeTree ORDER BY d", "Distributed(a, b, c)", ""])
def test_other_engines_are_refused(engine: str) -> None:
    query = f"CREATE TABLE db.t (`d` Date) ENGINE = {engine}"
    with pytest.raises(FormatError, match=r"The engine of db\.t is not understood"):
        create_statement(engine, query, "db.t", "db.t_cold", "c:/b", "r1")
