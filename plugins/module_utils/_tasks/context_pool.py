# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each worker works with: its own of what remembers, and all of them the same sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from .._partmove.tree.interruption import InterruptibleClock, InterruptibleStore, Interruption
from .._partmove.tree.overlay import OverlayStore
from .._partmove.tree.ports import Clock, ZnodeStore
from .resources import SystemClock

_World = TypeVar("_World")


class ContextPool(Generic[_World]):
    """Lends a context to whoever works on a shard path."""

    def __init__(
        self,
        stores: Sequence[ZnodeStore],
        make: Callable[[Sequence[ZnodeStore], Clock], _World],
        ending: threading.Event | None,
    ) -> None:
        """Take the stores that ``make`` is given for each context, as they are lent.

        With ``ending`` what is lent raises Interrupted when the run is about to end.
        """
        self._stores = stores
        self._make = make
        self._ending = ending
        self._free: SimpleQueue[_World] = SimpleQueue()

    @contextmanager
    def one(self) -> Iterator[_World]:
        """A context that nobody else has; in check mode one that knows of no other shard path."""
        try:
            context = self._free.get_nowait()
        except Empty:
            context = self._new()
        yield context
        if not isinstance(self._stores[0], OverlayStore):
            self._free.put(context)

    def _new(self) -> _World:
        stores, clock = [_apart(each) for each in self._stores], SystemClock()
        if self._ending is None:
            return self._make(stores, clock)
        interruption = Interruption(self._ending)
        return self._make(
            [InterruptibleStore(each, interruption) for each in stores],
            InterruptibleClock(clock, interruption),
        )


def _apart(store: ZnodeStore) -> ZnodeStore:
    """The store; where it only remembers what is written, one that has nothing to remember yet."""
    return store.fresh() if isinstance(store, OverlayStore) else store
