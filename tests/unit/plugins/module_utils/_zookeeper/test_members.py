# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The members of a ClickHouse Keeper, as a stand-in tells them; tests/integration has those of ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore, connect
from support.memory.memory import MemoryEnsemble
from support.memory.wire_server import WireServer

LINES = (
    "server.1=k1:9234;participant;1",
    "server.2=k2:9234;participant;1",
    "server.7=k3:9234;learner;1",
)


@contextmanager
def keeper(
    lines: Sequence[str], answers: Sequence[str], hosts: slice = slice(None), *, zookeeper: str = ""
) -> Iterator[ZooKeeperStore]:
    """Connect to members that list these servers, and give these answers to ``conf``."""
    ensemble = MemoryEnsemble("hot", members=len(answers))
    created = [Create("/keeper", b""), Create("/keeper/config", "\n".join(lines).encode())]
    if zookeeper:
        created += [Create("/zookeeper", b""), Create("/zookeeper/config", zookeeper.encode())]
    ensemble.open().commit([tuple(created)])
    ensemble.settle()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(WireServer(ensemble, number, keeper=answer))
            for number, answer in enumerate(answers)
        ]
        addresses = tuple(server.address for server in servers)[hosts]
        options = EnsembleOptions("hot", addresses, connect_timeout=20.0, operation_timeout=20.0)
        yield stack.enter_context(connect(options))


def conf(number: int) -> str:
    return f"server_id={number}\nenable_ipv6=true\ntcp_port=9181\nfour_letter_word_allow_list=conf,cons\n"


def test_members_are_known_by_their_configuration() -> None:
    """Learners included; their session ids do not tell them apart."""
    with keeper(LINES, [conf(1), conf(2), conf(7)]) as store:
        members = store.members()
        assert len(members) == 3
        assert [member.children(["/keeper", "/missing"]) for member in members] == 3 * [[("config",), None]]


def test_a_list_that_came_from_zookeeper_does_not_count() -> None:
    with keeper(LINES[:1], [conf(1)], zookeeper="server.1=a:1\nserver.2=b:1\nversion=0") as store:
        assert len(store.members()) == 1


@pytest.mark.parametrize(
    ("answers", "hosts", "reason"),
    [
        (
            [conf(1), conf(2), conf(7)],
            slice(2),
            r"Server 7 \(k3:9234\) of ensemble hot is not among the hosts",
        ),
        ([conf(1), conf(2), conf(2)], slice(3), "are both server 2"),
        ([conf(1), conf(2), conf(3)], slice(3), "is server 3, not listed in /keeper/config"),
        ([conf(1), "", conf(7)], slice(3), "does not tell its server_id. Allow the command conf"),
        ([conf(1), "server_id=-1\n", conf(7)], slice(3), "does not tell its server_id"),
    ],
    ids=["learner not named", "twice", "not listed", "not allowed", "no number"],
)
def test_hosts_that_are_not_all_members_are_refused(answers: list[str], hosts: slice, reason: str) -> None:
    with keeper(LINES, answers, hosts) as store, pytest.raises(EnsembleError, match=reason):
        store.members()


@pytest.mark.parametrize("lines", [(), ("a znode of somebody",)])
def test_an_empty_list_proves_nothing(lines: Sequence[str]) -> None:
    """A member that is not named could lack a copy."""
    with (
        keeper(lines, [conf(1)]) as store,
        pytest.raises(EnsembleError, match="so nothing proves that hosts"),
    ):
        store.members()
