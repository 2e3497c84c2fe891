# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""census_info over an ensemble in memory: results and refused options."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.census_info import CensusInfo
from support.memory.bench import PATH, Bench
from support.memory.resources import MemoryResources

DEFAULTS: dict[str, Any] = {
    "hot": {},
    "clickhouse": None,
    "coordination_root": "/partmove",
    "ddl_path": "/clickhouse/task_queue/ddl",
    "znodes_per_second": 0,
    "inactive_after": "7d",
    "latency_target": 0.005,
    "stuck_after": "1d",
    "unused_after": "30d",
    "queue_length": 1000,
    "log_entries": 100,
    "deduplication_window": 1000,
    "finished_mutations_to_keep": 100,
    "ddl_tasks": 1000,
}


def census(bench: Bench, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = CensusInfo(params)
    resources = MemoryResources(bench, params, check_mode=check_mode)
    task.run(resources)
    assert resources.opened == ["hot"]
    return task.result()


@pytest.mark.parametrize("check_mode", [False, True])
def test_everything_is_counted_and_nothing_written(check_mode: bool) -> None:
    bench = Bench()
    before = bench.hot_store.ensemble.data()
    result = census(bench, check_mode=check_mode)
    assert bench.hot_store.ensemble.data() == before
    assert result["changed"] is False
    assert result["znodes"] == len(before)
    assert result["bytes"] == sum(len(path) + len(data) for path, data in before.items())
    assert [table["shard_path"] for table in result["tables"]] == [PATH]
    assert result["summary"][0].startswith(f"{len(before)} znodes")


def test_the_time_is_now() -> None:
    result = census(Bench(), inactive_after="0")
    assert result["as_of"] > "2026"


def test_znodes_of_runs_are_counted_as_ours() -> None:
    bench = Bench()
    bench.move()
    kinds = {each["kind"]: each["znodes"] for each in census(bench)["kinds"]}
    assert kinds["coordination"] > 1
    assert kinds["state"] >= 1
    elsewhere = {each["kind"]: each["znodes"] for each in census(bench, coordination_root="/away")["kinds"]}
    assert "coordination" not in elsewhere
    assert elsewhere["other"] == kinds.get("other", 0) + kinds["coordination"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("coordination_root", "partmove/"),
        ("ddl_path", "/ddl/"),
        ("stuck_after", "soon"),
        ("queue_length", -1),
        ("znodes_per_second", -1),
        ("latency_target", -1),
    ],
)
def test_invalid_options_are_refused_before_the_first_read(option: str, value: object) -> None:
    with pytest.raises(PartMoveError):
        CensusInfo(DEFAULTS | {option: value})


def test_the_options_limit_the_reads() -> None:
    params = DEFAULTS | {"znodes_per_second": 500, "latency_target": 0.01}
    resources = MemoryResources(Bench(), params)
    CensusInfo(params).run(resources)
    assert resources.reads_per_second == 500
    assert resources.latency_target == 0.01


def test_there_is_no_figure_before_the_end_of_the_census() -> None:
    assert CensusInfo(DEFAULTS).result() == {"changed": False}
