# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Of a plan the tables with something cold get twins, in its own cluster; more is tested on real servers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError, PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_table import TwinTables
from support.memory.bench import Bench
from support.memory.resources import MemoryResources
from support.plans import made_up

ROWS = [
    PlanRow(f"/tables/{shard}/t", "20191201", state, "test", 0, 2, 2, 0)
    for shard, state in (("01", State.COLD), ("02", State.HOT), ("03", State.COLD))
]


def params(**given: Any) -> Mapping[str, Any]:
    """Return the parameters of the module."""
    return {
        "clickhouse": {"port": None},
        "shard_paths": None,
        "plan": None,
        "ensemble": "cold",
        "path": "{path}_cold",
        "twin": "{table}_cold",
        "coordination_root": "/partmove",
        **given,
    }


def plan_in(folder: Path) -> str:
    path = folder / "plan.jsonl"
    write_plan(path, ROWS, policy_digest="0" * 64, source="test", origin=made_up, as_of=0)
    return str(path)


def test_tables_of_a_plan_have_cold_partitions(tmp_path: Path) -> None:
    task = TwinTables(params(plan=plan_in(tmp_path)))
    assert task._shard_paths == ["/tables/01/t", "/tables/03/t"]


def test_plan_of_another_cluster_is_refused_before_a_server_is_asked(tmp_path: Path) -> None:
    given = params(plan=plan_in(tmp_path))
    bench = Bench()
    resources = MemoryResources(bench, given, check_mode=False)
    task = TwinTables(given)
    with pytest.raises(PlanError, match="another cluster"):
        task.run(resources)
    assert not task.result()["changed"]


def test_an_invalid_path_is_refused_without_a_table() -> None:
    TwinTables(params(shard_paths=[]))
    with pytest.raises(PartMoveError, match="the same path"):
        TwinTables(params(shard_paths=[], path="{path}"))


def test_a_path_for_several_tables_depends_on_theirs() -> None:
    TwinTables(params(shard_paths=["/tables/01/t"], path="/cold"))
    with pytest.raises(PartMoveError, match="would have the same path /cold"):
        TwinTables(params(shard_paths=["/tables/01/t", "/tables/02/t"], path="/cold"))
