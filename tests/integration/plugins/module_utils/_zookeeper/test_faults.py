# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lost connections, silent servers and expired sessions: what is sent again, and what never is."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleUnreachable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Multi,
    Reason,
    Rejected,
    Unknown,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.commit import MULTIS_IN_FLIGHT
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.session import Session
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import (
    NOT_SENT,
    MultiEncoder,
    MultiWrite,
)
from support.servers.proxy import Action, ZooKeeperProxy, operation, writes
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

from .conftest import StoreMaker

SYNC, MULTI_READ = 9, 22
ZNODES = 5_000
PATHS = [f"/n{number}" for number in range(ZNODES)]


@pytest.fixture
def proxy(hot: Ensemble) -> Iterator[ZooKeeperProxy]:
    with ZooKeeperProxy(hot.members[0].address) as proxy:
        yield proxy


@pytest.fixture
def distant(open_store: StoreMaker, proxy: ZooKeeperProxy, chroot: str) -> ZooKeeperStore:
    """A store behind the proxy, below `chroot`."""
    return open_store(proxy.address, chroot=chroot)


@pytest.fixture
def behind_proxy(proxy: ZooKeeperProxy) -> Iterator[Session]:
    session = Session(
        EnsembleOptions(name="hot", hosts=(proxy.address,), session_timeout=30.0), "ensemble hot"
    )
    yield session
    session.close()


@pytest.fixture
def filled(store: ZooKeeperStore) -> None:
    """ZNODES znodes at PATHS, each with its path as data."""
    creates = [Create(path, path.encode()) for path in PATHS]
    multis = [tuple(creates[begin : begin + 500]) for begin in range(0, ZNODES, 500)]
    assert set(store.commit(multis)) == {Committed()}


def nth_multi_read(number: int) -> Callable[[bytes], bool]:
    """Match the multiRead of that number (from 1) of those sent from now on."""
    counter = itertools.count(1)
    return lambda request: operation(request) == MULTI_READ and next(counter) == number


def requests_through(proxy: ZooKeeperProxy) -> list[int]:
    """SYNC or MULTI_READ for each of these requests from now on, as they come."""
    seen: list[int] = []

    def note(request: bytes) -> bool:
        if operation(request) in (SYNC, MULTI_READ):
            seen.append(operation(request))
        return False

    proxy.trap(note, Action.LOSE_REQUEST)
    return seen


def one_by_one(*names: str) -> list[Multi]:
    return [(Create(f"/{name}", b""),) for name in names]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("action", [Action.LOSE_REPLY, Action.LOSE_REQUEST])
@pytest.mark.parametrize("number", [1, 7])
def test_reads_are_sent_again(
    distant: ZooKeeperStore, proxy: ZooKeeperProxy, action: Action, number: int
) -> None:
    trap = proxy.trap(nth_multi_read(number), action)
    znodes = distant.read(PATHS)
    assert trap.sprung
    assert [znode and znode.data.decode() for znode in znodes] == PATHS


def test_a_sync_is_not_waited_for(distant: ZooKeeperStore, proxy: ZooKeeperProxy) -> None:
    """The server answers in the order of the requests, so what is read after it needs no second look."""
    seen = requests_through(proxy)
    answer = proxy.trap(lambda request: operation(request) == SYNC, Action.HOLD_REPLY)
    # Would it wait, the answer would not come.
    distant.sync("/")
    answer.wait(60)
    answer.release()
    assert distant.read(["/"])[0] is not None
    assert seen == [SYNC, MULTI_READ]


@pytest.mark.parametrize("action", [Action.LOSE_REPLY, Action.LOSE_REQUEST])
def test_what_is_read_after_a_sync_that_was_lost_is_read_again(
    distant: ZooKeeperStore, proxy: ZooKeeperProxy, action: Action
) -> None:
    """The read that is sent again may go to another server, which was never told to see all."""
    seen = requests_through(proxy)
    trap = proxy.trap(lambda request: operation(request) == SYNC, action)
    distant.sync("/")
    assert distant.read(["/"])[0] is not None
    assert trap.sprung
    # The read behind the lost sync may or may not have been sent before the connection broke.
    assert seen[-2:] == [SYNC, MULTI_READ]
    assert seen.count(SYNC) >= 2
    seen.clear()
    assert distant.read(["/"])[0] is not None
    assert seen == [MULTI_READ]


