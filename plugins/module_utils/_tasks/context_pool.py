# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Contexts of workers: each worker has its own caches, and all workers share the sessions."""

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

_Context = TypeVar("_Context")


class ContextPool(Generic[_Context]):
    """Lends each worker a context of its own while the worker is busy with a shard path."""

    def __init__(
        self,
        stores: Sequence[ZnodeStore],
        make: Callable[[Sequence[ZnodeStore], Clock], _Context],
        ending: threading.Event | None,
    ) -> None:
        """Keep the sessions that all contexts share. ``make`` builds a context from stores and a clock.

        ending: if given, stores and clocks of contexts raise Interrupted once the event is set.
        """
        self._stores = stores
        self._make = make
        self._ending = ending
        self._free: SimpleQueue[_Context] = SimpleQueue()

    @contextmanager
    def lend(self) -> Iterator[_Context]:
        """Lend a context to the caller alone. In check mode a context has no writes to other shard paths."""
        try:
            context = self._free.get_nowait()
        except Empty:
            context = self._new()
        yield context
        if not isinstance(self._stores[0], OverlayStore):
            self._free.put(context)

    def _new(self) -> _Context:
        stores, clock = [_own_store(each) for each in self._stores], SystemClock()
        if self._ending is None:
            return self._make(stores, clock)
        interruption = Interruption(self._ending)
        return self._make(
            [InterruptibleStore(each, interruption) for each in stores],
            InterruptibleClock(clock, interruption),
        )


def _own_store(store: ZnodeStore) -> ZnodeStore:
    """Return the store; instead of an overlay, a fresh overlay without remembered writes."""
    return store.fresh() if isinstance(store, OverlayStore) else store
