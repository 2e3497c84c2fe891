# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan runs in its own cluster only, and pauses are reported. Tests on real ensembles cover the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    PausedTooLong,
    PlanError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.already_cold import (
    find_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import (
    OriginReader,
    read_origin,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run import batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec, part_move
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_move import PartMove
from support.memory.bench import DAY, PATH, Bench
from support.memory.resources import MemoryResources
from support.memory.tables import TableOptions, build_table, days
from support.plans import made_up

OTHER_PATH = "/clickhouse/tables/01/visits"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def parameters(journal: Path, origin: OriginReader, state: str) -> dict[str, Any]:
    """Return the parameters for a plan with one partition, next to its journal."""
    plan = journal.with_name("plan.jsonl")
    row = PlanRow(PATH, DAY, State.named(state), "test", 0, 2, 2, 0)
    write_plan(plan, [row], policy_digest="0" * 64, source="test", origin=origin, as_of=0)
    return {
        "plan": str(plan),
        "partitions": None,
        "shard_paths": None,
        "state": state,
        "min_age": "0",
        "fail_when_deferred_by": [],
        "max_parts": 1,
        "assume_patched": True,
        "assume_active": True,
        "clickhouse": None,
        "coordination_root": "/partmove",
        "lock_wait": "0",
        "journal": str(journal),
        "workers": 0,
        "processes": "1",
        "share": "1/1",
        "latency_target": 0.0,
        "max_latency": 1.0,
        "give_up_after": "10m",
        "max_parts_per_second": 0,
        "max_listed": 10,
        "progress_file": None,
    }


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("state", ["cold", "hot"])
def test_a_plan_of_another_cluster_is_refused_before_the_first_write(
    bench: Bench, journal: Path, state: str, check_mode: bool
) -> None:
    before = bench.hot_store.children(["/"])
    params = parameters(journal, made_up, state)
    resources = MemoryResources(bench, params, check_mode=check_mode)
    with pytest.raises(PlanError, match=r"plan\.jsonl: the plan was made of another cluster"):
        PartMove(params).run(resources)
    resources.close()
    assert bench.hot_store.children(["/"]) == before
    assert not journal.exists()


def test_the_cluster_of_the_plan_is_worked_on(bench: Bench, journal: Path) -> None:
    params = parameters(journal, lambda paths: read_origin(bench.hot_store, paths), "cold")
    task = PartMove(params)
    resources = MemoryResources(bench, params)
    task.run(resources)
    resources.close()
    assert task.result()["counts"]["moved"] == 1


@pytest.mark.parametrize("check_mode", [False, True])
def test_servers_that_cannot_be_reached_fail_a_run_that_has_nothing_to_move(
    bench: Bench, journal: Path, check_mode: bool
) -> None:
    """Nothing listens on this port. The partition is in hot only already."""
    settings = {name: option.get("default") for name, option in argspec.clickhouse()["options"].items()}
    params = parameters(journal, lambda paths: read_origin(bench.hot_store, paths), "hot") | {
        "assume_active": False,
        "clickhouse": {**settings, "endpoints": {"r1": "127.0.0.1:9", "r2": "127.0.0.1:9"}},
    }
    resources = MemoryResources(bench, params, check_mode=check_mode)
    with pytest.raises(
        PartMoveError, match=f"No ClickHouse server of {PATH} can be asked: .* cannot be reached"
    ):
        PartMove(params).run(resources)
    resources.close()
    assert not journal.exists()


def test_a_run_that_could_ask_no_server_is_refused(journal: Path) -> None:
    params = parameters(journal, made_up, "cold") | {"assume_active": False}
    with pytest.raises(PartMoveError, match="Neither clickhouse nor assume_active is given"):
        PartMove(params)


def test_a_run_that_pauses_too_long_returns_its_result_so_far(bench: Bench, journal: Path) -> None:
    """The first shard path is moved, and the second does not start."""
    other = build_table(bench.hot, OTHER_PATH, TableOptions(partitions=(DAY,)))
    wanted = [{"shard_path": each, "partition": DAY} for each in (PATH, other.path)]
    params = parameters(journal, made_up, "cold") | {
        "plan": None,
        "partitions": wanted,
        "workers": 1,
        "give_up_after": "0",
    }
    task = PartMove(params)
    resources = MemoryResources(bench, params)
    resources.watches["cold"].problems = ["", "", "cold is slow"]
    with pytest.raises(PausedTooLong, match="as cold is slow"):
        task.run(resources)
    resources.close()
    result = task.result()
    assert resources.watched == [("hot", True), ("cold", True)]
    assert (result["counts"]["moved"], result["counts"]["not_reached"]) == (1, 1)
    assert [each["shard_path"] for each in result["moved"]] == [PATH]


def test_a_pause_is_reported(bench: Bench, journal: Path, tmp_path: Path) -> None:
    lines_of_progress = tmp_path / "progress"
    lines_of_progress.touch()
    params = parameters(journal, lambda paths: read_origin(bench.hot_store, paths), "cold")
    params["progress_file"] = str(lines_of_progress)
    task = PartMove(params)
    resources = MemoryResources(bench, params)
    resources.watches["hot"].problems = ["hot is slow"]
    task.run(resources)
    resources.close()
    assert task.result()["counts"]["moved"] == 1
    assert lines_of_progress.read_text().splitlines()[:2] == ["paused: hot is slow", "going on after 1 s"]


@pytest.mark.parametrize("check_mode", [False, True])
def test_memory_batches_share_no_simulated_writes(
    bench: Bench, journal: Path, monkeypatch: pytest.MonkeyPatch, check_mode: bool
) -> None:
    """In check mode each memory batch starts with an empty overlay, so that memory use has a bound."""
    ids = days(5)
    table = build_table(bench.hot, OTHER_PATH, TableOptions(partitions=ids))
    params = parameters(journal, made_up, "cold") | {
        "plan": None,
        "partitions": [{"shard_path": table.path, "partition": each} for each in ids],
    }
    monkeypatch.setattr(batches, "MOST_PARTITIONS", 2)
    remembered: list[set[str]] = []

    def move_and_see(context: MoveContext, *arguments: Any) -> PatchedReport:
        report = move_shard(context, *arguments)
        if isinstance(context.hot, OverlayStore):
            remembered.append({op.path for op in context.hot.written if isinstance(op, SetData)})
        return report

    monkeypatch.setattr(part_move, "move_shard", move_and_see)
    task = PartMove(params)
    resources = MemoryResources(bench, params, check_mode=check_mode)
    task.run(resources)
    resources.close()
    result = task.result()
    assert [each["partition"] for each in result["moved"]] == [*ids]
    assert result["counts"]["moved"] == 5
    assert result["totals"]["parts"] == 5 * len(table.options.replicas)
    states = [{f"{table.path}/block_numbers/{each}/State" for each in ids[at : at + 2]} for at in (0, 2, 4)]
    marked = [{path for path in paths if path.endswith("/State")} for paths in remembered]
    assert marked == (states if check_mode else [])


def result_of(bench: Bench, params: dict[str, Any], *, check_mode: bool = False) -> dict[str, Any]:
    task = PartMove(params)
    resources = MemoryResources(bench, params, check_mode=check_mode)
    task.run(resources)
    resources.close()
    return {name: value for name, value in task.result().items() if name not in ("totals", "msg")}


@pytest.mark.parametrize("check_mode", [False, True])
def test_shard_paths_looked_at_together_have_the_same_outcomes(
    bench: Bench, journal: Path, check_mode: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [f"/clickhouse/tables/02/t{number:02}" for number in range(12)]
    for path in paths:
        build_table(bench.hot, path, TableOptions(partitions=(DAY,)))
    params = parameters(journal, made_up, "cold") | {"plan": None, "workers": 1}
    rows = [{"shard_path": path, "partition": DAY} for path in paths]
    first = result_of(bench, params | {"partitions": rows[::2]})
    assert len(first["moved"]) == 6
    stores = bench.hot_store, bench.cold_store
    found = find_cold(*stores, "/partmove", {path: [DAY] for path in paths})
    assert found == {*paths[::2]}

    in_check_mode = [result_of(bench, params | {"partitions": rows}, check_mode=True)]
    monkeypatch.setattr(part_move, "_FEWEST_LOOKED_AT", 1000)
    in_check_mode.append(result_of(bench, params | {"partitions": rows}, check_mode=True))
    monkeypatch.undo()
    assert in_check_mode[0] == in_check_mode[1]

    result = result_of(bench, params | {"partitions": rows}, check_mode=check_mode)
    assert [row["shard_path"] for row in result["unchanged"]] == paths[::2]
    assert [row["shard_path"] for row in result["moved"]] == paths[1::2]
    assert result["counts"]["not_reached"] == 0


def test_shard_paths_are_looked_at_together_in_threads(
    bench: Bench, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several workers. Ensembles in memory know no threads, so nothing is written."""
    monkeypatch.setattr(part_move, "_FEWEST_LOOKED_AT", 2)
    build_table(bench.hot, OTHER_PATH, TableOptions(partitions=(DAY,)))
    rows = [{"shard_path": path, "partition": DAY} for path in (PATH, OTHER_PATH)]
    params = parameters(journal, made_up, "cold") | {"plan": None, "partitions": rows}
    assert result_of(bench, params | {"workers": 1})["counts"]["moved"] == 2
    result = result_of(bench, params | {"workers": 2})
    assert [row["shard_path"] for row in result["unchanged"]] == [PATH, OTHER_PATH]
    assert not result["changed"]


def test_cold_partitions_are_not_looked_at_together_to_bring_them_back(
    bench: Bench, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_move, "_FEWEST_LOOKED_AT", 1)
    rows = [{"shard_path": PATH, "partition": DAY}]
    params = {
        name: parameters(journal, made_up, name) | {"plan": None, "partitions": rows}
        for name in ("cold", "hot")
    }
    for name, outcome in (("cold", "moved"), ("cold", "unchanged"), ("hot", "moved")):
        assert result_of(bench, params[name])["counts"][outcome] == 1