def test_a_sync_goes_before_what_is_read_over_the_next_connection(
    distant: ZooKeeperStore, proxy: ZooKeeperProxy
) -> None:
    """The server of the next connection may not look at what the client has seen."""
    distant.sync("/")
    assert distant.read(["/"])[0] is not None
    before = distant._session.breaks
    proxy.disconnect()
    wait_for(lambda: distant._session.breaks > before)
    seen = requests_through(proxy)
    for _each in range(2):
        assert distant.read(["/"])[0] is not None
    assert seen == [MULTI_READ, SYNC, MULTI_READ, MULTI_READ]


def test_a_sync_is_sent_again(distant: ZooKeeperStore, proxy: ZooKeeperProxy) -> None:
    proxy.disconnect()
    distant.sync("/")
    assert distant.read(["/"])[0] is not None


def test_a_sync_in_one_thread_holds_for_what_others_read(
    distant: ZooKeeperStore, proxy: ZooKeeperProxy
) -> None:
    seen = requests_through(proxy)
    trap = proxy.trap(lambda request: operation(request) == SYNC, Action.LOSE_REQUEST)
    distant.sync("/")
    with ThreadPoolExecutor(2) as pool:
        (found,) = pool.submit(distant.read, ["/"]).result()
    assert found is not None
    assert trap.sprung
    assert seen[-2:] == [SYNC, MULTI_READ]


@pytest.mark.usefixtures("filled")
def test_reads_in_vain_end(open_store: StoreMaker, proxy: ZooKeeperProxy, chroot: str) -> None:
    store = open_store(proxy.address, chroot=chroot, operation_timeout=5.0)
    proxy.cut()
    with pytest.raises(
        EnsembleUnreachable, match=f"No answer from ensemble hot .*{proxy.address}.* within 5 s"
    ):
        store.read(PATHS)
    store.sync("/")
    with pytest.raises(EnsembleUnreachable):
        store.children(["/"])
    proxy.restore()
    assert store.read(PATHS[:1])[0] is not None


def test_a_silent_server_is_not_waited_for_long(open_store: StoreMaker, hot: Ensemble, chroot: str) -> None:
    store = open_store(hot.members[0].address, chroot=chroot, operation_timeout=5.0)
    hot.members[0].pause()
    began = time.monotonic()
    with pytest.raises(EnsembleUnreachable):
        store.children(["/"])
    names = [f"m{number:03}" for number in range(120)]
    outcomes = store.commit(one_by_one(*names))
    # Waiting for each of them would take ten minutes.
    assert time.monotonic() - began < 300
    assert {type(outcome) for outcome in outcomes} == {Unknown}
    assert len(outcomes) == len(names)
    hot.members[0].resume()
    store.sync("/")
    # Those that were on their way may be applied, in order; the others were never sent.
    (children,) = store.children(["/"])
    assert children is not None
    assert children == tuple(names[: len(children)])
    assert len(children) <= MULTIS_IN_FLIGHT


@pytest.mark.parametrize(("action", "applied"), [(Action.LOSE_REPLY, True), (Action.LOSE_REQUEST, False)])
def test_a_lost_commit_is_unknown(
    distant: ZooKeeperStore, proxy: ZooKeeperProxy, action: Action, applied: bool
) -> None:
    trap = proxy.trap(writes(b"/lost"), action)
    outcomes = distant.commit([(Create("/lost", b""),)])
    assert trap.sprung
    assert outcomes == [Unknown("the connection was lost before the answer")]
    assert (distant.read(["/lost"])[0] is not None) == applied


def test_nothing_is_sent_after_a_loss(distant: ZooKeeperStore, proxy: ZooKeeperProxy) -> None:
    names = [f"m{number:03}" for number in range(200)]
    proxy.trap(writes(b"/m050"), Action.LOSE_REQUEST)
    outcomes = distant.commit(one_by_one(*names))
    assert len(outcomes) == len(names)
    assert outcomes[50] == Unknown("the connection was lost before the answer")
    assert {type(outcome) for outcome in outcomes[50:]} == {Unknown}
    assert outcomes[-1] == Unknown("not sent, because the connection was lost before")
    (children,) = distant.children(["/"])
    assert children is not None
    committed = outcomes.count(Committed())
    assert children[:committed] == tuple(names[:committed])
    assert children == tuple(names[: len(children)])
    assert len(children) <= 50


