# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stores of kazoo at a server that accepts a client which has seen more than the server has applied."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Query,
    SetData,
    Unknown,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore, connect
from support.memory.memory import LEADER, MemoryEnsemble, MemoryStore
from support.memory.wire import MULTI, MULTI_READ, SYNC
from support.memory.wire_server import WireServer

BEHIND = 1
STATE = "/State"


class Setup(NamedTuple):
    other: MemoryStore
    """A session of somebody else, with the leader."""
    store: ZooKeeperStore
    server: WireServer

    def reconnect(self, member: int) -> None:
        """Lose all connections, and wait until each client has another one."""
        before = len(self.server.last_zxids)
        count = self.server.reconnect(member)
        deadline = time.monotonic() + 20.0
        while len(self.server.last_zxids) < before + count:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def state(self) -> bytes | None:
        """Read the State."""
        (znode,) = self.store.read([STATE])
        return znode and znode.data


@pytest.fixture
def setup() -> Iterator[Setup]:
    """A State that all members know as HOT, and the leader as COLD; the store is connected to the leader."""
    ensemble = MemoryEnsemble("hot", members=2)
    other = ensemble.open()
    other.commit([(Create(STATE, b"HOT"),)])
    ensemble.settle()
    other.commit([(SetData(STATE, b"COLD", 0),)])
    with WireServer(ensemble, LEADER) as server:
        options = EnsembleOptions("hot", (server.address,), connect_timeout=20.0, operation_timeout=20.0)
        with connect(options) as store:
            server.requests.clear()
            yield Setup(other, store, server)


def test_a_sync_holds_over_the_next_connection(setup: Setup) -> None:
    setup.store.sync("/")
    assert setup.state() == b"COLD"
    setup.reconnect(BEHIND)
    assert setup.state() == b"COLD"
    # The member was told, and took the client nevertheless.
    assert setup.server.last_zxids == [0, 2]
    assert setup.server.requests == [SYNC, MULTI_READ, MULTI_READ, SYNC, MULTI_READ]


def test_nothing_but_the_reads_is_sent_over_one_connection(setup: Setup) -> None:
    setup.store.sync("/")
    for _each in range(3):
        setup.state()
    assert setup.server.requests == [SYNC, *[MULTI_READ] * 3]


def test_an_expired_session_is_replaced_by_one_that_has_seen_nothing(setup: Setup) -> None:
    """So ZooKeeper, too, would let it read from the past."""
    assert setup.state() == b"COLD"
    setup.server.expire(BEHIND)
    assert setup.state() == b"COLD"
    assert setup.server.last_zxids == [0, 0]


@pytest.mark.parametrize("lost", [SYNC, MULTI_READ])
def test_a_connection_that_is_lost_under_way(setup: Setup, lost: int) -> None:
    losses = [lost]

    def lose(kind: int) -> None:
        if kind in losses:
            losses.remove(kind)
            setup.server.reconnect(BEHIND)

    setup.server.on_request = lose
    setup.store.sync("/")
    assert setup.state() == b"COLD"
    assert not losses
    assert setup.server.requests[-2:] == [SYNC, MULTI_READ]


def test_an_answer_before_the_loss_is_not_newer_than_one_after_it(setup: Setup) -> None:
    """The reads of one call, one request each for servers without multiRead."""
    setup.store._multi_read = False
    count = [0]

    def lose(_kind: int) -> None:
        count[0] += 1
        if count[0] == 5:
            setup.server.reconnect(BEHIND)

    setup.server.on_request = lose
    answers = setup.store.ask([Query([STATE])] * 10)
    assert [znode and znode.data for each in answers for znode in each.znodes] == [b"COLD"] * 10


def test_an_own_write_is_read_over_the_next_connection(setup: Setup) -> None:
    assert isinstance(setup.store.commit([(SetData(STATE, b"HOT again", 1),)])[0], Committed)
    setup.reconnect(BEHIND)
    assert setup.state() == b"HOT again"


def test_what_became_of_a_multi_is_read_behind_a_sync(setup: Setup) -> None:
    """The multi is applied for the client, but its answer is lost."""

    def apply_and_lose(kind: int) -> None:
        if kind == MULTI:
            setup.other.commit([(SetData(STATE, b"HOT again", 1),)])
            setup.server.reconnect(BEHIND)

    setup.server.on_request = apply_and_lose
    assert isinstance(setup.store.commit([(SetData(STATE, b"HOT again", 1),)])[0], Unknown)
    assert setup.state() == b"HOT again"


def test_members_are_read_behind_a_sync_of_their_own_connection(setup: Setup) -> None:
    (znode,) = setup.store.read([STATE])
    options = EnsembleOptions(
        "hot", (setup.server.address,), members_complete=True, connect_timeout=20.0, operation_timeout=20.0
    )
    with connect(options) as store:
        (member,) = store.members()
        member.sync("/")
        assert member.read([STATE]) == [znode]
        setup.reconnect(BEHIND)
        assert member.read([STATE]) == [znode]
        assert store.read([STATE]) == [znode]
