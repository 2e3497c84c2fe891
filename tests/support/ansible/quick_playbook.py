# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program ansible-playbook that leaves out most of its work: what is the same in every run.

Ansible packs each module that a run calls with all that it imports, and keeps that until the run ends. This
keeps it for the runs that follow. And what Ansible imports has been imported before a run begins, by the
process of `warm_playbook`. All else is as in the program itself.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from support.ansible import warm_playbook

NAME = "ansible-playbook"
_ROOT = Path(__file__).resolve().parents[3]
_KEPT_SECONDS = 86_400.0


@cache
def program(other: Path | None = None) -> Path:
    """Return the path of the program, for the collection of the working folder, until this process ends.

    ``other`` is the Python of another ansible-core. Of that, nothing is kept for longer.
    """
    folder = Path(tempfile.mkdtemp(prefix="programs-"))
    atexit.register(shutil.rmtree, folder)
    packed = folder / "packed" if other else packed_for(_ROOT / "plugins", _ROOT / "build" / "packed")
    return write_program(folder, packed, other or Path(sys.executable))


def write_program(folder: Path, packed: Path, python: Path) -> Path:
    """Write it to a folder, for use until this process ends.

    ``packed`` is a folder for what it packs, of one collection and one Ansible.
    """
    folder.mkdir(exist_ok=True)
    path = folder / NAME
    # The path of a socket has 107 bytes at most, and TMPDIR may be longer than that.
    waiting = Path(tempfile.mkdtemp(prefix="playbook-", dir="/tmp"))
    address = str(waiting / "socket")
    path.write_text(warm_playbook.client_text(str(python), address))
    path.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        # It ignores no signal, even where the tests do, such as SIGINT in the background of a shell.
        command = ["env", "--default-signal", str(python), warm_playbook.__file__, str(listener.fileno())]
        process = subprocess.Popen(
            [*command, str(packed)],
            # What is no terminal and has UTF-8 is that when a run has its own streams, too.
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
        )
    atexit.register(_end, process, waiting)
    return path


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    shutil.rmtree(folder)


def packed_for(plugins: Path, folder: Path) -> Path:
    """Return the folder for sources as they are now, below a folder that keeps those of others for a day."""
    from ansible.release import __file__ as ansible, __version__ as version  # noqa: PLC0415 - not for each run

    sources = hashlib.sha256(f"{sys.version} {version} {ansible}".encode())
    for each in sorted(plugins.rglob("*.py")):
        found = each.stat()
        sources.update(f"\n{each} {found.st_size} {found.st_mtime_ns}".encode())
    wanted = folder / sources.hexdigest()[:16]
    if not wanted.exists():
        for other in folder.glob("*"):
            if time.time() - other.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        wanted.mkdir(parents=True, exist_ok=True)
    return wanted
