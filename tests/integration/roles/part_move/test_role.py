# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role part_move: what it hands to the module, and what it tells a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import run_playbook
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.ansible.role_runs import changed, run_role, summary
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import Table, build_table, days

FIRST, SECOND, THIRD = days(3)
PASSWORD = "Tr0ub4dor-and-3"
ONE_OF_THREE = "Give exactly one of part_move_plan, part_move_partitions and part_move_shard_paths."


def test_summary_and_result_of_check_run_and_second_run(pair: Pair, table: Table) -> None:
    pair.hot.create(f"{table.parts_path('r1')}/{SECOND}_5_5_0", MINIMALISTIC)
    result = pair.folder / "result.json"
    variables: dict[str, Any] = {
        "partitions": partitions_of(table),
        "result_dest": str(result),
        "max_shown": 1,
    }
    remedy = "Wait until the replicas have the same parts (SYSTEM SYNC REPLICA) and run again"
    size = 4 * len(MINIMALISTIC)
    told = [
        f": 2 partitions, 4 parts, 4 znodes, {size} bytes.",
        f"  {table.path} {FIRST}: 2 parts, 2 znodes",
        "  and 1 more",
        "Cold already: 0 partitions.",
        "Deferred: 1 partition, left unchanged.",
        f"  1 by equal_parts. {remedy}.",
        (
            f"  {table.path} {SECOND} by equal_parts: the replicas have different parts:"
            f" {SECOND}_5_5_0 is not on r2"
        ),
        "Failed: 0 partitions.",
    ]
    before = pair.trees()

    checked = run_role(pair, "--check", "--diff", **variables)
    assert changed(checked) == 1
    assert summary(checked) == [f"Would be moved to cold{told[0]}", *told[1:]]
    assert f"+{table.path} {FIRST}: State COLD, 0 parts in hot, 2 parts in cold" in checked.output
    assert not result.exists()
    assert pair.trees() == before

    moved = run_role(pair, **variables)
    assert changed(moved) == 1
    assert summary(moved) == [f"Moved to cold{told[0]}", *told[1:]]
    assert json.loads(result.read_text())["counts"]["moved"] == 2

    again = run_role(pair, **variables)
    assert changed(again) == 0
    assert summary(again)[:2] == [
        "Moved to cold: 0 partitions, 0 parts, 0 znodes, 0 bytes.",
        "Cold already: 2 partitions.",
    ]
    assert json.loads(result.read_text())["counts"]["unchanged"] == 2


def test_failure_is_reported_and_fails_the_play(pair: Pair, table: Table) -> None:
    auth = {"scheme": "digest", "credential": f"mover:{PASSWORD}"}
    wrong = {"hosts": ["127.0.0.1:9"], "connect_timeout": 1, "auth": auth}
    run = run_role(pair, partitions=partitions_of(table), cold=wrong)
    assert run.status != 0
    assert summary(run)[0].startswith("No answer from ensemble cold (127.0.0.1:9) within 1 s")
    assert summary(run)[-1] == "Not reached: 3 partitions. Run again to go on."
    assert PASSWORD not in run.output


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({}, ONE_OF_THREE),
        (
            {"plan": "/plan", "partitions": []},
            ONE_OF_THREE,
        ),
        ({"plan": "/plan", "hot": {}}, "missing required arguments: hosts found in part_move_hot"),
    ],
    ids=["neither", "both", "no hosts"],
)
def test_variables_that_cannot_be(pair: Pair, variables: dict[str, Any], sentence: str) -> None:
    run = run_role(pair, **variables)
    assert run.status != 0
    assert sentence in run.output
    assert "TASK [olap.partmove.part_move : Move the partitions" not in run.output


def test_empty_list_of_partitions_is_nothing_to_do(pair: Pair) -> None:
    run = run_role(pair, partitions=[])
    assert changed(run) == 0
    assert summary(run)[0] == "Moved to cold: 0 partitions, 0 parts, 0 znodes, 0 bytes."


def test_module_without_a_result_still_has_a_summary(pair: Pair) -> None:
    run = run_role(pair, plan=str(Path(pair.folder, "none")))
    assert run.status != 0
    assert summary(run) == [
        (
            f"Nothing was done. {pair.folder}/none: the plan file cannot be read: No such file or directory."
            " Give the path of a plan that the classification wrote."
        )
    ]


SHARES = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: One name for each run
      ansible.builtin.add_host:
        name: "run_{{ item }}"
        groups: runs
        ansible_connection: local
      loop: [1, 2, 3]

- hosts: runs
  gather_facts: false
  tasks:
    - name: Move
      ansible.builtin.import_role:
        name: olap.partmove.part_move
      vars:
        part_move_share: >-
          {{ ansible_play_hosts_all.index(inventory_hostname) + 1 }}/{{ ansible_play_hosts_all | length }}
        part_move_result_dest: "{{ folder }}/{{ inventory_hostname }}.json"
"""


def test_several_runs_at_a_time_have_a_share_each(pair: Pair) -> None:
    tables = [build_table(pair.hot, f"{pair.base}/t{number}") for number in range(5)]
    playbook = pair.folder / "shares.yml"
    playbook.write_text(SHARES)
    given = {**pair.options, **ASSUMED, "partitions": [row for each in tables for row in partitions_of(each)]}
    extra = {f"part_move_{name}": value for name, value in given.items()} | {"folder": str(pair.folder)}
    run = run_playbook(playbook, "-e", json.dumps(extra))
    assert run.status == 0, run.told
    results = [json.loads((pair.folder / f"run_{number}.json").read_text()) for number in (1, 2, 3)]
    assert [result["counts"]["moved"] for result in results] == [6, 6, 3]
    moved = [row["shard_path"] for result in results for row in result["moved"]]
    assert sorted(moved) == [table.path for table in tables for _partition in table.options.partitions]
