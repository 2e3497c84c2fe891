# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts boot and never outlive the run, and every scenario of extensions/molecule passes on them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from staging.hosts import create, destroy
from staging.layout import Layout, Spec
from staging.machine import ROOT, STAGING, StagingError, obstacle

SCENARIOS = sorted(path.parent.name for path in ROOT.glob("extensions/molecule/*/molecule.yml"))


@pytest.fixture(autouse=True)
def _hosts() -> None:
    reason = None if os.environ.get("STAGING_INVENTORY") else obstacle()
    if reason is not None:
        pytest.skip(f"NOT RUN: no host can be booted on this machine: {reason}. See docs/staging.md.")


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a scenario; its hosts are gone afterwards."""
    name: str = request.param
    yield name
    destroy(STAGING / name)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("scenario", SCENARIOS, indirect=True)
def test_a_scenario_passes(scenario: str) -> None:
    programs = Path(sys.executable).parent
    done = subprocess.run(
        [str(programs / "molecule"), "test", "--scenario-name", scenario],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            # Where molecule keeps its state: by the name of the working folder alone, others have it too.
            "ANSIBLE_HOME": str(STAGING / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "NO_COLOR": "1",
            "LC_ALL": "C.UTF-8",
            "STAGING_OWNER": str(os.getpid()),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    log = STAGING / f"{scenario}.log"
    log.write_text(done.stdout)
    assert done.returncode == 0, f"all of it is in {log}; what failed last:\n{_last_failure(done.stdout)}"


def test_hosts_end_with_their_owner(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with subprocess.Popen(["sleep", "600"]) as owner:
        spec = _create(run, owner.pid)
        assert _processes(spec)
        assert _bridge(spec).exists()
        owner.kill()
    _await(lambda: not any(Path(group).exists() for group in spec.cgroups) and not _bridge(spec).exists())
    destroy(run)
    assert not run.exists()


def test_hosts_end_when_their_keeper_is_killed_and_can_be_booted_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    try:
        spec = _create(run, os.getpid())
        os.kill(int(Layout(run).pid.read_text()), signal.SIGKILL)
        _await(lambda: not _processes(spec) and _is_free(Layout(run).lock))
        again = _create(run, os.getpid())
        assert _processes(again)
        with pytest.raises(StagingError, match="run already: destroy them first"):
            _create(run, os.getpid())
        assert _processes(again)
    finally:
        destroy(run)
    assert not _bridge(spec).exists()


def _last_failure(output: str) -> str:
    """From the last task that failed on, cut: reports keep the beginning of a long text only."""
    lines = output.splitlines()
    failed = [number for number, line in enumerate(lines) if line.startswith(("fatal: ", "failed: "))]
    last = failed[-1] if failed else max(0, len(lines) - 60)
    tasks = [number for number, line in enumerate(lines[:last]) if line.startswith("TASK [")]
    return "\n".join(line[:2000] for line in lines[tasks[-1] if tasks else last :][:120])


def _create(run: Path, owner: int) -> Spec:
    create(run, ["one"], owner)
    spec = Layout(run).read()
    assert spec is not None
    return spec


def _processes(spec: Spec) -> list[str]:
    files = [file for group in spec.cgroups for file in Path(group).rglob("cgroup.procs")]
    return [line for file in files for line in file.read_text().split()]


def _bridge(spec: Spec) -> Path:
    return Path("/sys/class/net", spec.bridge)


def _is_free(lock: Path) -> bool:
    """The lock of a layout is given back only a moment after the last process of the hosts has ended."""
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _await(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 180
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)
