# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pipelined multis over one connection."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from .._partmove.tree.znodes import Outcome, Unknown
from .session import LOST, Session
from .wire import NOT_SENT, MultiWrite

MULTIS_IN_FLIGHT = 8
BYTES_IN_FLIGHT = 2 * 1024 * 1024


class MultiSender:
    """Sends a series of multis in order, all over one connection.

    A later multi may depend on an earlier one. After a lost connection, or a missing answer, the result of
    earlier multis is unknown: nothing more is sent, not even requests already queued in kazoo.
    """

    def __init__(self, session: Session, timeout: float) -> None:
        """``timeout``: seconds to wait for a connection, and for each answer."""
        self._session = session
        self._timeout = timeout
        self._breaks = 0
        self._deadline = 0.0
        self._stopped = False
        self._waiting: deque[tuple[MultiWrite, Any]] = deque()
        self._bytes = 0

    def run(self, multis: Iterable[tuple[bytes, int]]) -> list[Outcome]:
        """Send the multis; return one outcome for each, in order. Consumes the iterable lazily.

        multis: the payload of each multi, and the number of its operations.
        """
        outcomes: list[Outcome] = []
        unsent: list[Outcome] = []
        self._deadline = time.monotonic() + self._timeout
        self._stopped = not self._session.wait_connected(self._deadline)
        self._breaks = self._session.breaks
        for payload, ops in multis:
            while self._waiting and self._full(len(payload)):
                outcomes.append(self._next_outcome())
            if not self._may_send():
                unsent.append(Unknown(NOT_SENT))
                continue
            request = MultiWrite(payload, self._may_send, ops)
            self._waiting.append((request, self._session.send(request)))
            self._bytes += len(payload)
        while self._waiting:
            outcomes.append(self._next_outcome())
        return outcomes + unsent

    def _full(self, size: int) -> bool:
        return len(self._waiting) == MULTIS_IN_FLIGHT or self._bytes + size > BYTES_IN_FLIGHT

    def _may_send(self) -> bool:
        return not self._stopped and self._session.breaks == self._breaks

    def _next_outcome(self) -> Outcome:
        request, result = self._waiting.popleft()
        self._bytes -= request.size
        if not self._stopped:
            self._deadline = time.monotonic() + self._timeout
        answer = self._session.wait(result, self._deadline)
        if answer.error in LOST:
            self._stopped = True
        return request.decode(answer)
