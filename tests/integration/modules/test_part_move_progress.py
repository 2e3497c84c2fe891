# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far part_move is, while it runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import run_playbook, write_playbook
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days
from support.servers.ssh import SshServer

(FIRST,) = days(1)
LINE = re.compile(
    r"olap\.partmove\.part_move: \d of 3 partitions \(\d+ %\), \d parts, \d+ parts/s(, \d+ s left)?; "
)


AS_DAEMON = {
    "become": True,
    "become_method": "ansible.builtin.su",
    "become_user": "daemon",
    "become_flags": "-s /bin/sh",
}


def lock_of(pair: Pair, shard_path: str) -> str:
    return f"{pair.options['coordination_root']}/locks/{shard_path.replace('/', '%2F')}"


@pytest.fixture
def slow_task(pair: Pair, table: Table) -> dict[str, Any]:
    """A task that moves one partition, waits for a lock, and moves another one."""
    tables = [table, *(build_table(pair.hot, f"{pair.base}/{name}") for name in ("orders", "visits"))]
    pair.hot.create(lock_of(pair, tables[1].path), b"another run", ephemeral=True, makepath=True)
    wanted = [item for each in tables for item in partitions_of(each, FIRST)]
    return {
        "olap.partmove.part_move": {**pair.options, **ASSUMED, "partitions": wanted, "lock_wait": "3s"},
        "register": "move",
    }


def test_progress_is_shown_on_the_controller(pair: Pair, table: Table, slow_task: dict[str, Any]) -> None:
    files = pair.folder / "progress"
    files.mkdir()
    run = run_playbook(write_playbook(pair.folder, [slow_task]), TMPDIR=str(files))
    assert run.status == 0, run.told
    lines = run.output.splitlines()
    (shown,) = [number for number, each in enumerate(lines) if LINE.match(each)]
    result = next(number for number, each in enumerate(lines) if each.startswith("changed: [localhost]"))
    assert shown < result
    assert list(files.iterdir()) == []


def _daemon_runs_this_python() -> bool:
    command = shlex.join([sys.executable, "-c", "import kazoo"])
    su = ["su", "-s", "/bin/sh", "daemon", "-c", command]
    return os.geteuid() == 0 and subprocess.run(su, check=False).returncode == 0


@pytest.mark.skipif(not _daemon_runs_this_python(), reason="another user cannot run this Python")
def test_progress_is_shown_of_a_module_of_another_user(
    pair: Pair, table: Table, slow_task: dict[str, Any]
) -> None:
    """It makes the file itself, which nobody but it may read. The second lock leaves time for a look."""
    options = slow_task["olap.partmove.part_move"]
    pair.hot.create(lock_of(pair, pair.base + "/visits"), b"another run", ephemeral=True, makepath=True)
    task = {
        **slow_task,
        "olap.partmove.part_move": {**options, "lock_wait": "6s", "workers": 1, "journal": ""},
        **AS_DAEMON,
        # That of the tests is in a folder of whoever runs them.
        "vars": {"ansible_python_interpreter": sys.executable},
    }
    before = set(Path("/tmp").glob("olap.partmove.*"))
    run = run_playbook(write_playbook(pair.folder, [task]), ANSIBLE_REMOTE_TMP="/tmp")
    assert run.status == 0, run.told
    assert any(map(LINE.match, run.output.splitlines())), run.told
    assert set(Path("/tmp").glob("olap.partmove.*")) <= before


@pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh on this machine")
@pytest.mark.parametrize("become", [False, True])
def test_progress_is_shown_of_a_module_on_another_host(
    pair: Pair, table: Table, slow_task: dict[str, Any], *, become: bool
) -> None:
    """Over SSH, where a look is a command of its own over the connection that the module runs over."""
    if become and not _daemon_runs_this_python():
        pytest.skip("another user cannot run this Python")
    options = slow_task["olap.partmove.part_move"]
    pair.hot.create(lock_of(pair, pair.base + "/visits"), b"another run", ephemeral=True, makepath=True)
    with SshServer() as host:
        task = {
            **slow_task,
            "olap.partmove.part_move": {**options, "lock_wait": "6s", "workers": 1, "journal": ""},
            **(AS_DAEMON if become else {}),
            "vars": {"ansible_python_interpreter": sys.executable, **host.variables},
        }
        before = set(Path("/tmp").glob("olap.partmove.*"))
        run = run_playbook(write_playbook(pair.folder, [task]), ANSIBLE_REMOTE_TMP="/tmp")
        commands = [each for each in host.commands if "tail -c" in each]
    assert run.status == 0, run.told
    assert any(map(LINE.match, run.output.splitlines())), run.told
    assert commands
    assert set(Path("/tmp").glob("olap.partmove.*")) <= before


def test_a_task_in_the_background_runs_without(pair: Pair, table: Table, slow_task: dict[str, Any]) -> None:
    run = run_playbook(write_playbook(pair.folder, [slow_task | {"async": 3600, "poll": 1}]))
    assert run.status == 0, run.told
    assert "done with" not in run.output
    assert '"msg": "2 moved, 1 deferred, 0 failed, 0 unchanged"' in run.output
