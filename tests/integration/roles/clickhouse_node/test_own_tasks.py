# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers that tasks of the user install, stop and start: what is refused before anything is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import run_playbook, write_playbook

PLAYBOOKS = Path(__file__).resolve().parents[4] / "playbooks"
OWN_TASKS: dict[str, Any] = {
    "clickhouse_node_packages": [{"name": "clickhouse", "version": "20.12"}],
    "clickhouse_node_hot": {"hosts": ["127.0.0.1:1"]},
    "clickhouse_node_cold": {"hosts": ["127.0.0.1:2"]},
    "clickhouse_node_patched_sign": "SELECT 1",
    "clickhouse_node_version_command": ["false"],
    "clickhouse_node_install_tasks": str(PLAYBOOKS / "rollout.yml"),
}
TOGETHER = "clickhouse_node_version_command and clickhouse_node_install_tasks come together"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"clickhouse_node_version_command": []}, TOGETHER),
        ({"clickhouse_node_install_tasks": ""}, TOGETHER),
        ({"clickhouse_node_install_tasks": "/nowhere/install.yml"}, "absolute paths of files"),
        ({"clickhouse_node_packages": [{"name": "x", "version": "1", "url": "http://x"}]}, TOGETHER),
        ({"clickhouse_node_packages": [{"name": name, "version": "1"} for name in "xy"]}, TOGETHER),
        ({"clickhouse_node_stop_tasks": str(PLAYBOOKS / "rollout.yml")}, "the last two only together"),
        (
            {},
            "did not print the installed version on ch1, so nothing was changed there: non-zero return code",
        ),
    ],
    ids=["no command", "no tasks", "no file", "url", "two", "stop alone", "no version"],
)
def test_tasks_of_ones_own_that_cannot_be_are_refused(
    tmp_path: Path, variables: dict[str, Any], words: str
) -> None:
    keep = {"clickhouse_node_keep_dir": str(tmp_path / "kept"), "clickhouse_node__package_manager": "apt"}
    (tmp_path / "vars.json").write_text(json.dumps({**OWN_TASKS, **keep, **variables}))
    playbook = tmp_path / "site.yml"
    playbook.write_text(
        json.dumps([{"hosts": "ch1", "gather_facts": False, "roles": ["olap.partmove.clickhouse_node"]}])
    )
    done = run_playbook(playbook, "-i", "ch1,", "-c", "local", "-e", f"@{tmp_path / 'vars.json'}")
    assert done.status != 0
    assert words in done.output


def test_members_of_cold_have_a_default_port(tmp_path: Path) -> None:
    """As the modules have it, which are given the same ensemble."""
    tasks: list[dict[str, Any]] = [
        {
            "ansible.builtin.include_vars": str(
                PLAYBOOKS.parent / "roles" / "clickhouse_node" / "vars" / "main.yml"
            )
        },
        {"ansible.builtin.debug": {"msg": "told: {{ clickhouse_node__cold_members | to_json }}"}},
    ]
    given = {"clickhouse_node_cold": {"hosts": ["cold1", "cold2:2182"], "tls": {}}}
    done = run_playbook(write_playbook(tmp_path, tasks), "-e", json.dumps(given))
    assert done.status == 0, done.told
    found = json.loads(json.loads('"' + done.output.partition('"told: ')[2].partition("\n")[0]))
    assert [(each["host"], each["port"], each["secure"]) for each in found] == [
        ("cold1", 2181, True),
        ("cold2", 2182, True),
    ]
