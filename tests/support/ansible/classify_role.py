# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of the role partition_classify on this machine, and what they leave behind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.calls import PlaybookRun, run_playbook, write_playbook
from support.memory.synthetic import SyntheticTable
from support.servers.jvm import SMALL_SPARK_CONF
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]

CREDENTIAL = "mover:hunter2"
_LATER = "2100-01-01T00:00:00Z"


class Role:
    """A playbook that runs the role and keeps the facts that it sets."""

    def __init__(self, folder: Path, variables: dict[str, Any]) -> None:
        self.folder = folder
        self.variables = variables
        self.plan = folder / "plan.jsonl"

    def run(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run it with options of ansible-playbook, and variables besides its own."""
        role = {"name": "olap.partmove.partition_classify"}
        given = self.variables | {f"partition_classify_{name}": value for name, value in variables.items()}
        facts = "{{ [partition_classify_plan, partition_classify_result] | to_json }}"
        keep = {"content": facts, "dest": str(self.folder / "facts.json")}
        tasks: list[dict[str, Any]] = [
            {"ansible.builtin.include_role": role, "vars": given},
            {"ansible.builtin.copy": keep, "check_mode": False, "changed_when": False},
        ]
        # The folder that check mode leaves goes with the test.
        return run_playbook(write_playbook(self.folder, tasks), *options, TMPDIR=str(self.folder))

    def facts(self) -> tuple[str, dict[str, Any]]:
        """The path of the plan and the result of the last run."""
        path, result = json.loads((self.folder / "facts.json").read_text())
        return path, result


@pytest.fixture
def role(tmp_path: Path, hot: Ensemble, cold: Ensemble, connect: Connect, base: str) -> Role:
    """The role for one table with two partitions."""
    table = SyntheticTable(connect(hot.connect_string), f"{base}/hits").create()
    table.add_part("r1", "202610_0_0_0")
    table.add_part("r1", "202611_0_0_0")
    ensembles = {name: each.connect_string.split(",") for name, each in (("hot", hot), ("cold", cold))}
    return Role(tmp_path, role_variables(tmp_path, base, **ensembles))


def role_variables(folder: Path, root: str, *, hot: list[str], cold: list[str]) -> dict[str, Any]:
    """Return the variables of the role for members of two ensembles, with the plan in the folder."""
    variables = {
        "hot": {"hosts": hot, "auth": {"scheme": "digest", "credential": CREDENTIAL}},
        "cold": {"hosts": cold},
        "root": root,
        "policy": {"version": 1, "defaults": {"keep_newest": 1}},
        "as_of": _LATER,
        "future": True,
        "plan_dest": str(folder / "plan.jsonl"),
        "spark_submit": str(Path(sys.executable).with_name("spark-submit")),
        "spark_master": "local[2]",
        "spark_conf": SMALL_SPARK_CONF,
        "python": sys.executable,
        # A test that makes one has a place of its own for it.
        "class_archive": "",
    }
    return {f"partition_classify_{name}": value for name, value in variables.items()}


def left_behind(run: PlaybookRun) -> list[list[str]]:
    """The files in each folder that the run made for itself and did not remove."""
    folders = {
        Path(found) for found in re.findall(r'"path": "(/[^"]*/partition_classify\.\w{8})"', run.output)
    }
    assert len(folders) == 1
    return [sorted(file.name for file in folder.iterdir()) for folder in folders if folder.exists()]
