# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lets a run end that works on several shard paths at once: none of them goes on when one has failed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from .delegating import DelegatingStore
from .ports import Clock, ZnodeReader, ZnodeStore
from .znodes import Query, QueryAnswer, Znode


class Interrupted(BaseException):
    """The run ends, though not for anything that this shard path did."""


class Interruption:
    """Raises Interrupted, once for whoever has it, when the run is about to end.

    Only once, so that what is done on the way out, such as giving a lock back, is done.
    """

    def __init__(self, ending: threading.Event) -> None:
        self.ending = ending
        self._was_raised = False

    def check(self) -> None:
        """Raise Interrupted where that is due."""
        if self.ending.is_set() and not self._was_raised:
            self._was_raised = True
            raise Interrupted("The run was ended; run again to go on.")


class InterruptibleStore(DelegatingStore):
    """A store that can be interrupted before each of its reads.

    Not before a write: whoever is about to write would have to tell that nothing was written.
    """

    def __init__(self, store: ZnodeStore, interruption: Interruption) -> None:
        super().__init__(store)
        self._interruption = interruption

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Data and stat of each path."""
        self._interruption.check()
        return super().read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Names of the children of each path, sorted."""
        self._interruption.check()
        return super().children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """The answers to each query, in order."""
        self._interruption.check()
        return super().ask(queries)

    def sync(self, path: str) -> None:
        """Wait until the server of the session has caught up."""
        self._interruption.check()
        super().sync(path)

    def members(self) -> Sequence[ZnodeReader]:
        """A direct connection to each member."""
        self._interruption.check()
        return super().members()


class InterruptibleClock:
    """Implements Clock; a sleep ends where the run does."""

    def __init__(self, clock: Clock, interruption: Interruption) -> None:
        self._clock = clock
        self._interruption = interruption

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds, or until the run is about to end."""
        self._interruption.check()
        self._interruption.ending.wait(seconds)
        self._interruption.check()
