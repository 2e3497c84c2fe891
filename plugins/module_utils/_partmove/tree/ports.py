# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Protocols through which the domain reads and writes ZooKeeper and reads the time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .znodes import Multi, Outcome, Query, QueryAnswer, Znode


class ZnodeReader(Protocol):
    """Reads through one session, either with an ensemble or with a single member.

    Paths are absolute below the chroot of the connection. After a lost connection, reads are retried until
    the operation timeout, behind a sync: no read is older than an earlier read or an earlier write of the
    session, whatever member answers. All reads raise:

    - EnsembleUnreachable after the operation timeout;
    - AccessDenied if the identity may not read a znode.
    """

    @property
    def name(self) -> str:
        """``hot``, ``cold`` or the address of a member, for messages."""

    @property
    def server_id(self) -> int:
        """The id (``myid``) of the server that opened the session."""

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read data and stat of each path, in order; None for a missing znode.

        absolute: read without the chroot, for paths such as ``/zookeeper/config``.
        """

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """List the names of the children of each path, sorted; None for a missing znode."""

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Answer each query, in order, in as few requests as possible.

        No answer is older than an earlier answer of the same call.
        """

    def sync(self, path: str) -> None:
        """Make all later reads at least as recent as the leader is now, over later connections, too.

        If the ensemble cannot sync, either this call or the next read raises.
        """


class ZnodeStore(ZnodeReader, Protocol):
    """Reads and writes through one session with an ensemble."""

    @property
    def chroot(self) -> str:
        """The chroot of the connection, ``""`` for none."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The configured ``host:port`` of each member, unchanged."""

    @property
    def session_id(self) -> int:
        """The id of the current session; changes after an expiry."""

    @property
    def ops_at_once(self) -> int:
        """Operations that a multi should have at most now, so that others need not wait for it."""

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Send the multis in order, several in flight, and return one outcome each, in order.

        Consumes the iterable lazily, so that multis are built while earlier ones are in flight, and always to
        its end, even after an error. Never retries: the caller has to check the effect of an Unknown outcome,
        which later reads show.
        """

    def members(self) -> Sequence[ZnodeReader]:
        """Return a direct connection to each member. Raises EnsembleUnreachable, which names the member."""


class Clock(Protocol):
    """The current time and sleep, replaceable in tests."""

    def now(self) -> float:
        """Return the seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Wait for the seconds."""
