# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-in for Keeper: with the manners of ZooKeeper as a real one, with Keeper's as its source says.

One series of requests is sent to both, and every answer and every watch compared.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, Id, make_digest_acl

from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.keeper.manners import ZOOKEEPER
from support.servers.zookeeper import Ensemble

_OPERATIONS = 1_500
_SEEDS = 4
_NAMES = "abc"

Sent = tuple[str, tuple[Any, ...]]


class Client:
    """Sends the same requests to one ensemble, and keeps what it answers in a form that can be compared."""

    def __init__(self, client: KazooClient, base: str) -> None:
        self._client = client
        self._base = base
        self._zxids: dict[int, int] = {}
        self.watched: list[tuple[str, str]] = []
        client.create(base)

    def send(self, name: str, *arguments: Any) -> object:
        """Send a request and return its answer."""
        try:
            return self._plain(getattr(self, f"_{name}")(*arguments))
        except KazooException as error:
            return type(error).__name__

    def tree(self, path: str = "") -> dict[str, object]:
        """Return everything that there is."""
        found = {path: self._plain(self._client.get(f"{self._base}{path}"))}
        for name in sorted(self._client.get_children(f"{self._base}{path}")):
            found |= self.tree(f"{path}/{name}")
        return found

    def _create(self, path: str, data: bytes, ephemeral: bool, sequence: bool) -> str:
        created = self._client.create(f"{self._base}{path}", data, ephemeral=ephemeral, sequence=sequence)
        return str(created).removeprefix(self._base)

    def _create2(self, path: str, data: bytes) -> object:
        return self._client.create(f"{self._base}{path}", data, include_data=True)[1]

    def _delete(self, path: str, version: int) -> None:
        self._client.delete(f"{self._base}{path}", version)

    def _set(self, path: str, data: bytes, version: int) -> object:
        return self._client.set(f"{self._base}{path}", data, version)

    def _get(self, path: str) -> object:
        return self._client.get(f"{self._base}{path}", watch=self._watch)

    def _exists(self, path: str) -> object:
        return self._client.exists(f"{self._base}{path}", watch=self._watch)

    def _children(self, path: str) -> object:
        return sorted(self._client.get_children(f"{self._base}{path}", watch=self._watch))

    def _children2(self, path: str) -> object:
        names, stat = self._client.get_children(f"{self._base}{path}", include_data=True)
        return sorted(names), stat

    def _acls(self, path: str) -> object:
        return self._client.get_acls(f"{self._base}{path}")

    def _set_acls(self, path: str, acls: list[ACL], version: int) -> object:
        return self._client.set_acls(f"{self._base}{path}", acls, version)

    def _multi(self, operations: list[Sent]) -> object:
        transaction = self._client.transaction()
        for name, (path, *rest) in operations:
            getattr(transaction, name)(f"{self._base}{path}", *rest)
        return [type(each).__name__ if isinstance(each, Exception) else each for each in transaction.commit()]

    def _watch(self, event: Any) -> None:
        if event.path is not None:
            self.watched.append((event.type, event.path.removeprefix(self._base)))

    def _plain(self, value: Any) -> object:
        """Number transactions as they come, and leave times and sessions out."""
        if isinstance(value, ZnodeStat):
            for zxid in sorted(value[:2] + value[10:]):
                self._zxids.setdefault(zxid, len(self._zxids))
            zxids = [self._zxids[zxid] for zxid in value[:2] + value[10:]]
            owner = bool(value.ephemeralOwner)
            counts = (value.version, value.cversion, value.aversion, value.dataLength, value.numChildren)
            return (*zxids, *counts, owner, value.mtime >= value.ctime)
        if isinstance(value, (list, tuple)) and not isinstance(value, (ACL, Id)):
            return [self._plain(each) for each in value]
        return value.removeprefix(self._base) if isinstance(value, str) else value


def _path(chance: random.Random) -> str:
    return "".join(f"/{chance.choice(_NAMES)}" for _each in range(chance.randint(1, 3)))


def _operation(chance: random.Random) -> Sent:
    path, data = _path(chance), bytes([chance.randrange(256)]) * chance.randrange(4)
    version = chance.choice((-1, -1, 0, 1, 2))
    return chance.choice(
        (
            ("create", (path, data)),
            ("delete", (path, version)),
            ("set_data", (path, data, version)),
            ("check", (path, max(0, version))),
        )
    )


def _request(chance: random.Random) -> Sent:
    path, data = _path(chance), bytes([chance.randrange(256)]) * chance.randrange(4)
    version = chance.choice((-1, -1, 0, 1, 2))
    acls = chance.choice(
        (
            [make_digest_acl("someone", "else", all=True), ACL(31, Id("auth", ""))],
            [ACL(1 + chance.randrange(31), Id("world", "anyone"))],
            [ACL(31, Id("world", "anyone"))],
        )
    )
    return chance.choice(
        (
            ("create", (path, data, False, False)),
            ("create", (path, data, chance.random() < 0.3, chance.random() < 0.3)),
            ("create2", (path, data)),
            ("delete", (path, version)),
            ("set", (path, data, version)),
            ("get", (path,)),
            ("exists", (path,)),
            ("children", (path,)),
            ("children2", (path,)),
            ("acls", (path,)),
            ("set_acls", (path, acls, version)) if chance.random() < 0.1 else ("exists", (path,)),
            ("multi", ([_operation(chance) for _each in range(chance.randint(1, 5))],)),
        )
    )


@pytest.fixture
def both(
    hot_ensemble: Ensemble, connect: Callable[[str], KazooClient], base: str
) -> Iterator[tuple[Client, Client]]:
    """Clients of a real ZooKeeper and of its stand-in, with one identity."""
    with KeeperStandIn(manners=ZOOKEEPER) as stand_in:
        clients = [connect(each.connect_string) for each in (hot_ensemble, stand_in)]
        for client in clients:
            client.add_auth("digest", "me:secret")
        yield Client(clients[0], base), Client(clients[1], base)


@pytest.mark.parametrize("seed", range(_SEEDS))
def test_the_control_answers_as_a_real_zookeeper(both: tuple[Client, Client], seed: int) -> None:
    real, stand_in = both
    chance = random.Random(seed)
    for number in range(_OPERATIONS):
        name, arguments = _request(chance)
        answers = [each.send(name, *arguments) for each in both]
        assert answers[1] == answers[0], (number, name, arguments)
    time.sleep(0.2)
    # Watches of one transaction are told in any order.
    assert sorted(stand_in.watched) == sorted(real.watched)
    assert len(real.watched) > _OPERATIONS / 100
