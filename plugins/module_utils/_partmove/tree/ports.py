# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the domain asks of the context around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from .znodes import Multi, Outcome, Query, QueryAnswer, Znode


class ZnodeReader(Protocol):
    """Reads through one session: with an ensemble, or with one member of it.

    Paths are absolute below the chroot of the connection. Reads are retried over a lost connection
    until the operation timeout, then raise EnsembleUnreachable; a znode that the identity may not
    read raises AccessDenied.
    """

    @property
    def name(self) -> str:
        """``hot``, ``cold`` or the address of a member, for messages."""

    @property
    def server_id(self) -> int:
        """The id (``myid``) of the server that opened the session."""

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Data and stat of each path, in order; None where there is no znode.

        With ``absolute`` the chroot is not applied (for ``/zookeeper/config`` and the like).
        """

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Names of the children of each path, sorted; None where there is no znode."""

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """The answers to each query, in order, in as few requests as they fit.

        No answer is older than one that comes before it.
        """

    def sync(self, path: str) -> None:
        """Let all that is read from now on be no older than what the leader has committed by now.

        Where the ensemble cannot do that, this raises, or the next read does.
        """


class ZnodeStore(ZnodeReader, Protocol):
    """Reads and writes through one session with an ensemble."""

    @property
    def chroot(self) -> str:
        """The chroot of the connection, ``""`` for none."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """The ``host:port`` of each member the connection was given, as given."""

    @property
    def session_id(self) -> int:
        """The session in use now; a new one after an expiry."""

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Send the multis, several in flight, in order; one outcome each, in order.

        All of them are taken, each when it is to be sent, so that they may be made meanwhile; also those that
        are not sent any more. Never retries: an Unknown outcome is for the caller to find out about.
        """

    def members(self) -> Sequence[ZnodeReader]:
        """A direct connection to each member; EnsembleUnreachable names one that does not answer."""


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """The time in seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
