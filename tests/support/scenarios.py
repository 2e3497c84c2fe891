# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the scenarios of extensions/molecule on hosts that really boot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from staging.hosts import destroy, keep_logs
from staging.machine import ROOT, STAGING, obstacle
from support.ansible import quick_playbook
from support.ansible.calls import COLLECTIONS
from support.ansible.warm_interpreter import program

SCENARIOS = sorted(path.parent.name for path in ROOT.glob("extensions/molecule/*/molecule.yml"))


@pytest.fixture
def bootable() -> None:
    """Skip the test, with the reason, where no host can be booted and there are none of one's own."""
    reason = None if os.environ.get("STAGING_INVENTORY") else obstacle()
    if reason is not None:
        pytest.skip(
            f"NOT RUN: no host can be booted on this machine: {reason}. See docs/internals/staging.md."
        )


def check_scenario(name: str) -> None:
    """Run a scenario from its beginning to its end; its hosts are gone afterwards.

    Raises:
        AssertionError: a task failed; it tells which one, and where the output and the logs of hosts are.
    """
    log, logs = STAGING / f"{name}.log", STAGING / f"{name}.logs"
    try:
        done = _molecule(name)
        log.write_text(done.stdout)
        if done.returncode != 0:
            keep_logs(STAGING / name, logs)
    finally:
        destroy(STAGING / name)
    assert done.returncode == 0, (
        f"all of it is in {log}, and the logs of hosts that were booted for it in {logs}; what failed last:\n"
        f"{_last_failure(done.stdout)}"
    )


def _molecule(name: str) -> subprocess.CompletedProcess[str]:
    programs = [quick_playbook.program().parent, Path(sys.executable).parent]
    home = STAGING / "home" / name
    # After a run that failed, molecule would go on with its hosts, and they are gone.
    shutil.rmtree(home, ignore_errors=True)
    return subprocess.run(
        # The hosts stay until their logs are kept.
        [str(programs[-1] / "molecule"), "test", "--destroy=never", "--scenario-name", name],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            # Where molecule keeps its state: by the name of the working folder alone, others have it too, and
            # scenarios run beside each other.
            "ANSIBLE_HOME": str(home),
            "ANSIBLE_NOCOLOR": "1",
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
            "STAGING_OWNER": str(os.getpid()),
            "STAGING_INTERPRETER": str(program(COLLECTIONS)),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _last_failure(output: str) -> str:
    """From the last task that failed on, cut: reports keep the beginning of a long text only."""
    lines = output.splitlines()
    failed = [number for number, line in enumerate(lines) if line.startswith(("fatal: ", "failed: "))]
    last = failed[-1] if failed else max(0, len(lines) - 60)
    tasks = [number for number, line in enumerate(lines[:last]) if line.startswith("TASK [")]
    return "\n".join(line[:2000] for line in lines[tasks[-1] if tasks else last :][:120])
