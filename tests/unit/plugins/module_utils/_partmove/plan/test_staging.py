# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Staging folders: removed after every run, even a killed run, but never while their run is alive."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.staging import (
    check_writable,
    staging_folder,
)

HOLDER = """
import sys, time
from pathlib import Path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.staging import staging_folder
with staging_folder(Path(sys.argv[1])) as folder:
    (folder / "rows").write_text("half of them")
    print(folder, flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "plan.jsonl"


def held(target: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a run that holds its folder; return both."""
    environment = {"PYTHONPATH": ":".join(each for each in sys.path if each)}
    command = [sys.executable, "-c", HOLDER, str(target)]
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
    assert run.stdout is not None
    return run, Path(run.stdout.readline().strip())


def test_the_folder_exists_during_the_block_only(target: Path) -> None:
    with staging_folder(target) as folder:
        assert names(target.parent) == [folder.name]
        assert folder.stat().st_mode & 0o777 == 0o700
    assert names(target.parent) == []
    with pytest.raises(RuntimeError), staging_folder(target):
        raise RuntimeError
    assert names(target.parent) == []


def test_the_folder_of_a_killed_run_is_removed_by_the_next_run(target: Path) -> None:
    run, folder = held(target)
    with run:
        run.kill()
    assert run.returncode == -signal.SIGKILL
    assert names(folder) == ["rows"]
    with staging_folder(target.with_name("other.jsonl")):
        assert folder.exists()
    with staging_folder(target):
        assert not folder.exists()
    assert names(target.parent) == []


def test_the_folder_of_a_running_run_stays(target: Path) -> None:
    run, folder = held(target)
    with staging_folder(target):
        assert names(folder) == ["rows"]
    assert names(folder) == ["rows"]
    run.communicate("")
    assert run.returncode == 0
    assert names(target.parent) == []


def test_files_with_similar_names_stay(target: Path) -> None:
    kept = [target.with_name(name) for name in (".plan.jsonl.a.partial", ".plan.jsonl.b", ".x.partial")]
    kept[0].write_text("no folder")
    for each in kept[1:]:
        each.mkdir()
    with staging_folder(target):
        pass
    assert names(target.parent) == sorted(each.name for each in kept)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    target = tmp_path / "none" / "plan.jsonl"
    sentence = f"^{target}: the file cannot be written: No such file or directory"
    with pytest.raises(PlanError, match=sentence), staging_folder(target):
        pass


def test_writable_folders(tmp_path: Path) -> None:
    check_writable(tmp_path)
    check_writable(tmp_path / "to" / "be" / "made")
    assert names(tmp_path) == []


def test_unwritable_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "dangling").symlink_to("nowhere")
    for place in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "dangling", Path("/proc/x")):
        with pytest.raises(OSError, match="Not a directory|No such file"):
            check_writable(place)
