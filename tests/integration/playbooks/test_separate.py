# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook separate.yml: classification on Spark, then the move, on real ensembles."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from support.ansible.calls import OTHER_CORE, PlaybookRun, run_playbook, write_playbook
from support.ansible.modules import Pair
from support.memory.tables import Table, build_table, days
from support.plans import as_spark_submit
from support.servers import warm_spark
from support.servers.jvm import SMALL_SPARK_CONF

TASKS = Path(__file__).resolve().parents[3] / "playbooks" / "tasks" / "separate.yml"
FIRST, SECOND, THIRD = days(3)
PASSWORD = "Tr0ub4dor-and-3"


@pytest.fixture
def variables(pair: Pair) -> dict[str, Any]:
    """What the playbook needs for the tables below the base path, the newest partition being hot."""
    ensembles = {name: dict(pair.options[name]) for name in ("hot", "cold")}
    ensembles["cold"]["auth"] = {"scheme": "digest", "credential": f"mover:{PASSWORD}"}
    of_role = {
        "partition_classify": {
            **ensembles,
            "root": pair.base,
            "policy": {"version": 1, "defaults": {"keep_newest": 1, "cold_after": "1s"}},
            "as_of": "2100-01-01T00:00:00Z",
            "future": True,
            "plan_dest": str(pair.folder / "plan.jsonl"),
            "spark_submit": str(warm_spark.program()),
            "spark_master": "local[2]",
            "spark_conf": SMALL_SPARK_CONF,
            "python": sys.executable,
        },
        "part_move": {
            **ensembles,
            "coordination_root": pair.options["coordination_root"],
            "min_age": "0",
            "assume_patched": True,
            "assume_active": True,
        },
    }
    return {f"{role}_{name}": value for role, given in of_role.items() for name, value in given.items()}


def run_separate(pair: Pair, variables: dict[str, Any], *options: str) -> PlaybookRun:
    """Run the playbook as a user does, from a folder of theirs."""
    extra = pair.folder / "vars.json"
    extra.write_text(json.dumps(variables))
    playbook = pair.folder / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.separate"}]))
    return run_playbook(playbook, "-e", f"@{extra}", *options)


def silent_server(pair: Pair) -> dict[str, Any]:
    """Variables of a host whose server does not answer."""
    return {
        **{f"clickhouse_node_{name}": value for name, value in pair.options.items()},
        "ansible_become": False,
        "clickhouse_node_packages": [{"name": "clickhouse-server", "version": "1"}],
        "clickhouse_node_ledger_clickhouse": {"host": "127.0.0.1", "port": 9},
        "clickhouse_node_patched_sign": "SELECT 1",
    }


@pytest.fixture
def tables(pair: Pair, table: Table) -> tuple[Table, Table]:
    """Two tables with three partitions each."""
    return table, build_table(pair.hot, f"{pair.base}/visits")


def decided(pair: Pair, tables: tuple[Table, Table]) -> str:
    """Make a program that gives the plan which Spark makes for these variables."""
    states = {FIRST: State.COLD, SECOND: State.COLD, THIRD: State.HOT}
    wanted = {(table.path, partition): state for table in tables for partition, state in states.items()}
    return str(as_spark_submit(pair.folder, pair.hot, wanted))


def test_check_mode_leaves_nothing(
    pair: Pair, tables: tuple[Table, Table], variables: dict[str, Any]
) -> None:
    """What Spark itself leaves in check mode is seen in the test of the role."""
    variables["partition_classify_spark_submit"] = decided(pair, tables)
    before = pair.trees()
    checked = run_separate(pair, variables, "--check", "--diff")
    assert checked.status == 0, checked.told
    assert "Would be moved to cold: 4 partitions, 8 parts, 8 znodes" in checked.output
    assert f"+{tables[1].path} {SECOND}: State COLD, 0 parts in hot, 2 parts in cold" in checked.output
    assert pair.trees() == before
    assert not Path(variables["partition_classify_plan_dest"]).exists()
    left = {Path(each) for each in re.findall(r"(/[^\s\"']*/partition_classify\.\w{8})\b", checked.output)}
    assert left
    assert not [each for each in left if each.exists()]
    assert PASSWORD not in checked.output
    assert "[DEPRECATION WARNING]" not in checked.output


def test_check_mode_keeps_the_folder_of_a_plan_that_was_given(pair: Pair, variables: dict[str, Any]) -> None:
    plan = pair.folder / "plans" / "quarter.jsonl"
    plan.parent.mkdir()
    plan.write_text("no plan")
    given = {**variables, "partition_classify_plan": str(plan)}
    assert run_separate(pair, given, "--check", "--tags", "move").status != 0
    assert plan.read_text() == "no plan"


def attempts(pair: Pair, variables: dict[str, Any], wrong: dict[str, Any]) -> list[str]:
    """What the tasks of the playbook say where one variable after the other is another than the right one."""
    tasks: list[dict[str, Any]] = []
    for name, value in wrong.items():
        attempt = {"ansible.builtin.include_tasks": str(TASKS), "vars": variables | {name: value}}
        told = {
            "ansible.builtin.debug": {
                "msg": "{{ ansible_failed_task.action }}: {{ ansible_failed_result.msg }}"
            }
        }
        tasks.append({"block": [attempt], "rescue": [told]})
    run = run_playbook(write_playbook(pair.folder, tasks))
    return re.findall(r'"msg": "(\S+part_move: [^"]*)"', run.output)


def test_arguments_of_the_move_are_refused_before_anything_is_classified(
    pair: Pair, table: Table, variables: dict[str, Any]
) -> None:
    del table
    cold = dict(variables["part_move_cold"])
    wrong = {
        "part_move_min_age": "soon",
        "part_move_max_parts": 0,
        "part_move_cold": cold | {"pasword": "x"},
        "part_move_hot": {"hosts": ["127.0.0.1:1"], "connect_timeout": 0.5},
        "part_move_coordination_root": "partmove",
    }
    told = attempts(pair, variables, wrong)
    for sentence, sign in zip(
        told, ("min_age", "max_parts is 0", "pasword", "127.0.0.1:1", "coordination_root is"), strict=True
    ):
        assert sign in sentence
    assert not Path(variables["partition_classify_plan_dest"]).exists()


def test_separate_and_tell_what_failed(
    pair: Pair, tables: tuple[Table, Table], variables: dict[str, Any]
) -> None:
    """A server that cannot be entered again keeps nothing from being moved, and is told at the end.

    That a second run moves nothing is seen in the demo, and for each of the two roles. What Spark decides
    does not depend on the ansible-core: another than that of the tests has a program with the same plan.
    """
    if OTHER_CORE:
        variables["partition_classify_spark_submit"] = decided(pair, tables)
    inventory = pair.folder / "inventory.json"
    inventory.write_text(json.dumps({"clickhouse": {"hosts": {"ch1": silent_server(pair)}}}))
    done = run_separate(pair, {**variables, "separate_renew": True}, "-i", str(inventory))
    assert done.status == 2, done.told
    assert "olap.partmove.partition_classify: wrote " in done.output
    assert "Moved to cold: 4 partitions, 8 parts, 8 znodes" in done.output
    for each in tables:
        assert [each.state(partition) for partition in (FIRST, SECOND, THIRD)] == [b"COLD", b"COLD", None]
    assert '"msg": "ch1: ClickHouse at 127.0.0.1:9 cannot be reached' in done.output
    assert PASSWORD not in done.output
    assert "[DEPRECATION WARNING]" not in done.output
