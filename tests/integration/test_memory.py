# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The overlay of check mode, and the ensembles in memory, answer as a real ensemble does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    Delete,
    Multi,
    Op,
    Outcome,
    Query,
    Rejected,
    SetData,
    Znode,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions as ConnectionOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import (
    ZooKeeperStore,
    connect as open_store,
)
from support.memory.memory import ManualClock, MemoryEnsemble
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.zookeeper import Ensemble

PATHS = ("/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f")

paths = st.sampled_from(PATHS)
versions = st.sampled_from((0, 0, 0, 1, 2))
data = st.binary(max_size=3)
operations: st.SearchStrategy[Op] = st.one_of(
    st.builds(Create, paths, data, st.sampled_from((False, False, False, True))),
    st.builds(SetData, paths, data, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
# Mostly of one operation, or else next to nothing would ever be there.
multis: st.SearchStrategy[Multi] = st.one_of(
    st.builds(Create, paths, data).map(lambda op: (op,)),
    st.builds(Delete, paths, st.just(0)).map(lambda op: (op,)),
    st.lists(operations, min_size=1, max_size=5).map(tuple),
)
batches = st.lists(st.lists(multis, min_size=1, max_size=4), min_size=1, max_size=6)

ROOTS = (f"/{number}" for number in count())
EXAMPLES = settings(
    max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


class Seen(NamedTuple):
    """What is compared of a znode; its transactions as numbers in the order of their first appearance."""

    data: bytes
    version: int
    ephemeral: bool
    data_length: int
    num_children: int
    cversion: int
    children: tuple[str, ...] | None
    created_and_written: tuple[int, int]


class Real(NamedTuple):
    """A session with an ensemble of servers."""

    store: ZooKeeperStore
    is_keeper: bool


@pytest.fixture(params=[False, True], ids=["zookeeper", "keeper"])
def real(
    request: pytest.FixtureRequest, hot: Ensemble, connect: Callable[[str], KazooClient], base: str
) -> Iterator[Real]:
    """A session with a real ZooKeeper, or with the stand-in for Keeper."""
    with ExitStack() as stack:
        ensemble = stack.enter_context(KeeperStandIn()) if request.param else hot
        yield Real(stack.enter_context(_opened(ensemble.connect_string, connect, base)), request.param)


@pytest.fixture
def zookeeper(hot: Ensemble, connect: Callable[[str], KazooClient], base: str) -> Iterator[ZooKeeperStore]:
    with _opened(hot.connect_string, connect, base) as store:
        yield store


def _opened(hosts: str, connect: Callable[[str], KazooClient], base: str) -> ZooKeeperStore:
    connect(hosts).create(base)
    return open_store(ConnectionOptions("hot", (hosts,), chroot=base))


def below(root: str, multi: Multi) -> Multi:
    return tuple(op._replace(path=f"{root}{op.path}") for op in multi)


def told(outcomes: list[Outcome]) -> list[object]:
    """All of the outcomes but the error codes, which an overlay does not have."""
    return [each._replace(code=0) if isinstance(each, Rejected) else each for each in outcomes]


def seen(store: ZnodeStore, root: str) -> dict[str, Seen]:
    every = [root, *(f"{root}{path}" for path in PATHS)]
    numbers: dict[int, int] = {}

    def of(znode: Znode, children: tuple[str, ...] | None) -> Seen:
        stat = znode.stat
        created, written = (numbers.setdefault(zxid, len(numbers)) for zxid in (stat.czxid, stat.mzxid))
        return Seen(
            znode.data,
            stat.version,
            bool(stat.ephemeral_owner) and stat.ephemeral_owner == store.session_id,
            stat.data_length,
            stat.num_children,
            stat.cversion,
            children,
            (created, written),
        )

    found = [*zip(store.read(every), store.children(every), strict=True)]
    asked = store.ask([Query(every[:1], every), Query(), Query(every[1:])])
    assert [*asked[0].znodes, *asked[2].znodes] == [znode for znode, _children in found]
    assert asked[0].children == [children for _znode, children in found]
    assert asked[1] == ([], [])
    return {znode.path: of(znode, children) for znode, children in found if znode is not None}


@EXAMPLES
@given(batches=batches)
def test_memory_answers_as_servers(real: Real, batches: list[list[Multi]]) -> None:
    root = next(ROOTS)
    memory = MemoryEnsemble("memory").open()
    memory.ensemble.history.is_keeper = real.is_keeper
    for store in (real.store, memory):
        store.commit([(Create(root, b""),)])

    for batch in batches:
        commits = [below(root, multi) for multi in batch]
        assert told(memory.commit(commits)) == told(real.store.commit(commits))
        assert seen(memory, root) == seen(real.store, root)


@EXAMPLES
@given(first=batches, later=batches)
def test_an_overlay_sees_its_writes_over_what_is_really_there(
    zookeeper: ZooKeeperStore, first: list[list[Multi]], later: list[list[Multi]]
) -> None:
    real = zookeeper
    root, overlay = next(ROOTS), OverlayStore(real, ManualClock())
    memory = MemoryEnsemble("memory").open()
    for store in (real, memory):
        store.commit([(Create(root, b""),)])
        for batch in first:
            store.commit([below(root, multi) for multi in batch])
    before = seen(real, root)

    for batch in later:
        commits = [below(root, multi) for multi in batch]
        assert told(overlay.commit(commits)) == told(memory.commit(commits))
        assert seen(overlay, root) == seen(memory, root)

    assert seen(real, root) == before
