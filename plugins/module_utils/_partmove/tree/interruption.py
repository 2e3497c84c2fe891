# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ends a run that works on several shard paths at once: after a failure, all threads stop."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .delegating import DelegatingStore
from .ports import Clock, ZnodeReader, ZnodeStore
from .znodes import Query, QueryAnswer, Znode


class Interrupted(BaseException):
    """The run ends for a reason outside of this shard path."""


class Interruption:
    """Raises Interrupted once after the run began to end.

    Later checks do not raise, so that cleanup, such as the release of a lock, runs to its end. Every shard
    path has an Interruption of its own.

    ending: is set when the run begins to end.
    """

    def __init__(self, ending: threading.Event) -> None:
        self.ending = ending
        self._was_raised = False

    def check(self) -> None:
        """Raise Interrupted on the first call after the run began to end."""
        if self.ending.is_set() and not self._was_raised:
            self._was_raised = True
            raise Interrupted("The run was ended; run again to go on.")


class InterruptibleStore(DelegatingStore):
    """A store that checks for an interruption before each read.

    Writes are not interrupted: a caller would have to report a multi as not sent.
    """

    def __init__(self, store: ZnodeStore, interruption: Interruption) -> None:
        super().__init__(store)
        self._interruption = interruption

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read data and stat of each path."""
        self._interruption.check()
        return super().read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """List the names of the children of each path, sorted."""
        self._interruption.check()
        return super().children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Answer each query, in order."""
        self._interruption.check()
        return super().ask(queries)

    def sync(self, path: str) -> None:
        """Wait until the server of the session has caught up."""
        self._interruption.check()
        super().sync(path)

    def members(self) -> Sequence[ZnodeReader]:
        """Return a direct connection to each member."""
        self._interruption.check()
        return super().members()


class InterruptibleClock:
    """Implements Clock; a sleep ends early when the run begins to end."""

    def __init__(self, clock: Clock, interruption: Interruption) -> None:
        self._clock = clock
        self._interruption = interruption

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Wait for the seconds, or until the run begins to end. Raises Interrupted."""
        self._interruption.check()
        self._interruption.ending.wait(seconds)
        self._interruption.check()
