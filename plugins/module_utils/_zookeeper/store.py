# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Store of an ensemble: reads, multis, and direct connections to all members."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import inf

from .._partmove.errors import EnsembleError
from .._partmove.tree.multi_batches import MAX_OPS
from .._partmove.tree.znodes import Multi, Outcome, Unknown
from .commit import MultiSender
from .members import close_all, connect_members
from .options import EnsembleOptions
from .reader import Reader
from .session import Session
from .watch import EnsembleWatch
from .wire import NO_NODE, Exists, MultiEncoder, wire_path


def connect(options: EnsembleOptions) -> ZooKeeperStore:
    """Connect to an ensemble, and measure its latency all the time if the options have a target for it.

    Raises:
        PartMoveError: a Python package is missing or too old.
        EnsembleUnreachable: no host answered within the connect timeout.
        AccessDenied: the identity was rejected.
        EnsembleError: the chroot does not exist.
    """
    store = ZooKeeperStore(options, Session(options, options.label))
    try:
        store.check_chroot()
        if options.latency_target:
            store.follow_latency(options.latency_target)
    except BaseException:
        store.close()
        raise
    return store


class ZooKeeperStore(Reader):
    """Implements ZnodeStore; created by `connect`."""

    def __init__(self, options: EnsembleOptions, session: Session) -> None:
        super().__init__(options, session)
        self._encoder = MultiEncoder(options.chroot, authenticated=bool(options.auth_scheme))
        self._members: tuple[Reader, ...] | None = None
        self._connecting = threading.Lock()
        self._watch: EnsembleWatch | None = None

    @property
    def chroot(self) -> str:
        """Chroot of the connection, ``""`` for none."""
        return self._options.chroot

    @property
    def addresses(self) -> tuple[str, ...]:
        """Configured ``host:port`` of each member."""
        return self._options.hosts

    @property
    def session_id(self) -> int:
        """Id of the current session; changes after an expiry."""
        return self._session.session_id

    @property
    def ops_at_once(self) -> int:
        """Operations that a multi should have at most now."""
        return min(MAX_OPS, self.window.ops_at_once)

    def follow_latency(self, target: float) -> None:
        """Limit the operations in flight so that they add ``target`` seconds to the latency of others.

        Errors as in `Session`.
        """
        self._watch = EnsembleWatch(self._options, inf, members=False, window=self.window, target=target)

    def check_chroot(self) -> None:
        """Reject a missing chroot: everything below it would seem empty."""
        error = self._session.ask(Exists(wire_path(self.chroot, "/"))).error
        if error and error != NO_NODE:
            self._refuse("/", error)
        if error:
            raise EnsembleError(
                f"The chroot {self.chroot} does not exist in ensemble {self.name}",
                remedy="Correct the chroot, or create its znode if this ensemble is meant to be new",
            )

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Send the multis in order, several in flight; return one outcome for each, in order.

        Uses one connection: after its loss, or a missing answer, nothing more is sent. After an unknown
        outcome, reads show whether the multi was applied.

        Raises:
            PartMoveError: a multi exceeds the limits of wire.py; earlier multis may have been applied.
        """
        commit = MultiSender(self._session, self._options.operation_timeout)
        outcomes = commit.run((self._encoder.encode(multi), len(multi)) for multi in multis)
        if any(isinstance(outcome, Unknown) for outcome in outcomes):
            # The answer may come late, or never, over a connection that is not lost.
            self.sync("/")
        return outcomes

    def members(self) -> tuple[Reader, ...]:
        """Return direct connections to all members; connects at the first call.

        Raises:
            EnsembleUnreachable: a member does not answer.
            EnsembleError: hosts and members differ.
        """
        # Without the lock, concurrent calls would leak the connections of one thread.
        with self._connecting:
            if self._members is None:
                self._members = connect_members(self, self._options)
            return self._members

    def close(self) -> None:
        """End the sessions with the members and with the ensemble."""
        if self._watch is not None:
            self._watch.close()
        close_all(self._members or ())
        self._members = None
        super().close()
