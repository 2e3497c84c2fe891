# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of table_move with a root that would be a run about nothing, or about something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.root_move import RootMove

PARAMS: Mapping[str, Any] = {
    "coordination_root": "/partmove",
    "lock_wait": "45s",
    "clickhouse": {"port": None},
    "root": "/clickhouse/tables",
    "exclude": [],
    "stop_at_refusal": False,
    "partitions_per_second": 25.0,
    "report": None,
    "twin": "{table}_cold",
    "ensemble": "cold",
    "path": "{path}_cold",
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


@pytest.mark.parametrize("root", ["/", "/clickhouse/tables", "/clickhouse/tables/"])
def test_a_path_is_a_root(root: str) -> None:
    RootMove({**PARAMS, "root": root})


@pytest.mark.parametrize("root", ["", "clickhouse/tables", "/a//b", "/a/../b"])
def test_another_text_is_no_root(root: str) -> None:
    with pytest.raises(FormatError, match="is not the path of a znode"):
        RootMove({**PARAMS, "root": root})


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_that_ends_nothing_is_refused(speed: float) -> None:
    with pytest.raises(PartMoveError, match="partitions_per_second is"):
        RootMove({**PARAMS, "partitions_per_second": speed})


def test_a_run_that_knows_no_table_is_not_finished() -> None:
    result = RootMove(PARAMS).result()
    assert (result["finished"], result["outcomes"], result["changed"]) == (False, [], False)
    assert result["next"] == "Run again with the same options"
