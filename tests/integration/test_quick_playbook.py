# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program with which tests run playbooks packs a module once, and again where there is another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.ansible.calls import COLLECTIONS, write_playbook
from support.ansible.quick_playbook import packed_for, write_program

TOLD = "one of the following is required: shard_paths, root"


def play(program: Path, folder: Path) -> str:
    """Run a task whose module ends at once, and return what the run says."""
    tasks = [{"olap.partmove.part_info": {"hot": {"hosts": ["127.0.0.1:1"]}}, "ignore_errors": True}]
    home = folder / "ansible-home"
    environment = {
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [str(program), "-i", "localhost,", "-c", "local", str(write_playbook(folder, tasks))],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert list((home / "tmp").iterdir()) == []
    return done.stdout


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