def test_the_next_commit_goes_over_the_new_connection(distant: ZooKeeperStore, proxy: ZooKeeperProxy) -> None:
    proxy.trap(writes(b"/a"), Action.LOSE_REQUEST)
    assert isinstance(distant.commit(one_by_one("a"))[0], Unknown)
    assert distant.commit(one_by_one("b", "c")) == [Committed(), Committed()]


def test_a_commit_without_a_connection_sends_nothing(
    open_store: StoreMaker, proxy: ZooKeeperProxy, chroot: str
) -> None:
    store = open_store(proxy.address, chroot=chroot, operation_timeout=5.0)
    proxy.cut()
    with pytest.raises(EnsembleUnreachable):
        store.children(["/"])
    outcomes = store.commit(one_by_one("a", "b"))
    assert outcomes == [Unknown("not sent, because the connection was lost before")] * 2
    proxy.restore()
    assert store.commit(one_by_one("later")) == [Committed()]
    assert store.children(["/"]) == [("later",)]


@pytest.mark.parametrize("stale", [False, True])
def test_a_multi_queued_for_the_next_connection_is_only_sent_while_it_may_be(
    behind_proxy: Session, proxy: ZooKeeperProxy, kazoo: KazooClient, chroot: str, stale: bool
) -> None:
    session = behind_proxy
    before = session.breaks
    proxy.cut()
    wait_for(lambda: session.breaks > before)
    payload = MultiEncoder(chroot, authenticated=False).encode((Create("/queued", b""),))
    request = MultiWrite(payload, lambda: not stale)
    result = session.send(request)
    proxy.restore()
    outcome = request.decode(session.wait(result, time.monotonic() + 60))
    assert outcome == (Unknown(NOT_SENT) if stale else Committed())
    assert (kazoo.exists(f"{chroot}/queued") is None) == stale


def test_an_expired_session_is_told_by_its_id_and_its_lock(
    open_store: StoreMaker, proxy: ZooKeeperProxy, kazoo: KazooClient, chroot: str
) -> None:
    store = open_store(proxy.address, chroot=chroot, session_timeout=5.0)
    before = store.session_id
    assert store.commit([(Create("/lock", b"", ephemeral=True),)]) == [Committed()]
    proxy.cut()
    wait_for(lambda: kazoo.exists(f"{chroot}/lock") is None)
    proxy.restore()
    (outcome,) = store.commit([(Check("/lock", 0), Create("/after", b""))])
    assert isinstance(outcome, Unknown | Rejected)
    assert store.read(["/lock", "/after"]) == [None, None]
    assert store.session_id != before
    (outcome,) = store.commit([(Check("/lock", 0), Create("/after", b""))])
    assert isinstance(outcome, Rejected)
    assert (outcome.op_index, outcome.reason) == (0, Reason.NO_NODE)


def test_a_connection_lost_but_not_expired_keeps_the_session(
    distant: ZooKeeperStore, proxy: ZooKeeperProxy
) -> None:
    before = distant.session_id
    assert distant.commit([(Create("/lock", b"", ephemeral=True),)]) == [Committed()]
    proxy.disconnect()
    assert distant.read(["/lock"])[0] is not None
    assert distant.session_id == before


def test_what_a_signal_raises_while_a_request_is_queued_is_not_lost(
    open_store: StoreMaker, hot: Ensemble, chroot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        def send(self, _data: bytes) -> None:
            raise KeyboardInterrupt

    store = open_store(hot.members[0].address, chroot=chroot)
    monkeypatch.setattr(store._session._client._connection, "_write_sock", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        store.read(["/"])


def test_another_member_takes_over(open_store: StoreMaker, cold: Ensemble, base: str) -> None:
    store = open_store(*(member.address for member in cold.members), operation_timeout=120.0)
    assert store.commit([(Create(base, b""),)]) == [Committed()]
    cold.members[store.server_id - 1].kill()
    assert store.read([base])[0] is not None
