# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program with which tests run playbooks packs a module once, and imports Ansible once for many runs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.ansible.calls import COLLECTIONS, write_playbook
from support.ansible.quick_playbook import packed_for, write_program
from support.servers.replicated import wait_for

TOLD = "one of the following is required: shard_paths, root"


def start(
    program: Path, folder: Path, tasks: Sequence[Mapping[str, Any]], **environment: str
) -> subprocess.Popen[str]:
    """Start a run of a play with the tasks, in the folder."""
    home = folder / "ansible-home"
    common = {
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.Popen(
        [str(program), "-i", "localhost,", "-c", "local", str(write_playbook(folder, tasks))],
        cwd=folder,
        env={**os.environ, **common, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def play(program: Path, folder: Path) -> str:
    """Run a task whose module ends at once, and return what the run says."""
    tasks = [{"olap.partmove.part_info": {"hot": {"hosts": ["127.0.0.1:1"]}}, "ignore_errors": True}]
    run = start(program, folder, tasks)
    output, _none = run.communicate()
    assert run.returncode == 0, output
    assert own_files(folder) == []
    return output


def own_files(folder: Path) -> list[Path]:
    """What runs keep for themselves until they end."""
    return list((folder / "ansible-home" / "tmp").glob("*"))


def test_a_module_is_packed_by_the_first_run_that_calls_it(tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    program = write_program(tmp_path / "programs", packed, Path(sys.executable))
    assert TOLD in play(program, tmp_path)
    (kept,) = (
        each for each in packed.iterdir() if "plugins.modules.part_info" in each.name and each.stat().st_size
    )
    written = kept.stat().st_mtime_ns
    assert TOLD in play(program, tmp_path)
    assert kept.stat().st_mtime_ns == written
    # What a run finds there is what it sends.
    kept.write_bytes(b"")
    assert TOLD not in play(program, tmp_path)


def test_sources_that_changed_are_packed_anew(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    shutil.copytree(COLLECTIONS / "ansible_collections/olap/partmove/plugins/modules", plugins)
    first = packed_for(plugins, tmp_path / "packed")
    assert packed_for(plugins, tmp_path / "packed") == first
    (plugins / "part_info.py").write_text("")
    assert packed_for(plugins, tmp_path / "packed") != first


def test_a_run_has_all_that_it_was_started_with(tmp_path: Path) -> None:
    """Its settings, too, some of which Ansible reads while it is imported."""
    program = write_program(tmp_path / "programs", tmp_path / "packed", Path(sys.executable))
    told = {"msg": "{{ [ansible_forks, lookup('env', 'TOKEN'), lookup('pipe', 'pwd')] | join(' ') }}"}
    for number, (forks, token) in enumerate((("3", "one"), ("4", "two"), ("3", "three"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        tasks: list[Mapping[str, Any]] = [
            {"ansible.builtin.debug": told},
            {"ansible.builtin.fail": {}, "when": token == "three"},
        ]
        run = start(program, folder, tasks, ANSIBLE_FORKS=forks, TOKEN=token)
        output, _none = run.communicate()
        assert f'{forks} {token} {folder}"' in output
        assert run.returncode == (2 if token == "three" else 0)


def test_a_run_ends_with_its_client(tmp_path: Path) -> None:
    program = write_program(tmp_path / "programs", tmp_path / "packed", Path(sys.executable))
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    tasks: list[Mapping[str, Any]] = [
        {"ansible.builtin.copy": {"content": "", "dest": str(begun)}},
        {"ansible.builtin.wait_for": {"path": str(ended), "timeout": 600}},
    ]
    with start(program, tmp_path, tasks) as run:
        wait_for(begun.exists)
        # It has the number of its process in its name, and eight characters.
        (own,) = own_files(tmp_path)
        process = Path("/proc", own.name.removeprefix("ansible-local-")[:-8])
        assert process.exists()
        run.kill()
        assert run.wait() == -signal.SIGKILL
        wait_for(lambda: not process.exists())
        ended.touch()
