# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers without multiRead: a real server behind a filter that answers as versions before 3.6 do."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import AccessDenied
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Query,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.reader import BATCHES_IN_FLIGHT
from support.servers.zookeeper import Ensemble

from .conftest import StoreMaker

MULTI_READ = 22
UNIMPLEMENTED = -6
WATCH_EVENT = -1


class OldServer:
    """Passes everything on to a server but multiRead: that is answered with an error, or not at all.

    Either way the connection is closed then, as ZooKeeper 3.4 and 3.5 do, after the answers to all
    requests before.
    """

    def __init__(self, target: str, *, answers: bool) -> None:
        host, _colon, port = target.rpartition(":")
        self._target = (host, int(port))
        self._answers = answers
        self.refused = 0
        self.modern = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in self._sockets:
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                server = socket.create_connection(self._target)
                self._sockets += [client, server]
                # A permit for each answer that the client was sent.
                answers = threading.Semaphore(0)
                for pump in (self._requests, self._replies):
                    thread = threading.Thread(target=pump, args=(client, server, answers))
                    self._threads.append(thread)
                    thread.start()

    def _requests(self, client: socket.socket, server: socket.socket, answers: threading.Semaphore) -> None:
        passed = 0
        with suppress(OSError), client.makefile("rb") as stream:
            while head := stream.read(4):
                request = stream.read(*struct.unpack("!i", head))
                if passed and not self.modern and request[4:8] == struct.pack("!i", MULTI_READ):
                    for _each in range(passed):
                        answers.acquire(timeout=60)
                    self._refuse(client, request[:4])
                    break
                passed += 1
                server.sendall(head + request)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _refuse(self, client: socket.socket, xid: bytes) -> None:
        self.refused += 1
        if self._answers:
            client.sendall(struct.pack("!i4sqi", 16, xid, 0, UNIMPLEMENTED))

    def _replies(self, client: socket.socket, server: socket.socket, answers: threading.Semaphore) -> None:
        with suppress(OSError), server.makefile("rb") as stream:
            while head := stream.read(4):
                reply = stream.read(*struct.unpack("!i", head))
                client.sendall(head + reply)
                if reply[:4] != struct.pack("!i", WATCH_EVENT):
                    answers.release()
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


@pytest.fixture(params=[True, False], ids=["says-unimplemented", "drops-the-connection"])
def old(request: pytest.FixtureRequest, hot: Ensemble) -> Iterator[OldServer]:
    server = OldServer(hot.members[0].address, answers=request.param)
    yield server
    server.close()


def test_znodes_are_read_one_by_one(
    open_store: StoreMaker, old: OldServer, kazoo: KazooClient, chroot: str
) -> None:
    store = open_store(old.address, chroot=chroot)
    paths = [f"/n{number}" for number in range(1_000)]
    assert store.commit([tuple(Create(path, path.encode()) for path in paths)]) == [Committed()]
    znodes = store.read([*paths, "/missing"])
    assert [znode and znode.data.decode() for znode in znodes] == [*paths, None]
    assert znodes[0] is not None
    assert tuple(znodes[0].stat) == tuple(kazoo.get(f"{chroot}/n0")[1])
    assert store.children(["/", "/n0", "/missing"]) == [tuple(sorted(path[1:] for path in paths)), (), None]
    first, second = store.ask([Query(["/n7", "/missing"], ["/n0"]), Query(["/n8"])])
    assert [each and each.path for each in (*first.znodes, *second.znodes)] == ["/n7", None, "/n8"]
    assert (first.children, second.children) == ([()], [])


def test_it_is_asked_once(open_store: StoreMaker, old: OldServer, chroot: str) -> None:
    store = open_store(old.address, chroot=chroot)
    asked = old.refused
    session = store.session_id
    # The connection that the server closed is made again before anybody can commit over it.
    assert store.commit([(Create("/a", b"", ephemeral=True),)]) == [Committed()]
    store.read(["/a"])
    store.children(["/a"])
    assert old.refused == asked <= 2
    assert store.session_id == session


def test_a_znode_that_may_not_be_read(
    open_store: StoreMaker, old: OldServer, kazoo: KazooClient, chroot: str
) -> None:
    kazoo.create(f"{chroot}/secret", acl=[make_digest_acl("alice", "wonder", all=True)])
    store = open_store(old.address, chroot=chroot)
    with pytest.raises(AccessDenied, match="may not read /secret"):
        store.read(["/", "/secret"])


def test_a_member_of_an_older_version_takes_over(
    open_store: StoreMaker, hot: Ensemble, kazoo: KazooClient, chroot: str
) -> None:
    server = OldServer(hot.members[0].address, answers=True)
    server.modern = True
    kazoo.create(f"{chroot}/a", b"data")
    paths = ["/a", "/missing"] * 1_000
    store = open_store(server.address, chroot=chroot)
    assert server.refused == 0
    server.modern = False
    refused = []
    for _each in range(2):
        assert [znode and znode.data for znode in store.read(paths)] == [b"data", None] * 1_000
        refused.append(server.refused)
    store.close()
    server.close()
    # What was sent before the first refusal arrived may be refused too, each over a new connection.
    assert 1 <= refused[0] <= BATCHES_IN_FLIGHT
    assert refused[1] == refused[0]


def test_it_is_asked_through_members_too(open_store: StoreMaker, old: OldServer) -> None:
    (member,) = open_store(old.address).members()
    assert member.read(["/"])[0] is not None
