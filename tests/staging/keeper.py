# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The process that holds the hosts of a run: when it ends, however that happens, they end.

It is the first process of a process and a mount namespace of its own. The kernel kills every process of
such a namespace when the first one ends, and drops the mounts, so nothing is left even if it is killed.
"""

from __future__ import annotations

import functools
import http.server
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

import ansible

from support.ansible import warm_interpreter

from .layout import WARM, Layout, Spec
from .machine import mount_overlay, run
from .network import remove_bridge

_BYTECODE = Path(__file__).with_name("kept_bytecode.py")
_PYTHON = "usr/lib/python3/dist-packages"
# What modules import of Ansible is imported once for all tasks of a host: see the docstring of that file.
_INTERPRETER = Path(warm_interpreter.__file__)
_UNIT = f"""\
[Service]
ExecStart=/usr/bin/python3 {WARM}/{_INTERPRETER.name} /run/warm-python
Environment=PYTHONPATH={WARM}/packages
[Install]
WantedBy=multi-user.target
"""
_SETTINGS = (
    *("--quiet", "--boot", "--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off"),
    *("--link-journal=no", "--console=pipe"),
)
# Hosts in one control group would take each other's services for their own. The reboot of a host ends
# systemd-nspawn with 133.
_IN_GROUPS = """
for group; do
    [ "$group" = -- ] && break
    echo 0 >"$group/cgroup.procs"
    shift
done
shift
status=133
while [ "$status" -eq 133 ]; do
    status=0
    "$@" || status=$?
done
exit "$status"
"""


def keep(folder: Path, owner: int) -> None:
    """Boot the hosts and hold them until SIGTERM, or until the process behind the descriptor has ended.

    Args:
        folder: The folder of the run.
        owner: A descriptor from pidfd_open, or -1 to hold the hosts until they are destroyed.
    """
    layout = Layout(folder)
    spec = layout.read()
    if spec is None:
        raise SystemExit(f"{folder} has no spec")
    # /proc still shows the process namespace outside, where this process is known by another number.
    layout.pid.write_text(Path("/proc/self").readlink().name)
    run("mount", "-t", "proc", "proc", "/proc")
    signal.signal(signal.SIGTERM, _stop)
    try:
        port = _serve(spec, layout.repository)
        for host in spec.hosts:
            _boot(layout, spec, host, port)
        layout.ready.write_text(str(port))
        _wait(owner)
    finally:
        _end(spec)


def remove_cgroups(spec: Spec) -> None:
    """Remove the control groups of the hosts, which have ended."""
    for top in spec.cgroups:
        for folder, _names, _files in os.walk(top, topdown=False):
            Path(folder).rmdir()


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def _serve(spec: Spec, repository: Path) -> int:
    handler = functools.partial(_Handler, directory=str(repository))
    server = http.server.ThreadingHTTPServer((spec.gateway, 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _boot(layout: Layout, spec: Spec, host: str, port: int) -> None:
    folder = layout.host(host)
    for name in ("upper", "work", "root"):
        (folder / name).mkdir(parents=True)
    lower = os.path.relpath(Path(spec.other_bases.get(host, spec.base), "tree"), folder)
    run(*mount_overlay(lower, "upper", "work", "root"), cwd=folder)
    _write_files(folder / "root", layout, spec, host, port)
    groups = [Path(top) / host for top in spec.cgroups]
    for group in groups:
        group.mkdir(parents=True)
    names = (f"--machine={spec.bridge}-{host}", f"--hostname={host}", f"--network-bridge={spec.bridge}")
    packages = f"--bind-ro={Path(ansible.__file__).parent}:{WARM}/packages/ansible"
    nspawn = ("systemd-nspawn", *_SETTINGS, *names, packages, "--directory", str(folder / "root"))
    with layout.console(host).open("wb") as log:
        subprocess.Popen(
            ["sh", "-ec", _IN_GROUPS, "sh", *map(str, groups), "--", *nspawn],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _write_files(root: Path, layout: Layout, spec: Spec, host: str, port: int) -> None:
    """Make a host of the tree: its name and address, who may log in, and where packages come from."""
    known = "".join(f"{address} {name}\n" for name, address in spec.hosts.items())
    network = f"[Match]\nName=host0\n[Network]\nAddress={spec.hosts[host]}/{spec.prefix_length}\n"
    files = {
        "etc/hostname": f"{host}\n",
        "etc/hosts": f"127.0.0.1 localhost\n{known}",
        "etc/systemd/network/10-host0.network": f"{network}LinkLocalAddressing=no\nLLDP=no\n",
        "etc/apt/sources.list": f"deb [trusted=yes] http://{spec.gateway}:{port} ./\n",
        # Python imports at its start what a file .pth says.
        f"{_PYTHON}/{_BYTECODE.name}": _BYTECODE.read_text(),
        f"{_PYTHON}/{_BYTECODE.stem}.pth": f"import {_BYTECODE.stem}\n",
        "etc/systemd/system/warm-python.service": _UNIT,
        f"{WARM[1:]}/{_INTERPRETER.name}": _INTERPRETER.read_text(),
        f"{WARM[1:]}/python3": warm_interpreter.client_text("/usr/bin/python3", "/run/warm-python"),
    }
    for folder in ("var/cache/kept-bytecode", f"{WARM[1:]}/packages"):
        (root / folder).mkdir(parents=True)
    for name, text in files.items():
        (root / name).write_text(text)
    (root / WARM[1:] / "python3").chmod(0o755)
    wanted = root / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "warm-python.service").symlink_to("/etc/systemd/system/warm-python.service")
    login = root / "root/.ssh"
    login.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(layout.key.with_suffix(".pub"), login / "authorized_keys")
    shutil.copy(layout.host_key, root / "etc/ssh/ssh_host_ed25519_key")


def _wait(owner: int) -> None:
    if owner < 0:
        signal.pause()
    select.select([owner], [], [])


def _end(spec: Spec) -> None:
    """Kill every host and remove what is theirs in the kernel; the mounts go with this process."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    remove_cgroups(spec)
    remove_bridge(spec.bridge)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
