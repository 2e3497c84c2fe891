# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Contexts of workers: each worker has its own, and in check mode a context has no remembered writes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.run import MoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.interruption import Interrupted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import Clock, ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create
from ansible_collections.olap.partmove.plugins.module_utils._tasks.context_pool import ContextPool
from support.memory.bench import Bench

WORKERS, TIMES = 8, 2_000


def make(
    bench: Bench, *, check_mode: bool = False, ending: threading.Event | None = None
) -> ContextPool[MoveContext]:
    """Return contexts over the ensembles of the bench."""

    def context(stores: Sequence[ZnodeStore], clock: Clock) -> MoveContext:
        hot, cold = stores
        return bench.context._replace(hot=hot, cold=cold, clock=clock)

    if check_mode:
        overlays = OverlayStore(bench.hot_store, bench.clock), OverlayStore(bench.cold_store, bench.clock)
        return ContextPool(overlays, context, ending)
    return ContextPool((bench.hot_store, bench.cold_store), context, ending)


@pytest.fixture
def often() -> Iterator[None]:
    """Let Python go from thread to thread as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_returned_context_is_lent_again() -> None:
    contexts = make(Bench())
    with contexts.lend() as first, contexts.lend() as second:
        assert first is not second
    with contexts.lend() as third:
        assert third is first or third is second


@pytest.mark.usefixtures("often")
def test_no_thread_has_the_context_of_another_thread() -> None:
    contexts = make(Bench())
    lent: set[int] = set()
    guard = threading.Lock()

    def borrow(_worker: int) -> None:
        for _time in range(TIMES):
            with contexts.lend() as context:
                with guard:
                    assert id(context) not in lent
                    lent.add(id(context))
                with guard:
                    lent.remove(id(context))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(borrow, range(WORKERS)))


def test_in_check_mode_a_shard_path_sees_no_writes_to_another() -> None:
    contexts = make(Bench(), check_mode=True)
    with contexts.lend() as first:
        first.hot.commit([(Create("/remembered", b""),)])
        assert first.hot.read(["/remembered"]) != [None]
    with contexts.lend() as second:
        assert second.hot.read(["/remembered"]) == [None]


def test_lent_contexts_raise_once_the_run_ends() -> None:
    ending = threading.Event()
    with make(Bench(), ending=ending).lend() as lent:
        lent.hot.sync("/")
        ending.set()
        with pytest.raises(Interrupted):
            lent.cold.sync("/")
