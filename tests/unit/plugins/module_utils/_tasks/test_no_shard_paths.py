# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules for tables that are given by name refuse an empty list, which would be a success about nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.table_move import TableMove
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_view import TwinView

PARAMS: Mapping[str, Any] = {
    "coordination_root": "/partmove",
    "lock_wait": "45s",
    "clickhouse": {"port": None},
    "shard_paths": [],
    "twin": "{table}_cold",
    "ensemble": "cold",
    "path": "{path}_cold",
    "in_front": False,
    "name": None,
    "state": "cold",
    "min_age": "1d",
    "stop_merges": False,
    "insert_wait": "1m",
    "max_listed": 1000,
    "latency_target": 0.0,
    "max_latency": 1.0,
    "give_up_after": "10m",
    "max_parts_per_second": 0,
}


@pytest.mark.parametrize("task", [TableMove, TwinView])
def test_an_empty_list_is_refused(task: Callable[[Mapping[str, Any]], object]) -> None:
    with pytest.raises(PartMoveError, match="shard_paths is empty, so no table would be inspected"):
        task(PARAMS)
    task({**PARAMS, "shard_paths": ["/clickhouse/tables/01/hits"]})


def test_a_whole_table_and_another_one_cannot_have_twins_at_one_path() -> None:
    paths = ["/clickhouse/tables/01/hits", "/clickhouse/tables/02/hits"]
    TableMove({**PARAMS, "shard_paths": paths})
    TableMove({**PARAMS, "shard_paths": paths[:1], "path": "/cold"})
    with pytest.raises(PartMoveError, match="would have the same path /cold"):
        TableMove({**PARAMS, "shard_paths": paths, "path": "/cold"})
