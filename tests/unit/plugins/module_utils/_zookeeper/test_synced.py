# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads over connections with members that are behind what the client has seen, and accept it all the same.

Member 0 is the leader, member 1 knows nothing that it was not asked to.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    EnsembleUnreachable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Query,
    SetData,
    Unknown,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.reader import MAX_READS, Reader
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    AUTH_FAILED,
    CONNECTION_LOSS,
    REQUEST_TIMEOUT,
)
from support.memory.connections import MemorySession, open_store
from support.memory.memory import LEADER, MemoryEnsemble, MemoryStore
from support.memory.wire import MULTI, MULTI_READ, SYNC

BEHIND = 1
STATE = "/State"
MANY = [f"/n{number}" for number in range(8 * MAX_READS)]


class Setup(NamedTuple):
    ensemble: MemoryEnsemble
    other: MemoryStore
    """A session of somebody else, with the leader."""
    store: ZooKeeperStore
    session: MemorySession

    def write(self, data: bytes) -> None:
        """Let somebody else write the State."""
        (znode,) = self.other.read([STATE])
        assert znode is not None
        assert self.other.commit_one((SetData(STATE, data, znode.stat.version),)) == Committed(
            self.ensemble.history.last
        )

    def state(self) -> bytes | None:
        """Read the State."""
        (znode,) = self.store.read([STATE])
        return znode and znode.data


@pytest.fixture
def setup() -> Setup:
    """A State HOT that both members know, and a store that is connected to the leader."""
    ensemble = MemoryEnsemble("hot", members=2)
    other = ensemble.open()
    other.commit([(Create(STATE, b"HOT"),)])
    ensemble.settle()
    return Setup(ensemble, other, *open_store(ensemble, LEADER))


def test_a_sync_that_was_answered_holds_over_the_next_connection(setup: Setup) -> None:
    setup.write(b"COLD")
    setup.store.sync("/")
    assert setup.state() == b"COLD"
    setup.session.reconnect(BEHIND)
    assert setup.state() == b"COLD"
    assert setup.session.requests == [SYNC, MULTI_READ, MULTI_READ, SYNC, MULTI_READ]


def test_a_sync_holds_over_many_connections(setup: Setup) -> None:
    setup.store.sync("/")
    for data in (b"1", b"2", b"3"):
        setup.write(data)
        setup.session.reconnect(LEADER)
        assert setup.state() == data
        setup.session.reconnect(BEHIND)
        assert setup.state() == data


def test_one_sync_serves_all_reads_of_a_connection(setup: Setup) -> None:
    setup.session.reconnect(BEHIND)
    setup.state()
    setup.session.requests.clear()
    for _each in range(3):
        setup.state()
    assert setup.session.requests == [MULTI_READ] * 3


def test_a_sync_costs_one_request_without_a_reconnection(setup: Setup) -> None:
    setup.store.sync("/")
    for _each in range(3):
        setup.state()
    assert setup.session.requests == [SYNC, *[MULTI_READ] * 3]


def test_a_first_read_needs_no_sync(setup: Setup) -> None:
    assert setup.state() == b"HOT"
    assert setup.session.requests == [MULTI_READ]


def test_a_sync_whose_answer_is_lost_is_repeated(setup: Setup) -> None:
    setup.write(b"COLD")
    setup.session.before_answer[0] = lambda: setup.session.reconnect(BEHIND)
    setup.store.sync("/")
    assert setup.state() == b"COLD"
    assert setup.session.requests == [SYNC, MULTI_READ, SYNC, MULTI_READ]


def test_a_read_that_is_lost_is_repeated_behind_a_sync(setup: Setup) -> None:
    """The sync was answered over the connection that is lost before the read is."""
    setup.write(b"COLD")
    setup.session.before_answer[1] = lambda: setup.session.reconnect(BEHIND)
    setup.store.sync("/")
    assert setup.state() == b"COLD"
    assert setup.session.requests == [SYNC, MULTI_READ, SYNC, MULTI_READ]


