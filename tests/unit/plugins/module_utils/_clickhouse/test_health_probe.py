# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of system.replicas and folders ``detached``; tests/clickhouse covers the queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.health_probe import (
    detached_folders,
    status_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    LogPosition,
    ReplicaStatus,
    TableKey,
)

ROW: list[Any] = ["d", "t", "ReplicatedMergeTree", "/p/t", "r1", 1, 0, 0, 5, 7, 11]
STATUS = ReplicaStatus(
    key=TableKey("d", "t"),
    engine="ReplicatedMergeTree",
    shard_path="/p/t",
    replica="r1",
    leader=True,
    read_only=False,
    session_expired=False,
    delay=5,
    queue=7,
    queue_age=11,
    log=None,
)


@pytest.mark.parametrize("row", [ROW, [str(each) for each in ROW]], ids=["numbers", "numbers as text"])
def test_a_row_of_system_replicas(row: list[Any]) -> None:
    log = LogPosition(1, 2, 3, 4)
    assert status_of(row, None) == STATUS
    assert status_of(row, log) == STATUS._replace(log=log)


@pytest.mark.parametrize(
    ("column", "value", "change"),
    [
        (5, "0", {"leader": False}),
        (6, "1", {"read_only": True}),
        (7, "1", {"session_expired": True}),
        (10, "-3", {"queue_age": 0}),
    ],
)
def test_flags_and_ages_of_a_row(column: int, value: str, change: dict[str, Any]) -> None:
    row = [*ROW[:column], value, *ROW[column + 1 :]]
    assert status_of(row, None) == STATUS._replace(**change)


def test_detached_parts_are_listed_by_name(tmp_path: Path) -> None:
    (tmp_path / "detached" / "ignored_2019_0_0_0").mkdir(parents=True)
    (tmp_path / "detached" / "2019_1_1_0").mkdir()
    assert detached_folders(str(tmp_path)) == frozenset({"ignored_2019_0_0_0", "2019_1_1_0"})


def test_an_unknown_folder_has_no_known_names() -> None:
    assert detached_folders("") is None


def test_an_unreadable_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PartMoveError, match=r"/detached cannot be read: No such file or directory"):
        detached_folders(str(tmp_path))
