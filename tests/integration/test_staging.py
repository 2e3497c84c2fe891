# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts boot and never outlive the run, and every scenario of extensions/molecule has a test."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import pytest

from staging.hosts import create, destroy, ssh
from staging.layout import Layout, Spec
from staging.machine import StagingError
from support.scenarios import SCENARIOS, bootable
from support.servers.replicated import wait_for

__all__ = ["bootable"]


def test_every_scenario_has_a_test() -> None:
    """In a file of its own, because workers take whole files."""
    files = Path(__file__).parent.glob("test_scenario_*.py")
    assert sorted(file.stem.removeprefix("test_scenario_") for file in files) == SCENARIOS


@pytest.mark.usefixtures("bootable")
def test_hosts_end_with_their_owner(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with subprocess.Popen(["sleep", "600"]) as owner:
        spec = _create(run, owner.pid)
        assert _processes(spec)
        assert _bridge(spec).exists()
        owner.kill()
    wait_for(lambda: not any(Path(group).exists() for group in spec.cgroups) and not _bridge(spec).exists())
    destroy(run)
    assert not run.exists()


@pytest.mark.usefixtures("bootable")
def test_hosts_end_when_their_keeper_is_killed_and_can_be_booted_again(tmp_path: Path) -> None:
    run = tmp_path / "run"
    try:
        spec = _create(run, os.getpid())
        os.kill(int(Layout(run).pid.read_text()), signal.SIGKILL)
        wait_for(lambda: not _processes(spec) and _is_free(Layout(run).lock))
        again = _create(run, os.getpid())
        assert _processes(again)
        with pytest.raises(StagingError, match="run already: destroy them first"):
            _create(run, os.getpid())
        assert _processes(again)
    finally:
        destroy(run)
    assert not _bridge(spec).exists()


@pytest.mark.usefixtures("bootable")
def test_a_host_starts_again_with_its_files(tmp_path: Path) -> None:
    run = tmp_path / "run"
    try:
        _create(run, os.getpid())
        before = _ask(run, "touch /root/kept; cut --delimiter=' ' --fields=22 /proc/1/stat")
        _ask(run, "systemctl reboot")
        wait_for(lambda: _ask(run, "cut --delimiter=' ' --fields=22 /proc/1/stat") not in ("", before))
        wait_for(lambda: _ask(run, "systemctl is-system-running --wait") == "running")
        assert _ask(run, "ls /root/kept") == "/root/kept"
    finally:
        destroy(run)


@pytest.mark.usefixtures("bootable")
def test_hosts_may_have_different_releases_of_debian(tmp_path: Path) -> None:
    run = tmp_path / "run"
    release = ". /etc/os-release && echo $VERSION_CODENAME"
    try:
        _create(run, os.getpid(), "one", "two=trixie")
        assert [_ask(run, release, host) for host in ("one", "two")] == ["bookworm", "trixie"]
    finally:
        destroy(run)


def _create(run: Path, owner: int, *hosts: str) -> Spec:
    create(run, hosts or ["one"], owner)
    spec = Layout(run).read()
    assert spec is not None
    return spec


def _ask(run: Path, command: str, host: str = "one") -> str:
    """What a command on a host writes; nothing where the host is not reached."""
    layout = Layout(run)
    spec = layout.read()
    assert spec is not None
    done = subprocess.run(
        [*ssh(layout), f"root@{spec.hosts[host]}", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


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
