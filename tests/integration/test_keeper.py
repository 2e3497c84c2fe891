# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The adapter over real sockets with the stand-in for Keeper: members that lag, and sessions that change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    LeaseLost,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import confirm_lease
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    LeaseKeeper,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed, Query
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore, connect
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.keeper.manners import KEEPER, NEW_KEEPER, OLD_KEEPER, ZOOKEEPER, Manners
from support.servers.replicated import wait_for

_PATH = "/clickhouse/tables/01/hits"
_SESSION_SECONDS = 2.0
_SECONDS = 4.0
"""How long an answer may take."""

every_manner = pytest.mark.parametrize(
    "manners", [KEEPER, NEW_KEEPER, OLD_KEEPER, ZOOKEEPER], ids=lambda each: each.name
)


@pytest.fixture
def ensemble(request: pytest.FixtureRequest) -> Iterator[KeeperStandIn]:
    """Three members, of the manners that the test names."""
    named = request.node.callspec.params.get("manners") if hasattr(request.node, "callspec") else None
    with KeeperStandIn(3, named or KEEPER) as three:
        yield three


def opened(ensemble: KeeperStandIn) -> ZooKeeperStore:
    """Open a store whose sessions end soon."""
    hosts = tuple(member.address for member in ensemble.members)
    options = EnsembleOptions("hot", hosts, session_timeout=_SESSION_SECONDS, operation_timeout=_SECONDS)
    return connect(replace(options, connect_timeout=_SECONDS))


@every_manner
def test_missing_znodes_are_missing(ensemble: KeeperStandIn, manners: Manners) -> None:
    with opened(ensemble) as store:
        assert store.read(["/no", "/"])[0] is None
        assert store.children(["/", "/no"])[1] is None
        (answer,) = store.ask([Query(["/no", "/"], ["/no"])])
        assert [znode is None for znode in answer.znodes] == [True, False]
        assert answer.children == [None]
        assert store.has_multi_read == manners.multi_read


@every_manner
def test_all_members_are_known(ensemble: KeeperStandIn, manners: Manners) -> None:
    with opened(ensemble) as store:
        names = [member.name for member in store.members()]
    assert names == ensemble.connect_string.split(","), manners


@every_manner
def test_a_sync_that_was_answered_before_the_connection_broke_counts_no_more(
    ensemble: KeeperStandIn, manners: Manners, connect: Callable[[str], KazooClient]
) -> None:
    """The members that the run can reach then have not applied what the sync has promised."""
    with opened(ensemble) as store:
        connected = ensemble.sessions[store.session_id].connection
        (at,) = (member for member in ensemble.members if connected in member.connections)
        writer = connect(at.address)
        writer.create("/a", b"before")
        others = [member for member in ensemble.members if member is not at]
        for member in others:
            member.hold_back()
        writer.set("/a", b"after")
        store.sync("/")
        assert store.read(["/"])[0] is not None
        at.kill()
        if manners.asks_what_was_seen:
            # They take the client as soon as they have seen as much.
            threading.Timer(0.5, others[0].catch_up).start()

        (znode,) = store.read(["/a"])
    assert znode is not None
    assert znode.data == b"after", manners


def test_a_client_of_old_keepers_reads_what_was_before(
    ensemble: KeeperStandIn, connect: Callable[[str], KazooClient]
) -> None:
    """So the test above can fail: without a sync of the new connection a read goes back."""
    first, second, _third = ensemble.members
    writer = connect(first.address)
    writer.create("/a", b"before")
    second.hold_back()
    writer.set("/a", b"after")

    assert connect(second.address).get("/a")[0] == b"before"


@every_manner
def test_a_lease_outlives_the_connection_in_which_it_was_taken(
    ensemble: KeeperStandIn, manners: Manners
) -> None:
    """And the session, where that is replaced: longer than the former one lives."""
    with opened(ensemble) as store:
        keeper = LeaseKeeper(store, None, SystemClock(), owner="a test", wait_seconds=0.0)
        lease = keeper.acquire(_PATH)
        former = store.session_id
        for member in ensemble.members:
            member.cut()
        confirm_lease(store, lease, _PATH)
        assert (store.session_id == former) == (not manners.is_keeper)
        wait_for(lambda: former not in ensemble.sessions or not manners.is_keeper, 10)

        assert store.commit([lease.hot_checks]) == [Committed()]
        confirm_lease(store, lease, _PATH)
        keeper.release(lease)
        assert store.read([lease.lock_path]) == [None]


def test_a_lease_that_was_not_confirmed_in_time_is_lost(ensemble: KeeperStandIn) -> None:
    with opened(ensemble) as store:
        lease = LeaseKeeper(store, None, SystemClock(), owner="a test").acquire(_PATH)
        former = store.session_id
        for member in ensemble.members:
            member.cut()
        wait_for(lambda: former not in ensemble.sessions, 10)

        assert store.commit([lease.hot_checks]) != [Committed()]
        with pytest.raises(LeaseLost):
            confirm_lease(store, lease, _PATH)


@every_manner
def test_an_ensemble_without_a_leader_is_no_empty_one(ensemble: KeeperStandIn, manners: Manners) -> None:
    with opened(ensemble) as store:
        for member in ensemble.members[1:]:
            member.kill()
        began = time.monotonic()
        with pytest.raises(EnsembleUnreachable, match="No answer from ensemble hot"):
            store.read(["/"])
        assert time.monotonic() - began >= _SECONDS, manners
        with pytest.raises(EnsembleUnreachable, match="No answer from ensemble hot"):
            opened(ensemble)
        ensemble.heal()
        assert store.read(["/"])[0] is not None
