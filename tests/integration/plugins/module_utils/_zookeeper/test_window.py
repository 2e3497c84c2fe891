# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests of a store whose operations in flight are limited."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.latency_loop import LatencyLoop
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Outcome,
    Unknown,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.window import (
    LEAST_OPS,
    MOST_OPS,
    ops_of_each,
)
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

from .conftest import StoreMaker

TARGET = 0.5
"""Seconds that a busy machine does not add by itself for long."""
NAMES = [f"/znode-{number:04}" for number in range(1000)]


def limit(store: ZooKeeperStore, ops: int) -> None:
    """Give the store a window that stays as it is."""
    loop = LatencyLoop([0.0], TARGET, ops_of_each(1))
    loop.size = ops
    store.window.follow(loop)


def create_all(store: ZooKeeperStore) -> list[Outcome]:
    return store.commit((Create(name, name.encode()),) for name in NAMES)


def reads_with(store: ZooKeeperStore, more_than: float) -> bool:
    """Read, and return whether requests have more operations now. A window without use would not grow."""
    data_of(store)
    return store.window.ops_at_once > more_than


def packets(ensemble: Ensemble) -> int:
    return int(ensemble.members[0].monitor()["zk_packets_received"])


def data_of(store: ZooKeeperStore, names: Sequence[str] = NAMES) -> list[bytes]:
    return [b"" if znode is None else znode.data for znode in store.read(names)]


def test_the_window_follows_the_latency_of_the_ensemble(
    hot: Ensemble, open_store: StoreMaker, chroot: str
) -> None:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        store = open_store(proxy.address, chroot=chroot, latency_target=TARGET)
        create_all(store)
        wait_for(lambda: reads_with(store, ops_of_each(1).first // 2))
        proxy.slow(4 * TARGET)
        wait_for(lambda: store.window.ops_at_once == LEAST_OPS / 2)
        proxy.slow(0.0)
        wait_for(lambda: reads_with(store, LEAST_OPS))


def test_a_far_ensemble_has_more_in_flight(hot: Ensemble, open_store: StoreMaker, chroot: str) -> None:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        proxy.slow(0.03)
        store = open_store(proxy.address, chroot=chroot, latency_target=TARGET)
        assert store.window._on_the_way == 200


def test_a_store_without_a_target_has_no_limit(store: ZooKeeperStore) -> None:
    assert store.window.ops_at_once >= MOST_OPS


@pytest.mark.parametrize("ops", [1, 64])
def test_a_small_window_makes_small_requests_with_the_same_answers(
    hot: Ensemble, store: ZooKeeperStore, ops: int
) -> None:
    create_all(store)
    limit(store, ops)
    before = packets(hot)

    assert data_of(store) == [name.encode() for name in NAMES]

    requests = packets(hot) - before
    assert requests >= len(NAMES) / max(1, ops // 2)
    children = store.children(["/", *NAMES])
    assert children == [tuple(name[1:] for name in NAMES), *[()] * len(NAMES)]


def test_writes_beyond_the_window_wait_for_answers(store: ZooKeeperStore) -> None:
    limit(store, 2)
    outcomes = create_all(store)
    assert len(outcomes) == len(NAMES)
    assert not any(isinstance(each, Unknown) for each in outcomes)
    assert store.ops_at_once == 1


def test_all_threads_of_a_store_share_a_window(store: ZooKeeperStore) -> None:
    create_all(store)
    limit(store, 1)
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(partial(data_of, store), [NAMES[number::8] for number in range(8)])]
    assert [len(each) for each in answers] == [125] * 8


def test_lost_requests_leave_the_window(hot: Ensemble, open_store: StoreMaker, chroot: str) -> None:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        store = open_store(proxy.address, chroot=chroot)
        create_all(store)
        limit(store, LEAST_OPS)
        for _each in range(10):
            with ThreadPoolExecutor(1) as pool:
                reading = pool.submit(data_of, store)
                proxy.cut()
                proxy.restore()
                assert reading.result(120) == [name.encode() for name in NAMES]


def test_the_connections_to_members_share_the_window(cold: Ensemble, open_store: StoreMaker) -> None:
    store = open_store(*[member.address for member in cold.members])
    assert {id(member.window) for member in store.members()} == {id(store.window)}
