# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role twin_move: twins that it creates, what it moves to them and back, and what it tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook, write_playbook
from support.ansible.role_runs import changed, summary
from support.ansible.twin_runs import DAY, NEXT, TwinGround
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

ONE_OF_THREE = "Give exactly one of twin_move_plan, twin_move_partitions and twin_move_shard_paths."


@pytest.fixture
def ground(modern: ModernShard, hot: Ensemble, base: str, tmp_path: Path) -> TwinGround:
    return TwinGround(modern, hot, base, tmp_path)


def run_role(folder: Path, given: dict[str, Any], *options: str, tasks_from: str = "main") -> PlaybookRun:
    """Run the role with these variables, with the names that they have in the role."""
    role = {"ansible.builtin.import_role": {"name": "olap.partmove.twin_move", "tasks_from": tasks_from}}
    return run_playbook(write_playbook(folder, [role]), "-e", json.dumps(given), *options)


def test_twins_are_created_and_partitions_go_there_and_back(ground: TwinGround) -> None:
    name = ground.table({DAY: [[1, 2], [3]], NEXT: [[9]]})
    result = ground.folder / "result.json"
    given = {
        **ground.variables(),
        "twin_move_partitions": ground.partitions(name, DAY, "20190101"),
        "twin_move_create_twins": True,
        "twin_move_stop_merges": True,
        "twin_move_checksums": True,
        "twin_move_result_dest": str(result),
    }

    checked = run_role(ground.folder, given, "--check")
    assert changed(checked) == 1
    lines = summary(checked)
    assert lines[0] == "Twins that would be created: 2, of 2 on all replicas."
    assert lines[1].startswith(f"  default.{name}_cold on ")
    assert "  2 by twin_ready. " in "\n".join(lines)
    assert ground.has_table(f"{name}_cold") == [False, False]
    assert not result.exists()

    moved = run_role(ground.folder, given)
    assert changed(moved) == 2
    lines = summary(moved)
    assert lines[0] == "Twins created: 2, of 2 on all replicas."
    assert lines[3].startswith("Moved to the twins: 1 partition, 2 parts, 3 rows, ")
    assert lines[4].startswith(f"  {ground.shard_path(name)} {DAY}: 2 parts, 3 rows, seen twice for ")
    assert lines[5:7] == ["In the twins already: 0 partitions.", "Deferred: 1 partition, left unchanged."]
    assert lines[7].startswith("  1 by partition_exists. ")
    assert lines[-1] == "Failed: 0 partitions."
    assert (ground.ids(name), ground.ids(f"{name}_cold")) == ([[9]] * 2, [[1, 2, 3]] * 2)
    assert json.loads(result.read_text())["counts"]["moved"] == 1

    again = run_role(ground.folder, given)
    assert changed(again) == 0
    assert summary(again)[0] == "Twins created: 0, of 2 on all replicas."
    assert "In the twins already: 1 partition." in summary(again)

    back = {
        **ground.variables(),
        "twin_move_shard_paths": [ground.shard_path(name)],
        "twin_move_state": "hot",
    }
    foretold = run_role(ground.folder, back, "--check", "--diff")
    assert changed(foretold) == 1
    assert summary(foretold)[0].startswith("Would be brought back: 1 partition, 2 parts, 3 rows, ")
    assert (
        f"+ALTER TABLE default.{name} ATTACH PARTITION ID '{DAY}' FROM default.{name}_cold" in foretold.output
    )
    assert ground.ids(name) == [[9]] * 2
    returned = run_role(ground.folder, back)
    assert changed(returned) == 1
    assert summary(returned)[0].startswith("Brought back: 1 partition, 2 parts, 3 rows, ")
    assert (ground.ids(name), ground.ids(f"{name}_cold")) == ([[1, 2, 3, 9]] * 2, [[]] * 2)
    assert changed(run_role(ground.folder, back)) == 0


def test_twins_that_cannot_be_created_keep_no_other_table_and_fail_at_the_end(ground: TwinGround) -> None:
    first, second = ground.table({DAY: [[1]]}), ground.table({DAY: [[2]]})
    twins = {**ground.variables(), "twin_move_shard_paths": [ground.shard_path(first)]}
    created = run_role(ground.folder, twins, tasks_from="twins")
    assert changed(created) == 1
    assert summary(created)[0] == "Twins created: 2, of 2 on all replicas."
    assert changed(run_role(ground.folder, twins, tasks_from="twins")) == 0

    ground.shard.execute(f"CREATE TABLE {second}_cold (a UInt8) ENGINE = MergeTree ORDER BY a")
    both = {
        **twins,
        "twin_move_create_twins": True,
        "twin_move_partitions": [*ground.partitions(first, DAY), *ground.partitions(second, DAY)],
        "twin_move_shard_paths": None,
    }
    run = run_role(ground.folder, both)
    assert run.status == 2
    assert run.output.count("has no replicated table") > 2
    assert "Moved to the twins: 1 partition, 1 part, 1 row, " in run.output
    assert "Twins could not be created. " in run.output
    assert (ground.ids(f"{first}_cold"), ground.ids(second)) == ([[1]] * 2, [[2]] * 2)


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "main", ONE_OF_THREE),
    ({"plan": "/plan", "partitions": []}, "main", ONE_OF_THREE),
    ({"plan": "/plan", "hot": {}}, "main", "missing required arguments: hosts found in twin_move_hot"),
    ({"clickhouse": None}, "main", "twin_move_clickhouse"),
    ({"plan": "/none", "create_twins": True}, "main", "/none: the plan file cannot be read"),
    ({"min_age": "soon"}, "inspect", "min_age"),
    ({"workers": 65}, "inspect", "workers"),
    ({"max_parts_per_second": -1}, "inspect", "max_parts_per_second"),
    ({"give_up_after": "never"}, "inspect", "give_up_after"),
    ({"create_twins": True, "path": "{path}"}, "inspect", "would have the same path"),
    ({"create_twins": True, "twin": "cold"}, "inspect", "The name of the twin is 'cold'"),
    ({"hot": {"hosts": ["127.0.0.1:9"], "connect_timeout": 0.5}}, "inspect", "127.0.0.1:9"),
]


def test_variables_that_cannot_be(tmp_path: Path, hot: Ensemble) -> None:
    """Nothing of that asks a server of ClickHouse."""
    tasks: list[dict[str, Any]] = []
    for variables, tasks_from, _sentence in WRONG:
        given = {"hot": {"hosts": hot.connect_string.split(",")}, "clickhouse": {}, **variables}
        role = {"name": "olap.partmove.twin_move", "tasks_from": tasks_from}
        attempt = {
            "ansible.builtin.include_role": role,
            "vars": {f"twin_move_{name}": value for name, value in given.items()},
        }
        told = {"ansible.builtin.debug": {"msg": "refused: {{ ansible_failed_result | to_json }}"}}
        tasks.append({"block": [attempt], "rescue": [told]})
    run = run_playbook(write_playbook(tmp_path, tasks))
    refusals = [line for line in run.output.splitlines() if line.startswith('    "msg": "refused: ')]
    for refusal, (_variables, _from, sentence) in zip(refusals, WRONG, strict=True):
        assert sentence in refusal
    assert '"Nothing was moved. /none: the plan file cannot be read' in run.output
    assert '"Twins could not be created. /none: the plan file cannot be read' in run.output
