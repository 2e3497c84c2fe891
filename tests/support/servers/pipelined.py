# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Load that does not wait for answers, so that servers write snapshots while they change znodes."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionLoss,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.interfaces import IAsyncResult
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from support.servers.busy_znodes import SpecialCreate

_ON_THEIR_WAY = 200
_SECONDS = 600
_EXPECTED = (
    ConnectionLoss,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
_OTHER_ACL = [make_digest_acl("a", "b", all=True), *OPEN_ACL_UNSAFE]

Step = Callable[[KazooClient, str, str, bytes], IAsyncResult]


_PATHS = 12
_BALLAST = b"b" * 100_000
_BALLAST_ZNODES = 8


def write_ballast(client: KazooClient, base: str) -> None:
    """Create large znodes among those that are changed, so that it takes a while to write a snapshot."""
    client.ensure_path(base)
    answers = []
    for number in range(0, _PATHS, 2):
        answers.append(client.create_async(f"{base}/{number}"))
        answers += [
            client.create_async(f"{base}/{number}/ballast-{each}", _BALLAST)
            for each in range(_BALLAST_ZNODES)
        ]
    for answer in answers:
        answer.get(timeout=_SECONDS)


class Load:
    """Changes few znodes below ``base``, again and again, as ``seed`` says."""

    def __init__(self, client: KazooClient, base: str, seed: int, *, since_3_5: bool) -> None:
        """``since_3_5``: the server knows containers, times to live, and creations answered with a stat."""
        self._client = client
        self._base = base
        self._chance = random.Random(seed)
        self._steps = (*_STEPS, *_STEPS_SINCE_3_5) if since_3_5 else _STEPS
        self._answers: deque[IAsyncResult] = deque()
        self._step = 0

    def run(self, steps: int) -> None:
        """Do so much; the last requests may be on their way still."""
        for _step in range(steps):
            self._step += 1
            path = f"{self._base}/{self._chance.randrange(_PATHS)}"
            child = f"{path}/{self._chance.randrange(3)}"
            data = f"{self._step}".encode() * self._chance.randrange(4)
            self._answers.append(self._chance.choice(self._steps)(self._client, path, child, data))
            while len(self._answers) > _ON_THEIR_WAY:
                self._await()

    def settle(self) -> None:
        """Wait for all answers."""
        while self._answers:
            self._await()

    def _await(self) -> None:
        with suppress(*_EXPECTED):
            self._answers.popleft().get(timeout=_SECONDS)


def _multi(client: KazooClient, path: str, child: str, data: bytes) -> IAsyncResult:
    transaction = client.transaction()
    transaction.check(path, -1)
    transaction.delete(child)
    transaction.create(child, data + b"of a multi")
    transaction.set_data(path, data)
    return transaction.commit_async()


def _special(client: KazooClient, path: str, data: bytes, ttl: int | None) -> IAsyncResult:
    answer = client.handler.async_result()
    client._call(SpecialCreate(path, data, ttl), answer)
    return answer


_STEPS: tuple[Step, ...] = (
    lambda client, path, _child, data: client.create_async(path, data),
    lambda client, _path, child, data: client.create_async(child, data),
    lambda client, _path, child, data: client.create_async(child, data, ephemeral=True),
    lambda client, _path, child, data: client.set_async(child, data),
    lambda client, path, _child, data: client.set_async(path, data),
    lambda client, _path, child, _data: client.delete_async(child),
    lambda client, path, _child, _data: client.delete_async(path),
    lambda client, path, _child, _data: client.set_acls_async(path, _OTHER_ACL),
    _multi,
)
_STEPS_SINCE_3_5: tuple[Step, ...] = (
    lambda client, _path, child, data: client.create_async(child, data, include_data=True),
    lambda client, _path, child, data: _special(client, child, data, 3_600_000),
    lambda client, path, _child, data: _special(client, path, data, None),
)
