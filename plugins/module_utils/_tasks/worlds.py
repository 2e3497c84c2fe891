# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each worker works with: its own of what remembers, and all of them the same sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from .._partmove.move.run import World
from .._partmove.tree.interruption import InterruptibleClock, InterruptibleStore, Interruption
from .._partmove.tree.overlay import OverlayStore
from .._partmove.tree.ports import Clock, ZnodeStore
from .resources import SystemClock

MakeWorld = Callable[[ZnodeStore, ZnodeStore, Clock], World]


class Worlds:
    """Lends a world to whoever works on a shard path."""

    def __init__(
        self, hot: ZnodeStore, cold: ZnodeStore, make: MakeWorld, ending: threading.Event | None
    ) -> None:
        """With ``ending`` what is lent raises Interrupted when the run is about to end."""
        self._hot = hot
        self._cold = cold
        self._make = make
        self._ending = ending
        self._free: SimpleQueue[World] = SimpleQueue()

    @contextmanager
    def one(self) -> Iterator[World]:
        """A world that nobody else has; in check mode one that knows of no other shard path."""
        world = self._given_back() or self._new()
        yield world
        if not isinstance(self._hot, OverlayStore):
            self._free.put(world)

    def _given_back(self) -> World | None:
        try:
            return self._free.get_nowait()
        except Empty:
            return None

    def _new(self) -> World:
        hot, cold, clock = _apart(self._hot), _apart(self._cold), SystemClock()
        if self._ending is None:
            return self._make(hot, cold, clock)
        interruption = Interruption(self._ending)
        return self._make(
            InterruptibleStore(hot, interruption),
            InterruptibleStore(cold, interruption),
            InterruptibleClock(clock, interruption),
        )


def _apart(store: ZnodeStore) -> ZnodeStore:
    """The store; where it only remembers what is written, one that has nothing to remember yet."""
    return store.apart() if isinstance(store, OverlayStore) else store
