# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads that never go back, over any number of connections.

The requests of one connection are answered in order, so reads right behind a sync are as recent as the sync.
A new connection may be with a member that lags behind. ZooKeeper accepts a client only at members that have
applied all that the client has seen, but an expired session is replaced by a session that has seen nothing,
and ClickHouse Keeper before the end of 2025 accepts every client. So nothing is expected of a new connection:
a sync goes before its first reads.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from .session import LOST, Session
from .sockets import PendingReply
from .wire import Answer, Refuse, Request, Sync, wire_path

_Request = TypeVar("_Request", bound=Request)


class _SentSync(NamedTuple):
    path: str
    reply: PendingReply


class _Reads(Generic[_Request]):
    """Requests without an accepted answer, in order, and the sync sent before them."""

    def __init__(self, sync: _SentSync | None) -> None:
        self.sync = sync
        self.waiting: deque[tuple[_Request, PendingReply]] = deque()


class SyncedReads:
    """Sends syncs and reads over a session, and accepts a read only behind a sync of the same connection.

    The first connection needs no sync of its own: no answer came before it. Thread-safe.
    """

    def __init__(self, session: Session, chroot: str, refuse: Refuse) -> None:
        """``refuse``: raises the error for the path and code of a failed sync."""
        self._session = session
        self._chroot = chroot
        self._refuse = refuse
        self._first_connection = session.breaks
        self._latest: _SentSync | None = None
        self._sending = threading.Lock()

    def sync(self, path: str) -> None:
        """Make all later reads at least as recent as the leader is now. Reads raise its errors.

        Does not wait for the answer. The server syncs whole, whatever the path.
        """
        self._send_sync(path)

    def stream(self, requests: Iterable[_Request], window: int) -> Iterator[tuple[_Request, Answer]]:
        """Send read requests, at most ``window`` unanswered; yield the answers in order.

        No answer is older than the answers before it, the latest sync before it, or an earlier write of the
        session. Reads answered over a new connection without a sync are repeated behind a sync.

        Raises:
            EnsembleUnreachable: no answer within the operation timeout.
            AccessDenied: the identity was rejected after a reconnection.
            EnsembleError: the sync failed.
        """
        # Taken before the first request: syncs of other threads may follow these reads.
        reads: _Reads[_Request] = _Reads(self._latest)
        for request in requests:
            reads.waiting.append((request, self._session.send(request)))
            if len(reads.waiting) == window:
                yield self._next(reads)
        while reads.waiting:
            yield self._next(reads)

    def _next(self, reads: _Reads[_Request]) -> tuple[_Request, Answer]:
        """Return the first request and its accepted answer."""
        deadline = time.monotonic() + self._session.operation_timeout
        while True:
            request, reply = reads.waiting[0]
            answer = self._session.wait(reply, deadline)
            self._session.check_identity(answer)
            if answer.error not in LOST and reply.connection == self._synced_connection(reads.sync, deadline):
                reads.waiting.popleft()
                return request, answer
            self._session.require_connection(deadline)
            # All in order, also answered ones: a lost request alone would be answered after its successors.
            reads.sync = self._send_sync("/")
            reads.waiting = deque((each, self._session.send(each)) for each, _reply in reads.waiting)

    def _synced_connection(self, sync: _SentSync | None, deadline: float) -> int | None:
        """Return the connection whose reads are as recent as the sync; None if the sync was lost."""
        if sync is None:
            return self._first_connection
        answer = self._session.wait(sync.reply, deadline)
        if answer.error in LOST:
            return None
        if answer.error:
            self._refuse(sync.path, answer.error)
        return sync.reply.connection

    def _send_sync(self, path: str) -> _SentSync:
        request = Sync(wire_path(self._chroot, path))
        # Without the lock, an earlier sync could become the latest, and the error of the later would be lost.
        with self._sending:
            self._latest = _SentSync(path, self._session.send(request))
            return self._latest
