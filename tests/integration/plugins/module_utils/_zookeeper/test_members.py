# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Direct connections to each member of real ensembles, and the hosts that are refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from kazoo.security import make_digest_acl

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    EnsembleUnreachable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed, Create
from support.servers.kazoo_client import connected
from support.servers.proxy import ZooKeeperProxy
from support.servers.zookeeper import Ensemble, EnsembleOptions

from .conftest import StoreMaker


def addresses(ensemble: Ensemble) -> list[str]:
    return [member.address for member in ensemble.members]


@pytest.fixture(scope="module")
def with_observer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble]:
    options = EnsembleOptions(participants=2, observers=1)
    with Ensemble(tmp_path_factory.mktemp("with-observer"), options) as ensemble:
        yield ensemble


def test_each_member_is_read_directly(open_store: StoreMaker, cold: Ensemble, base: str) -> None:
    store = open_store(*addresses(cold), name="cold")
    assert store.commit([(Create(base, b"data"),)]) == [Committed()]
    members = store.members()
    assert [member.name for member in members] == addresses(cold)
    assert [member.server_id for member in members] == [1, 2, 3]
    for member in members:
        member.sync(base)
        (znode,) = member.read([base])
        assert znode is not None
        assert znode.data == b"data"
        assert member.children([base]) == [()]
    assert store.members() is members


def test_threads_share_the_connections(open_store: StoreMaker, cold: Ensemble) -> None:
    """Those that another thread had made as well would stay open."""
    store = open_store(*addresses(cold))
    together = threading.Barrier(4)

    def ask(_thread: int) -> Sequence[object]:
        together.wait()
        return store.members()

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(ask, range(4))
    assert all(each is first for each in others)


def test_the_session_tells_its_server(open_store: StoreMaker, cold: Ensemble) -> None:
    for member in cold.members:
        assert open_store(member.address).server_id == member.myid


def test_members_have_the_chroot(open_store: StoreMaker, cold: Ensemble, base: str) -> None:
    outer = open_store(*addresses(cold))
    assert outer.commit([(Create(base, b""), Create(f"{base}/inner", b""))]) == [Committed()]
    for member in open_store(*addresses(cold), chroot=base).members():
        member.sync("/")
        assert member.children(["/"]) == [("inner",)]


def test_a_standalone_server_is_its_only_member(open_store: StoreMaker, hot: Ensemble) -> None:
    (member,) = open_store(hot.members[0].address).members()
    assert member.read(["/"])[0] is not None


def test_observers_are_members(open_store: StoreMaker, with_observer: Ensemble) -> None:
    voting, observer = addresses(with_observer)[:2], addresses(with_observer)[2]
    with pytest.raises(EnsembleError, match=r"Server 3 .* is not among the hosts"):
        open_store(*voting).members()
    assert [member.server_id for member in open_store(*voting, observer).members()] == [1, 2, 3]


def test_a_member_that_is_not_named(open_store: StoreMaker, cold: Ensemble) -> None:
    store = open_store(*addresses(cold)[:2], name="cold")
    with pytest.raises(
        EnsembleError, match=r"Server 3 .* of ensemble cold is not among the hosts. Name every"
    ):
        store.members()


def test_a_member_with_two_names(open_store: StoreMaker, cold: Ensemble) -> None:
    alias = cold.members[0].address.replace("127.0.0.1", "localhost")
    store = open_store(*addresses(cold), alias, name="cold")
    with pytest.raises(EnsembleError, match=f"127.* and {alias} of ensemble cold are both server 1"):
        store.members()


def test_hosts_of_two_ensembles(open_store: StoreMaker, hot: Ensemble, cold: Ensemble) -> None:
    store = open_store(*addresses(cold), *addresses(hot), name="cold")
    with pytest.raises(EnsembleError, match="has other members in /zookeeper/config than ensemble cold"):
        store.members()


def test_a_member_that_does_not_answer(open_store: StoreMaker, cold: Ensemble) -> None:
    silent = cold.followers()[0]
    others = [member.address for member in cold.members if member is not silent]
    store = open_store(*others, silent.address, name="cold", connect_timeout=10.0)
    silent.pause()
    with pytest.raises(EnsembleUnreachable, match=f"No answer from member {silent.address} of ensemble cold"):
        store.members()
    cold.heal()
    assert len(store.members()) == 3


def test_a_list_of_members_that_may_not_be_read_is_refused(open_store: StoreMaker, tmp_path: Path) -> None:
    with Ensemble(tmp_path / "closed", EnsembleOptions(superuser="super:secret")) as ensemble:
        with connected(ensemble.connect_string, auth_data=[("digest", "super:secret")]) as admin:
            admin.set_acls("/zookeeper/config", [make_digest_acl("super", "secret", all=True)])
        store = open_store(*addresses(ensemble))
        with pytest.raises(AccessDenied, match="may not read /zookeeper/config"):
            store.members()


def test_an_ensemble_that_has_no_list_of_its_members_is_refused(
    open_store: StoreMaker, cold: Ensemble
) -> None:
    """As before version 3.5: one host of three would pass for all of the ensemble."""
    with ExitStack() as stack:
        proxies = [stack.enter_context(ZooKeeperProxy(each)) for each in addresses(cold)]
        for proxy in proxies:
            proxy.hide("/zookeeper/config")
        hosts = [proxy.address for proxy in proxies]

        for given in (hosts[:1], hosts):
            with pytest.raises(
                EnsembleError, match="Ensemble cold has no /zookeeper/config and no /keeper/config"
            ):
                open_store(*given, name="cold").members()
        store = open_store(*hosts, name="cold", members_complete=True)
        assert [member.server_id for member in store.members()] == [1, 2, 3]
