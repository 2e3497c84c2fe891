# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Numbers the requests that a run sends to both ensembles, and stops it at one of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from support.servers.proxy import Action, Trap, ZooKeeperProxy, operation

_POLL_SECONDS = 0.01
_OVERHEAD = frozenset({11, 100, 101, -11})
"""Operation codes of ping, authentication, watches and the end of a session."""


class Stop(NamedTuple):
    """Where a run was stopped."""

    proxy: ZooKeeperProxy
    trap: Trap


class Wire:
    """Counts the requests that pass the proxies since `arm`, whatever session they belong to.

    A run reads and writes over several connections: that with each ensemble, and one with each member.
    """

    def __init__(self, proxies: Sequence[ZooKeeperProxy]) -> None:
        """`proxies`: all ways that a run has to an ensemble."""
        self._proxies = proxies
        self._lock = threading.Lock()
        self._count = 0
        self._number: int | None = None
        self._traps: list[Trap] = []

    @property
    def count(self) -> int:
        """How many requests have passed."""
        return self._count

    def arm(self, number: int | None, action: Action = Action.HOLD) -> None:
        """Count from 0 on, and act on the request of that number; None: on none."""
        self.disarm()
        with self._lock:
            self._count, self._number = 0, number
        self._traps = [proxy.trap(self._is_it, action) for proxy in self._proxies]

    def wait(self, is_over: Callable[[], bool]) -> Stop | None:
        """Wait until the request has come, or nothing more comes."""
        while True:
            over = is_over()
            for proxy, trap in zip(self._proxies, self._traps, strict=True):
                if trap.sprung:
                    return Stop(proxy, trap)
            if over:
                return None
            time.sleep(_POLL_SECONDS)

    def disarm(self) -> None:
        """Act on nothing any more; what is held may go on."""
        with self._lock:
            self._number = None
        for proxy in self._proxies:
            proxy.clear()
        for trap in self._traps:
            trap.release()
        self._traps = []

    def _is_it(self, request: bytes) -> bool:
        if operation(request) in _OVERHEAD:
            return False
        with self._lock:
            self._count += 1
            return self._number is not None and self._count - 1 == self._number