def test_a_reconnection_while_the_sync_is_repeated(setup: Setup) -> None:
    setup.write(b"COLD")
    setup.store.sync("/")
    setup.session.before_answer[0] = lambda: setup.session.reconnect(LEADER)
    setup.session.before_answer[1] = lambda: setup.session.reconnect(BEHIND)
    assert setup.state() == b"COLD"


def test_an_own_write_is_read_after_a_reconnection(setup: Setup) -> None:
    (outcome,) = setup.store.commit([(SetData(STATE, b"COLD", 0),)])
    assert isinstance(outcome, Committed)
    setup.session.reconnect(BEHIND)
    assert setup.state() == b"COLD"


def test_what_was_read_once_is_not_taken_back_without_any_sync(setup: Setup) -> None:
    setup.write(b"COLD")
    assert setup.state() == b"COLD"
    setup.session.reconnect(BEHIND)
    assert setup.state() == b"COLD"


@pytest.mark.parametrize("number", range(9))
def test_no_answer_of_a_call_is_older_than_an_earlier_one(setup: Setup, number: int) -> None:
    """The State is written as often as requests are answered; the connection is lost in their middle."""

    def lose() -> None:
        setup.write(b"%03d" % 500)
        setup.session.reconnect(BEHIND)

    for each in range(9):
        setup.session.before_answer[each] = lambda: setup.write(b"%03d" % setup.ensemble.history.last)
    setup.session.before_answer[number] = lose
    queries = [query for _each in range(8) for query in (Query([STATE]), Query(MANY[:MAX_READS]))]
    setup.write(b"000")
    answers = setup.store.ask(queries)
    states = [znode.data for each in answers for znode in each.znodes if znode is not None]
    assert len(states) == 8
    assert states == sorted(states)


def test_reads_that_were_under_way_are_repeated_in_their_order(setup: Setup) -> None:
    """One that is sent again alone would be answered after those behind it."""
    setup.store.commit(
        [
            tuple(Create(path, path.encode()) for path in MANY[begin : begin + 500])
            for begin in range(0, len(MANY), 500)
        ]
    )
    setup.session.before_answer = {
        setup.session._answered + each: lambda: setup.session.reconnect(BEHIND) for each in (0, 3, 7)
    }
    found = setup.store.read(MANY)
    assert [znode and znode.data.decode() for znode in found] == MANY


def test_answers_before_the_loss_are_kept(setup: Setup) -> None:
    """They are older than all that follow, and a long read ends although connections are lost."""
    setup.session.before_answer[5] = lambda: setup.session.reconnect(BEHIND)
    setup.store.read(MANY)
    requests = setup.session.requests
    at = requests.index(SYNC)
    assert requests.count(SYNC) == 1
    total = len(requests) - 1
    without_loss = Setup(setup.ensemble, setup.other, *open_store(setup.ensemble, LEADER))
    without_loss.store.read(MANY)
    assert total < 2 * len(without_loss.session.requests)
    assert at >= 8


@pytest.mark.parametrize("batched", [True, False])
def test_children_are_as_recent(setup: Setup, batched: bool) -> None:
    setup.store._multi_read = batched
    setup.other.commit([(Create("/new", b""),)])
    setup.store.sync("/")
    setup.session.reconnect(BEHIND)
    assert setup.store.children(["/"]) == [("State", "new")]


def test_a_server_that_answers_late_is_synced_with_again(setup: Setup) -> None:
    """The connection stays, and the server gave a request up."""
    setup.session.errors[1] = REQUEST_TIMEOUT
    setup.store.sync("/")
    assert setup.state() == b"HOT"
    assert setup.session.requests == [SYNC, MULTI_READ, SYNC, MULTI_READ]


def test_a_sync_that_a_server_gave_up_is_repeated(setup: Setup) -> None:
    setup.session.errors[0] = REQUEST_TIMEOUT
    setup.store.sync("/")
    assert setup.state() == b"HOT"
    assert setup.session.requests == [SYNC, MULTI_READ, SYNC, MULTI_READ]


