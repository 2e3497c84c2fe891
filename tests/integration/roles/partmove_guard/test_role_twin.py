# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role partmove_guard for cold twins on real servers: it installs a guard that finishes moves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from support.ansible import quick_playbook, warm_interpreter
from support.ansible.calls import COLLECTIONS, PlaybookRun, run_playbook, write_playbook
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.role_runs import changed
from support.ansible.twin_runs import DAY, TwinGround
from support.exposition import parsed
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=1)]


class Host(TwinGround):
    """A host with the folders of the role, and the tables that its guard is for."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, folder: Path) -> None:
        super().__init__(shard, hot, base, folder)
        for name in ("sbin", "units", "metrics"):
            (folder / name).mkdir()
        self.script, self.work = folder / "sbin" / "partmove-guard", folder / "work"
        self.metrics, self.success = folder / "metrics" / "partmove.prom", folder / "metrics" / "guard.prom"

    def task(self, **variables: Any) -> dict[str, Any]:
        """Return the task that runs the role."""
        given = {
            **self.given,
            "separation": "twin",
            "root": self.base,
            "metrics": str(self.metrics),
            "success_metrics": str(self.success),
            "ansible_playbook": str(quick_playbook.program()),
            "collections": str(COLLECTIONS),
            "config_dir": str(self.folder / "etc"),
            "work_dir": str(self.work),
            "log_dir": str(self.folder / "log"),
            "script": str(self.script),
            "unit_dir": str(self.folder / "units"),
            **variables,
        }
        return {
            "ansible.builtin.import_role": {"name": "olap.partmove.partmove_guard"},
            "vars": {f"partmove_guard_{name}": value for name, value in given.items()},
        }

    def converge(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run the role."""
        return run_playbook(write_playbook(self.folder, [self.task(**variables)]), *options)

    def start(self) -> str:
        """Run what the service runs, and return what it prints."""
        environment = {
            "ANSIBLE_HOME": str(self.work / "ansible"),
            "ANSIBLE_LOCAL_TEMP": str(self.work / "ansible" / "tmp"),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_PYTHON_INTERPRETER": str(warm_interpreter.program(COLLECTIONS)),
            "HOME": str(self.work),
        }
        done = subprocess.run(
            [str(self.script)], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        return done.stdout


@pytest.fixture
def host(modern: ModernShard, hot: Ensemble, base: str, tmp_path: Path) -> Host:
    return Host(modern, hot, base, tmp_path)


def test_what_is_installed_finishes_moves(host: Host) -> None:
    name = host.table({DAY: [[1, 2]]})
    path = host.shard_path(name)
    host.give_twins(path)
    servers = DyingServers(host.asked(), 0, given=True)
    run_until_killed(lambda: host.move_here(servers, "cold", path, DAY, TwinOptions()))

    changed(host.converge(finish=True))
    installed = host.success.read_text()
    host.success.write_text(installed.replace(" 1", " 0"))
    assert changed(host.converge(finish=True)) == 0
    given = yaml.safe_load((host.folder / "etc" / "guard.yml").read_text())
    assert (given["separation"], given["guard_finish"], given["guard_repair"]) == ("twin", True, False)
    service = (host.folder / "units" / "partmove-guard.service").read_text()
    assert f'"-{host.success.parent}"' in service

    assert host.start() == "PARTMOVE guard: everything consistent; 1 finished\n"
    metrics = parsed(host.metrics.read_text())
    assert metrics["partmove_twin_audit_complete"] == {(): 1}
    assert metrics["partmove_twin_audit_oldest_record_timestamp_seconds"] == {}
    assert list(parsed(host.success.read_text())["partmove_guard_last_success_timestamp_seconds"]) == [
        (("separation", "twin"),)
    ]
    assert host.success.read_text().splitlines()[:-1] == installed.splitlines()[:-1]


def test_steps_of_the_other_way_are_refused(host: Host) -> None:
    """Each time in the same run."""
    wrong: list[dict[str, Any]] = [
        {"bring_back": True},
        {"renew": True, "inventory": {"all": {}}},
        {"separation": "patched", "cold": host.given["hot"], "finish": True},
    ]
    tell = {"ansible.builtin.debug": {"msg": "refused: {{ ansible_failed_result.msg }}"}}
    tasks = [{"block": [host.task(**variables)], "rescue": [tell]} for variables in wrong]
    run = run_playbook(write_playbook(host.folder, tasks))
    assert run.status == 0, run.told
    assert run.output.count("refused: partmove_guard_renew, partmove_guard_bring_back and") == len(wrong)
    assert not (host.folder / "etc").exists()
