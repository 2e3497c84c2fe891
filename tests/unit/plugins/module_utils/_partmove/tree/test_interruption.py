# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Interruption of a run: threads stop, and can still clean up."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.interruption import (
    Interrupted,
    InterruptibleClock,
    InterruptibleStore,
    Interruption,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Query,
)
from support.memory.memory import ManualClock, MemoryEnsemble

OPERATIONS: list[Callable[[InterruptibleStore], object]] = [
    lambda store: store.read(["/"]),
    lambda store: store.children(["/"]),
    lambda store: store.ask([Query(["/"])]),
    lambda store: store.sync("/"),
    lambda store: store.members(),
]


@pytest.mark.parametrize("operate", OPERATIONS, ids=["read", "children", "ask", "sync", "members"])
def test_each_read_can_be_interrupted_once(operate: Callable[[InterruptibleStore], object]) -> None:
    """Only once: cleanup releases the lock and removes prepared znodes."""
    ensemble = MemoryEnsemble("hot")
    ending = threading.Event()
    store = InterruptibleStore(ensemble.open(), Interruption(ending))
    store.sync("/")
    ending.set()

    with pytest.raises(Interrupted):
        operate(store)

    operate(store)


def test_a_write_is_not_interrupted() -> None:
    """A switch that is not sent would be reported as a switch with a lost answer."""
    ensemble = MemoryEnsemble("hot")
    ending = threading.Event()
    store = InterruptibleStore(ensemble.open(), Interruption(ending))
    ending.set()

    assert store.commit([(Create("/new", b""),)]) == [Committed()]
    with pytest.raises(Interrupted):
        store.sync("/")


def test_a_sleep_ends_with_the_run() -> None:
    ending = threading.Event()
    base = ManualClock()
    clock = InterruptibleClock(base, Interruption(ending))
    clock.sleep(0)
    assert clock.now() == base.now()
    alarm = threading.Timer(0.05, ending.set)
    alarm.start()
    with pytest.raises(Interrupted):
        clock.sleep(3600)
    alarm.join()
