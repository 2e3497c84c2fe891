# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes a server write transactions of every type, and tells what tree it has then."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from struct import Struct
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import (
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.protocol.serialization import write_buffer, write_string
from kazoo.security import make_digest_acl

_ACL_HEAD = Struct(">ii")
_FLAGS = Struct(">i")
_TTL = Struct(">q")
_CONTAINER, _TTL_FLAG = 4, 5
_EXPECTED = (NoChildrenForEphemeralsError, NodeExistsError, NoNodeError, NotEmptyError)


class SeenZnode(NamedTuple):
    """What of a znode both the files and a client tell; times in milliseconds since 1970."""

    data: bytes
    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    aversion: int
    ephemeral_owner: int


class SpecialCreate(NamedTuple):
    """A request that kazoo does not know: to create a container, or a znode with a time to live."""

    path: str
    data: bytes
    ttl: int | None

    @property
    def type(self) -> int:
        """The number of the request."""
        return 19 if self.ttl is None else 21

    def serialize(self) -> bytearray:
        """The request as it is sent."""
        request = bytearray(write_string(self.path) + write_buffer(self.data))
        request += _ACL_HEAD.pack(1, 31) + write_string("world") + write_string("anyone")
        request += _FLAGS.pack(_CONTAINER if self.ttl is None else _TTL_FLAG)
        return request if self.ttl is None else request + _TTL.pack(self.ttl)

    @staticmethod
    def deserialize(answer: bytes, offset: int) -> bytes:
        """What nobody looks at."""
        return answer[offset:]


def create_special(client: KazooClient, path: str, data: bytes, ttl: int | None) -> None:
    """Create a znode that goes after ``ttl`` milliseconds, or with None a container."""
    waiting = client.handler.async_result()
    client._call(SpecialCreate(path, data, ttl), waiting)
    waiting.get(timeout=600)


def keep_busy(clients: list[KazooClient], base: str, steps: int, seed: int) -> None:
    """Do so many things, chosen by ``seed``, to few znodes, so that most are made and unmade many times."""
    chance = random.Random(seed)
    clients[0].ensure_path(base)
    for step in range(steps):
        path = f"{base}/{chance.randrange(12)}"
        child = f"{path}/{chance.randrange(3)}"
        data = f"{step}".encode() * chance.randrange(4)
        with suppress(*_EXPECTED):
            chance.choice(_STEPS)(chance.choice(clients), path, child, data)


def _multi(client: KazooClient, path: str, child: str, data: bytes) -> None:
    transaction = client.transaction()
    transaction.check(path, -1)
    transaction.delete(child)
    transaction.create(child, data + b"of a multi")
    transaction.set_data(path, data)
    transaction.commit()


def _set_acl(client: KazooClient, path: str, _child: str, _data: bytes) -> None:
    client.set_acls(path, [make_digest_acl("a", "b", all=True), *client.get_acls(path)[0]])


_STEPS: tuple[Callable[[KazooClient, str, str, bytes], object], ...] = (
    lambda client, path, _child, data: client.create(path, data),
    lambda client, _path, child, data: client.create(child, data, include_data=True),
    lambda client, _path, child, data: client.create(child, data, ephemeral=True),
    lambda client, _path, child, data: client.set(child, data),
    lambda client, path, _child, data: client.set(path, data),
    lambda client, _path, child, _data: client.delete(child),
    lambda client, path, _child, _data: client.delete(path, recursive=True),
    lambda client, _path, child, data: create_special(client, child, data, 3_600_000),
    lambda client, path, _child, data: create_special(client, path, data, None),
    _set_acl,
    _multi,
)


def walk(client: KazooClient, top: str) -> Iterator[tuple[str, SeenZnode]]:
    """Every znode at and below ``top`` by its path, as a client sees it."""
    data, stat = client.get(top)
    yield (
        top,
        SeenZnode(
            data,
            stat.czxid,
            stat.mzxid,
            stat.ctime,
            stat.mtime,
            stat.version,
            stat.aversion,
            stat.ephemeralOwner,
        ),
    )
    for name in client.get_children(top):
        yield from walk(client, f"{top.rstrip('/')}/{name}")


def seen(client: KazooClient, top: str) -> Mapping[str, SeenZnode]:
    """The same as a mapping."""
    return dict(walk(client, top))
