# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A change of one server by tasks of the user: its plan, its failures, and what a rollback brings back.

The server itself is real, and is only asked: the tasks write down that they ran.
"""

from __future__ import annotations

import json
import os
import pwd
import re
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook, write_playbook
from support.files.configs import written
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, ModernShardMaker
from support.servers.zookeeper import Ensemble

FORMER, NEWER = "20.12", "20.13"


class Ground:
    """A server, the configuration that is changed for it, and tasks that write down that they ran."""

    def __init__(self, server: ModernServer, hot: Ensemble, cold: Ensemble, base: str, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.config = folder / "etc" / "config.xml"
        self.config.parent.mkdir()
        self.config.write_text(written("debian.xml"))
        # Older than the server, which nothing restarts here.
        os.utime(self.config, (0, 0))
        self.kept = folder / "kept"
        self.version = folder / "VERSION"
        self.version.write_text(FORMER)
        self._log = folder / "log"
        self._given: dict[str, Any] = {
            "packages": [{"name": "clickhouse", "version": NEWER}],
            "version_command": ["cat", str(self.version)],
            "install_tasks": self.tasks(
                "install", f"printf {{{{ clickhouse_node_install_version }}}} > {self.version}"
            ),
            "stop_tasks": self.tasks("stop"),
            "start_tasks": self.tasks("start"),
            "drain_tasks": self.tasks("drain"),
            "undrain_tasks": self.tasks("undrain"),
            "hot": {"hosts": hot.connect_string.split(",")},
            "cold": {"hosts": cold.connect_string.split(",")},
            "root": base,
            "published_host": "127.0.0.1",
            "never_entered": True,
            "coordination_root": f"{base}/partmove",
            "clickhouse": {"host": "127.0.0.1", "port": server.http_port},
            "patched_sign": "SELECT 0",
            "config_path": str(self.config),
            "preprocessed": [str(self.config)],
            "keep_dir": str(self.kept),
            "wait_retries": 1,
            "wait_delay": 0,
        }

    def tasks(self, name: str, command: str = "true") -> str:
        """Write a file of tasks that write down the name, and run a command; return its path."""
        file = self.folder / f"{name}.yml"
        shell = f"echo {name} >> {self._log}; {command}"
        file.write_text(json.dumps([{"name": f"Tasks {name}", "ansible.builtin.shell": shell}]))
        return str(file)

    def ran(self) -> list[str]:
        """Return which tasks ran since the last call."""
        names = self._log.read_text().split() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return names

    def run(self, *options: str, entry: str = "main", **variables: Any) -> PlaybookRun:
        given = {f"clickhouse_node_{name}": value for name, value in {**self._given, **variables}.items()}
        more = {
            "cold_zookeeper_config_packages": [],
            "cold_zookeeper_config_style": "drop_in",
            "clickhouse_node__package_manager": "apt",
        }
        role = {"name": "olap.partmove.clickhouse_node", "tasks_from": entry}
        shown = {"msg": "steps: {{ clickhouse_node_server.steps }}"}
        tasks = [{"ansible.builtin.include_role": role}, {"ansible.builtin.debug": shown}]
        extra = json.dumps({**more, **given})
        return run_playbook(write_playbook(self.folder, tasks), "-e", extra, *options)

    def files(self) -> dict[str, bytes]:
        """Return the content of each file of the configuration."""
        return {path.name: path.read_bytes() for path in self.config.parent.rglob("*") if path.is_file()}

    @property
    def drop_in(self) -> Path:
        return self.config.parent / "config.d" / "cold_zookeeper.xml"


@pytest.fixture
def ground(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, base: str, tmp_path: Path
) -> Ground:
    (server,) = start_modern(ZooKeeperSource(hot.connect_string), replicas=1).servers
    server.execute(
        f"CREATE TABLE t (id UInt32) ENGINE = ReplicatedMergeTree('{base}/t', '{{replica}}')"
        " PARTITION BY id ORDER BY id"
    )
    return Ground(server, hot, cold, base, tmp_path)


def test_a_plan_writes_nothing_and_a_rollback_leaves_nothing(ground: Ground) -> None:
    before = ground.files()
    for options in ((), ("--check",)):
        planned = ground.run(*options, entry="inspect")
        assert planned.status == 0, planned.told
        assert f"install clickhouse={NEWER}" in planned.output
        assert f"change {ground.drop_in}" in planned.output
        assert ground.files() == before
    assert ground.ran() == []

    # Nothing restarts the server here.
    failed = ground.run()
    assert failed.status != 0
    told = r"its process started \d+ s before the config changed. Restart the server.\)"
    assert re.search(told, failed.output), failed.told
    assert f"was rolled back to its former state (clickhouse={FORMER})" in failed.output
    assert ground.files() == before
    assert ground.version.read_text() == FORMER
    assert not (ground.kept / "before.json").exists()
    changed = ["stop", "install", "start"]
    assert ground.ran() == ["drain", *changed, *changed, "undrain"]


def test_a_server_that_cannot_be_taken_out_of_use_is_not_stopped(ground: Ground) -> None:
    before = ground.files()
    ground.tasks("drain", "echo the balancer is away >&2; exit 1")
    failed = ground.run()
    assert failed.status != 0
    assert "could not be taken out of use: " in failed.output, failed.told
    assert "(non-zero return code: the balancer is away)" in failed.output, failed.told
    assert "This run did not stop it, and changed nothing there." in failed.output
    assert ground.ran() == ["drain", "undrain"]
    assert (ground.files(), ground.version.read_text()) == (before, FORMER)
    assert not (ground.kept / "before.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_rollback_gives_a_file_back_to_its_owner(ground: Ground) -> None:
    owner = pwd.getpwnam("nobody")
    ground.drop_in.parent.mkdir(exist_ok=True)
    ground.drop_in.write_text("<yandex><cold_zookeeper><node><host>c</host></node></cold_zookeeper></yandex>")
    os.chown(ground.drop_in, owner.pw_uid, owner.pw_gid)
    ground.drop_in.chmod(0o640)
    before = ground.files()

    ground.tasks("start", f"test -e {ground.drop_in}")
    failed = ground.run(state="stock")
    assert failed.status != 0
    assert "Tasks start" in failed.output, failed.told
    assert "was rolled back to its former state" in failed.output, failed.told
    assert ground.files() == before
    found = ground.drop_in.stat()
    assert (found.st_uid, found.st_gid, oct(found.st_mode & 0o777)) == (owner.pw_uid, owner.pw_gid, "0o640")


def test_data_that_was_dropped_on_purpose_keeps_no_change_from_its_end(ground: Ground) -> None:
    ground.server.execute("INSERT INTO t VALUES (1)")
    ground.server.execute("INSERT INTO t VALUES (2)")
    ground.tasks("start", "exit 1")
    stuck = ground.run(state="stock")
    assert "could not be brought back: Tasks start" in stuck.output, stuck.told
    assert (ground.kept / "before.json").exists()

    ground.tasks("start")
    ground.server.execute("ALTER TABLE t DROP PARTITION ID '1'")
    again = ground.run(state="stock")
    assert again.status != 0
    assert "default.t: partitions are gone: 1 with 1 rows." in again.output, again.told
    assert "run it once with clickhouse_node_losses_are_intended=true" in again.output

    done = ground.run(state="stock", losses_are_intended=True)
    assert done.status == 0, done.told
    assert ground.version.read_text() == NEWER
    assert not (ground.kept / "before.json").exists()
