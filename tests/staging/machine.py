# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether this machine can boot hosts, and the commands that everything else here runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAGING = ROOT / "build" / "staging"
"""Where the base, and a folder for the hosts of each scenario, are kept."""

_PROGRAMS = (
    *("chroot", "debootstrap", "dpkg-scanpackages", "ip", "mount", "ssh", "ssh-keygen"),
    *("setsid", "systemctl", "systemd-nspawn", "unshare"),
)
_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class StagingError(Exception):
    """Says in one sentence what could not be done, and what to do."""


def run(*command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command to its end and return what it wrote; raise StagingError when it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PATH": _PATH, "LC_ALL": "C.UTF-8", **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise StagingError(f"{' '.join(command)} failed: {done.stdout.strip()[-2000:]}")
    return done.stdout


def obstacle() -> str | None:
    """Return why no host can be booted on this machine, or None when they can."""
    if os.geteuid() != 0:
        return "hosts are booted by root only, and this is another user"
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        return f"missing programs: {', '.join(missing)} (make setup installs them)"
    try:
        _try_network()
        _try_overlay()
        _try_cgroups()
    except (StagingError, OSError) as error:
        return str(error)
    return None


def cgroup_folders(group: str) -> list[Path]:
    """Return the folders of a control group below that of this process, in all hierarchies of systemd."""
    found = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _number, controllers, path = line.split(":", 2)
        mounted = _hierarchy(controllers)
        if mounted is not None:
            found.append(mounted / path.lstrip("/") / group)
    if not found:
        raise StagingError("/proc/self/cgroup has no hierarchy that systemd could run in")
    return found


def _hierarchy(controllers: str) -> Path | None:
    if controllers == "name=systemd":
        return Path("/sys/fs/cgroup/systemd")
    if controllers == "":
        unified = Path("/sys/fs/cgroup/unified")
        return unified if unified.is_dir() else Path("/sys/fs/cgroup")
    return None


def _try_network() -> None:
    tries = "ip link add bridge0 type bridge && ip link add veth0 type veth peer name veth1"
    run("unshare", "--net", "sh", "-c", tries)


def _try_overlay() -> None:
    STAGING.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=STAGING, prefix="try-") as folder:
        for name in ("lower", "upper", "work", "merged"):
            Path(folder, name).mkdir()
        _in_namespaces(*mount_overlay("lower", "upper", "work", "merged"), cwd=Path(folder))


def _try_cgroups() -> None:
    for folder in cgroup_folders(f"staging-try-{os.getpid()}"):
        folder.mkdir()
        folder.rmdir()


def _in_namespaces(*command: str, cwd: Path) -> None:
    run("unshare", "--mount", "--pid", "--fork", "--propagation", "private", *command, cwd=cwd)


def mount_overlay(lower: str, upper: str, work: str, merged: str) -> Sequence[str]:
    """Return the command that mounts an overlay; relative names keep odd characters of the path out of it."""
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    return ("mount", "-t", "overlay", "overlay", "-o", options, merged)