def test_a_sync_that_fails_fails_the_reads(setup: Setup) -> None:
    setup.session.errors[0] = -1
    setup.store.sync("/a")
    for _each in range(2):
        with pytest.raises(EnsembleError, match="Error -1 from ensemble hot for /a"):
            setup.state()
    setup.store.sync("/a")
    assert setup.state() == b"HOT"


def test_a_sync_that_is_repeated_and_fails_fails_the_reads(setup: Setup) -> None:
    setup.session.errors[1] = -1
    setup.session.reconnect(BEHIND)
    with pytest.raises(EnsembleError, match="Error -1 from ensemble hot for /"):
        setup.state()


def test_an_identity_that_is_rejected_later_ends_the_reads(setup: Setup) -> None:
    setup.session.errors[0] = AUTH_FAILED
    with pytest.raises(AccessDenied):
        setup.state()


def test_reads_end_where_every_connection_is_lost(setup: Setup) -> None:
    store, session = open_store(setup.ensemble, LEADER, seconds=0.2)
    session.errors = dict.fromkeys(range(1_000_000), CONNECTION_LOSS)
    with pytest.raises(EnsembleUnreachable, match="No answer from ensemble hot within 0.2 s"):
        store.read([STATE])


def test_a_sync_that_is_never_answered_ends_the_reads(setup: Setup) -> None:
    store, session = open_store(setup.ensemble, LEADER, seconds=0.2)
    store.sync("/")
    session._under_way.clear()
    with pytest.raises(EnsembleUnreachable):
        store.read([STATE])


def test_reads_after_an_unknown_outcome_are_behind_a_sync(setup: Setup) -> None:
    """Also over a connection that is not lost: the server may decide about the multi later."""
    setup.session.errors[0] = REQUEST_TIMEOUT
    assert isinstance(setup.store.commit([(SetData(STATE, b"COLD", 0),)])[0], Unknown)
    assert setup.state() == b"COLD"
    assert setup.session.requests == [MULTI, SYNC, MULTI_READ]


@pytest.mark.parametrize("applied", [True, False])
def test_a_multi_whose_answer_is_lost_is_judged_by_what_the_leader_knows(setup: Setup, applied: bool) -> None:
    setup.session.before_answer[0] = lambda: setup.session.reconnect(BEHIND)
    multi = (SetData(STATE, b"COLD", 0 if applied else 7),)
    assert isinstance(setup.store.commit([multi])[0], Unknown)
    assert setup.state() == (b"COLD" if applied else b"HOT")


def test_a_commit_whose_outcome_is_known_sends_no_sync(setup: Setup) -> None:
    setup.store.commit([(SetData(STATE, b"COLD", 0),), (SetData(STATE, b"COLD", 0),)])
    setup.state()
    assert setup.session.requests == [MULTI, MULTI, MULTI_READ]


def test_a_direct_connection_with_a_member(setup: Setup) -> None:
    """A member that starts again may answer before it has caught up."""
    session = MemorySession(setup.ensemble.open(BEHIND))
    member = Reader(session.options, session)
    setup.write(b"COLD")
    member.sync("/")
    assert [znode and znode.data for znode in member.read([STATE])] == [b"COLD"]
    setup.ensemble._applied[BEHIND] = 1
    session.reconnect(BEHIND)
    assert [znode and znode.data for znode in member.read([STATE])] == [b"COLD"]


def test_a_sync_of_one_thread_holds_for_the_reads_of_others(setup: Setup) -> None:
    setup.write(b"COLD")
    setup.store.sync("/")
    setup.session.reconnect(BEHIND)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(setup.state).result() == b"COLD"


def test_reads_are_behind_the_latest_sync(setup: Setup) -> None:
    """The first was answered over a connection of its own."""
    setup.session.reconnect(BEHIND)
    setup.store.sync("/")
    setup.write(b"COLD")
    setup.store.sync("/")
    assert setup.state() == b"COLD"
