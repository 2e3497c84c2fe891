# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the objects of a Java process take, asked as jcmd asks, which is in no JRE.

See "The Attach API" of HotSpot: after SIGQUIT a process that finds the file .attach_pid listens at a socket.
"""

from __future__ import annotations

import re
import signal
import socket
import time
from os import kill
from pathlib import Path

_SECONDS = 60
# Of the serial collector, which has two generations, and of G1.
_USED = re.compile(r"(?:generation|garbage-first heap)\s+total \d+K, used (\d+)K")


def heap_mb(pid: int) -> float:
    """MiB of objects that are in use.

    Raises:
        RuntimeError: it does not answer, or not as is known here.
    """
    _ask(pid, "GC.run")
    answer = _ask(pid, "GC.heap_info")
    used = _USED.findall(answer)
    if not used:
        raise RuntimeError(f"process {pid} says of its heap: {answer}")
    return sum(map(int, used)) / 1024


def _ask(pid: int, command: str) -> str:
    path = Path(f"/tmp/.java_pid{pid}")
    if not path.exists():
        _let_listen(pid, path)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_SECONDS)
        connection.connect(str(path))
        connection.sendall(b"".join(f"{text}\0".encode() for text in ("1", "jcmd", command, "", "")))
        chunks = iter(lambda: connection.recv(65_536), b"")
        return b"".join(chunks).decode()


def _let_listen(pid: int, path: Path) -> None:
    wish = Path(f"/proc/{pid}/cwd/.attach_pid{pid}").resolve()
    wish.touch()
    try:
        kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + _SECONDS
        while not path.exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"process {pid} does not listen at {path}")
            time.sleep(0.05)
    finally:
        wish.unlink()
