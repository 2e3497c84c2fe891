# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Boots the hosts of a scenario, says how to reach them, and ends them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from .base import SUITE, base, index
from .keeper import remove_cgroups
from .layout import WARM, Layout, Spec
from .machine import StagingError, cgroup_folders, obstacle, run
from .network import add_bridge, addresses, gateway, remove_bridge

_BOOT_SECONDS = 240.0
_END_SECONDS = 60.0
_GROUP = "staging_hosts"


class HostsRun(StagingError):
    """There is nothing to clean up: the hosts that were asked for belong to another run."""


def create(folder: Path, hosts: Sequence[str], owner: int | None = None) -> Path:
    """Boot hosts and wait until each of them runs; return an inventory that says how to reach them.

    Args:
        folder: A folder of the run, made here; the hosts of an earlier run in it must have been destroyed.
        hosts: Names of the hosts; with ``=SUITE`` for another release of Debian.
        owner: A process that the hosts must not outlive; None for hosts that run until destroyed.

    Raises:
        StagingError: Hosts of this folder run already, or these did not boot; nothing is left then.
    """
    reason = obstacle()
    if reason is not None:
        raise StagingError(f"no host can be booted on this machine: {reason}")
    suites = {name: suite or SUITE for name, _, suite in (host.partition("=") for host in hosts)}
    bases = {name: base(suite) for name, suite in suites.items()}
    layout = Layout(folder)
    layout.folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with layout.lock.open("w") as lock:
            if not _try_lock(lock):
                raise HostsRun(f"the hosts of {folder} run already: destroy them first")
            _clean(layout)
            spec = _arrange(layout, base(), bases)
            _start_keeper(layout, lock, owner)
        _await_ready(layout)
        _await_running(layout, spec)
    except HostsRun:
        raise
    except BaseException:
        destroy(folder)
        raise
    return layout.inventory


def destroy(folder: Path) -> None:
    """End the hosts of a run, or what a crash has left of them, and remove all that was theirs."""
    layout = Layout(folder)
    if not layout.lock.exists():
        return
    with layout.lock.open("w") as lock:
        _end_keeper(layout, lock)
        _clean(layout)


def publish(folder: Path, packages: Sequence[Path]) -> None:
    """Add packages to the repository of a run; hosts see them after their next apt-get update."""
    layout = Layout(folder)
    spec = layout.read()
    if spec is None:
        raise StagingError(f"no hosts were booted for {folder}: create them first")
    own = layout.repository / "own"
    own.mkdir(exist_ok=True)
    for package in packages:
        shutil.copy(package, own / package.name)
    _write_index(layout, Path(spec.base))


