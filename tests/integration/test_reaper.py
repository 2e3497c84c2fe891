# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run of tests that is killed leaves no process of Spark behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from support.servers.replicated import wait_for

SLEEP = "import time; time.sleep(600)"


def run_of_tests(folder: Path, *, end: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that starts one of Spark and another one, each in a session of its own, and then `end`s."""
    program = f"""
        import subprocess, sys, time
        sys.path[:0] = {sys.path!r}
        from support.servers.reaper import Reaper
        reaper = Reaper()
        for name in ("pyspark.daemon", "another"):
            started = subprocess.Popen(
                [sys.executable, "-c", {SLEEP!r}, name], stdout=subprocess.DEVNULL, start_new_session=True
            )
            print(started.pid, flush=True)
        {end}
    """
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, cwd=folder, text=True
    )
    assert run.stdout is not None
    return run, [int(run.stdout.readline()) for _name in range(2)]


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and that nobody has asked about does not run."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda each: each.name)
def test_spark_ends_with_a_run_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    run, (spark, another) = run_of_tests(tmp_path, end="time.sleep(600)")
    with run:
        try:
            run.send_signal(number)
            wait_for(lambda: not runs(spark))
            assert runs(another)
        finally:
            run.kill()
            os.kill(another, signal.SIGKILL)


def test_what_a_run_leaves_that_ends_by_itself_is_not_hidden(tmp_path: Path) -> None:
    run, left = run_of_tests(tmp_path, end="reaper.dismiss()")
    with run:
        try:
            assert run.wait() == 0
            assert all(runs(each) for each in left)
        finally:
            for each in left:
                os.kill(each, signal.SIGKILL)
