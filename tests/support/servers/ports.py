# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Loopback ports that no two servers of the harness share."""

from __future__ import annotations

import fcntl
import os
import random
import socket
from pathlib import Path

# Below the range the kernel gives to outgoing connections (32768 and up), so that a client
# of one server can never hold the port that another server is about to be restarted on.
FIRST_PORT = 20_000
LAST_PORT = 32_000

# Not below TMPDIR, which a test may set for what it starts: all have to see each other's locks.
_LOCKS_DIR = Path("/tmp") / f"olap-partmove-ports-{os.getuid()}"


class NoFreePortError(RuntimeError):
    """Every port of the harness' range is taken."""


class ReservedPorts:
    """Ports of 127.0.0.1 held for one owner until `release`.

    A file lock for each port keeps other test processes away even while the server that uses
    the port is stopped; the kernel drops the locks of a process that dies.
    """

    def __init__(self) -> None:
        """Start with no port held."""
        self._held: dict[int, int] = {}

    def take(self) -> int:
        """Reserve one more port.

        Raises:
            NoFreePortError: no port between FIRST_PORT and LAST_PORT is free.
        """
        _LOCKS_DIR.mkdir(mode=0o700, exist_ok=True)
        candidates = list(range(FIRST_PORT, LAST_PORT))
        random.shuffle(candidates)
        for port in candidates:
            lock = _try_lock(port)
            if lock is not None:
                self._held[port] = lock
                return port
        raise NoFreePortError(
            f"every port from {FIRST_PORT} to {LAST_PORT} is in use: stop the servers of earlier runs"
        )

    def release(self) -> None:
        """Give all ports back; calling it again does nothing."""
        while self._held:
            _port, lock = self._held.popitem()
            os.close(lock)


def _try_lock(port: int) -> int | None:
    """Return the descriptor of the locked file, or None when the port is not free."""
    descriptor = os.open(_LOCKS_DIR / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