def keep_logs(folder: Path, to: Path) -> None:
    """Write what the hosts of a run have logged to a folder: the journal and /var/log of each host."""
    layout = Layout(folder)
    spec = layout.read()
    if spec is None:
        return
    shutil.rmtree(to, ignore_errors=True)
    for host, address in spec.hosts.items():
        own = to / host
        own.mkdir(parents=True)
        journal = subprocess.run(
            [*ssh(layout), f"root@{address}", "journalctl --no-pager --output=short-iso-precise"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        (own / "journal.txt").write_text(journal.stdout or f"not read: {journal.stderr}")
        # The layer of the host, which is there even if the host does not answer.
        logs = layout.host(host) / "upper" / "var" / "log"
        if logs.exists():
            shutil.copytree(logs, own / "log", symlinks=True, ignore=shutil.ignore_patterns("journal"))


def _try_lock(lock: TextIO) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _clean(layout: Layout) -> None:
    """Remove what a run has left. Its process has ended, and with it the hosts and their mounts."""
    spec = layout.read()
    if spec is not None:
        remove_cgroups(spec)
        remove_bridge(spec.bridge)
        shutil.rmtree(spec.control_path, ignore_errors=True)
    # The layers of hosts have very many files: rm is quicker than shutil, and stays off other mounts.
    run("rm", "-rf", "--one-file-system", str(layout.folder))


def _arrange(layout: Layout, usual: Path, bases: Mapping[str, Path]) -> Spec:
    """Make everything that the hosts need before they are booted."""
    layout.folder.mkdir()
    for key in (layout.key, layout.host_key):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "staging", "-f", str(key))
    layout.repository.mkdir()
    (layout.repository / "packages").symlink_to(usual / "packages")
    _write_index(layout, usual)
    remove_bridge(layout.bridge)
    network = add_bridge(layout.bridge)
    cgroups = [str(path) for path in cgroup_folders(layout.bridge)]
    spec = Spec(
        base=str(usual),
        bridge=layout.bridge,
        gateway=gateway(network),
        prefix_length=network.prefixlen,
        hosts=addresses(network, [*bases]),
        cgroups=cgroups,
        control_path=tempfile.mkdtemp(prefix="staging-"),
        other_bases={name: str(folder) for name, folder in bases.items() if folder != usual},
    )
    layout.write(spec)
    host_key = layout.host_key.with_suffix(".pub").read_text()
    layout.known_hosts.write_text("".join(f"{address} {host_key}" for address in spec.hosts.values()))
    layout.inventory.write_text(json.dumps(_inventory(layout, spec), indent=2))
    return spec


def _write_index(layout: Layout, tree: Path) -> None:
    """Write the list of packages in one go: hosts may be reading it."""
    text = (tree / "Packages").read_text()
    if (layout.repository / "own").exists():
        text += index(layout.repository, "own")
    new = layout.repository / "Packages.new"
    new.write_text(text)
    new.rename(layout.repository / "Packages")


def _inventory(layout: Layout, spec: Spec) -> Mapping[str, object]:
    options = f"-F none {' '.join(f'-o {option}' for option in _ssh_options(layout))}"
    how = {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(layout.key),
        "ansible_ssh_common_args": options,
        "ansible_control_path_dir": spec.control_path,
        "ansible_python_interpreter": f"{WARM}/python3",
        # Else a host is asked for all its facts whenever a package is to be there.
        "ansible_package_use": "apt",
    }
    reached = {name: {"ansible_host": address} for name, address in spec.hosts.items()}
    # Else Ansible starts the Python that it runs with, whatever it is told.
    python = os.environ.get("STAGING_INTERPRETER", sys.executable)
    here = {"localhost": {"ansible_connection": "local", "ansible_python_interpreter": python}}
    return {_GROUP: {"hosts": reached, "vars": how}, "ungrouped": {"hosts": here}}


def _ssh_options(layout: Layout) -> tuple[str, ...]:
    """Only the key of this run is offered, and only hosts of this run are believed."""
    return (
        *(f"UserKnownHostsFile={layout.known_hosts}", "GlobalKnownHostsFile=/dev/null"),
        *("StrictHostKeyChecking=yes", "IdentitiesOnly=yes"),
    )


def _start_keeper(layout: Layout, lock: TextIO, owner: int | None) -> None:
    """Start the process that holds the hosts; the lock is held by it from now on."""
    watched = -1 if owner is None else os.pidfd_open(owner)
    namespaces = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child")
    keeper = (sys.executable, "-m", "staging.keeper", str(layout.folder), str(watched))
    try:
        with layout.log.open("wb") as log:
            subprocess.run(
                ["setsid", "--fork", *namespaces, *keeper],
                env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock.fileno()] if owner is None else [lock.fileno(), watched],
                check=True,
            )
    finally:
        if owner is not None:
            os.close(watched)


def _end_keeper(layout: Layout, lock: TextIO) -> None:
    """End the process that holds the hosts: politely, then at once. It holds the lock until it has ended."""
    if _try_lock(lock):
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int(layout.pid.read_text()), number)
        if _until(lambda: _try_lock(lock), _END_SECONDS):
            return
    raise StagingError(f"the hosts of {layout.folder} do not end: see {layout.log}, and end them by hand")


def _await_ready(layout: Layout) -> None:
    def ended() -> bool:
        with layout.lock.open("w") as lock:
            return _try_lock(lock)

    _until(lambda: layout.ready.exists() or ended(), _BOOT_SECONDS)
    if not layout.ready.exists():
        raise StagingError(f"the hosts could not be started: {layout.log.read_text()[-2000:].strip()}")


def _await_running(layout: Layout, spec: Spec) -> None:
    for host in spec.hosts:
        if not _until(lambda host=host: _runs(layout, spec.hosts[host]), _BOOT_SECONDS):  # type: ignore[misc]
            console = layout.console(host).read_text(errors="replace")[-2000:]
            raise StagingError(f"{host} did not boot within {_BOOT_SECONDS:.0f} s:\n{console}")


def _runs(layout: Layout, address: str) -> bool:
    """Return whether systemd says that the host runs, with no unit that failed."""
    state = subprocess.run(
        [*ssh(layout), f"root@{address}", "systemctl is-system-running --wait"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return state.stdout.strip() == "running"


def ssh(layout: Layout) -> list[str]:
    """Return the command that reaches the hosts of a run, without the name of a host."""
    options = [f"-o{option}" for option in (*_ssh_options(layout), "BatchMode=yes", "ConnectTimeout=2")]
    return ["ssh", "-q", "-F", "none", "-i", str(layout.key), *options]


def _until(done: Callable[[], bool], seconds: float) -> bool:
    """Ask until the answer is yes; return whether it came in time."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
