# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan is carried out in its own cluster only, shard path by shard path; more is tested on real servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import (
    OriginReader,
    read_origin,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_move import TwinMove
from support.memory.bench import Bench
from support.memory.interleaving import Script
from support.memory.resources import MemoryResources
from support.memory.twins import DAY, PATH, ModelServers, TwinBench, Twins
from support.plans import made_up

GONE = "/tables/02/gone"
Params = Callable[..., dict[str, Any]]


@pytest.fixture
def twins() -> TwinBench:
    return TwinBench(Twins(("a",), ("b",)))


@pytest.fixture
def parameters(tmp_path: Path) -> Params:
    """Return the parameters of the module."""

    def made(**given: Any) -> dict[str, Any]:
        return {
            "plan": None,
            "partitions": None,
            "shard_paths": None,
            "state": "cold",
            "min_age": "0",
            "fail_when_deferred_by": [],
            "twin": "{table}_cold",
            "clickhouse": {"port": None},
            "coordination_root": "/partmove",
            "lock_wait": "0",
            "workers": 0,
            "share": "1/1",
            "stop_merges": False,
            "checksums": False,
            "readers": "auto",
            "readers_wait": "1m",
            "max_parts_per_second": 0,
            "latency_target": 0.0,
            "max_latency": 0.0,
            "give_up_after": "10m",
            "journal": str(tmp_path / "journal.jsonl"),
            "max_listed": 10,
            "progress_file": None,
            **given,
        }

    return made


def carry_out(twins: TwinBench, params: dict[str, Any], *, check_mode: bool = False) -> TwinMove:
    """Run the task over the tables in memory."""
    resources = MemoryResources(Bench(), params, check_mode=check_mode)
    resources.stores = {"hot": twins.hot.open()}
    task = TwinMove(params, ModelServers(twins.twins, Script()))
    try:
        task.run(resources)
    finally:
        resources.close()
    return task


def plan_of(folder: Path, origin: OriginReader) -> str:
    rows = [
        PlanRow(PATH, DAY, State.COLD, "test", 0, 2, 2, 0),
        PlanRow(PATH, "20191202", State.HOT, "test", 0, 2, 2, 0),
    ]
    path = folder / "plan.jsonl"
    write_plan(path, rows, policy_digest="0" * 64, source="test", origin=origin, as_of=0)
    return str(path)


def test_a_plan_of_another_cluster_is_refused(twins: TwinBench, parameters: Params, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="the plan was made of another cluster"):
        carry_out(twins, parameters(plan=plan_of(tmp_path, made_up)))
    assert not (tmp_path / "journal.jsonl").exists()


def test_the_rows_of_the_state_are_carried_out(twins: TwinBench, parameters: Params, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, lambda paths: read_origin(twins.hot.open(), paths))
    result = carry_out(twins, parameters(plan=plan)).result()
    assert [each["partition"] for each in result["moved"]] == [DAY]
    assert [each["partition"] for each in result["other_state"]] == ["20191202"]
    assert result["counts"]["not_reached"] == 0
    assert twins.twins.rows == twins.twins.inserted
    started = json.loads((tmp_path / "journal.jsonl").read_text().splitlines()[0])
    assert (started["state"], started["shard_paths"], started["partitions"]) == ("COLD", 1, 1)


def test_whole_shard_paths_move_to_cold_and_back_to_hot(twins: TwinBench, parameters: Params) -> None:
    for state in ("cold", "hot"):
        result = carry_out(twins, parameters(shard_paths=[PATH], state=state)).result()
        assert [each["partition"] for each in result["moved"]] == [DAY]
        assert result["counts"]["not_reached"] == 0


def test_a_pause_is_reported_and_no_partition_is_in_both_tables_meanwhile(
    twins: TwinBench, parameters: Params, tmp_path: Path
) -> None:
    lines_of_progress = tmp_path / "progress"
    lines_of_progress.touch()
    params = parameters(shard_paths=[PATH], max_latency=1.0, progress_file=str(lines_of_progress))
    resources = MemoryResources(Bench(), params)
    resources.stores = {"hot": twins.hot.open()}
    problems = ["hot is slow"]

    def problem() -> str:
        assert not twins.records
        return problems.pop() if problems else ""

    resources.watches["hot"].problem = problem  # type: ignore[method-assign]
    task = TwinMove(params, ModelServers(twins.twins, Script()))
    task.run(resources)
    resources.close()
    assert resources.watched == [("hot", True)]
    assert task.result()["counts"]["moved"] == 1
    assert lines_of_progress.read_text().splitlines()[:2] == ["paused: hot is slow", "going on after 1 s"]
