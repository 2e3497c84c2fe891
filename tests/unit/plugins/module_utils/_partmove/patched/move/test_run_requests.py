# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many requests a shard path takes, and queries: with servers that are far away, nothing else counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Multi,
    Outcome,
    Query,
    QueryAnswer,
    Znode,
)
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.ledger import enter, readiness
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe

MOST_TO_MOVE = 30
MOST_OF_NOTHING = 7
MOST_QUERIES = 4
"""Of each replica."""


class Counting(MemoryStore):
    """Counts the packets that a session sends; small answers come whole, so a call is a request."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.requests = 0

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.requests += 1
        return super().read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        self.requests += 1
        return super().children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        before = self.requests
        found = super().ask(queries)
        self.requests = before + 1
        return found

    def sync(self, path: str) -> None:
        self.requests += 1
        super().sync(path)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        made = [*multis]
        self.requests += len(made)
        return super().commit(made)

    def members(self) -> Sequence[MemoryStore]:
        """Return the member of the session only: an ensemble of one member."""
        return [self]


class Daily:
    """A table that a run moved a partition of before, and the run of the next day."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.stores = Counting(self.bench.hot_ensemble), Counting(self.bench.cold_ensemble)
        context = make_world(*self.stores, self.bench.clock, lock_wait=3.0)
        enter(*self.stores, *(ReplicaKey(PATH, name) for name in ("r1", "r2")))
        self.bench.context = context._replace(readiness=readiness(*self.stores))
        assert self.bench.move(DAY).moved

    def requests(self) -> int:
        """How many were sent since this was asked the last time."""
        total = sum(each.requests for each in self.stores)
        for each in self.stores:
            each.requests = 0
        return total


@pytest.fixture
def daily() -> Daily:
    return Daily()


def test_a_partition_to_move(daily: Daily) -> None:
    daily.requests()
    assert daily.bench.move(OTHER).moved.keys() == {OTHER}
    assert 0 < daily.requests() <= MOST_TO_MOVE


def test_nothing_to_do(daily: Daily) -> None:
    daily.requests()
    assert daily.bench.move(DAY).unchanged == {DAY}
    assert 0 < daily.requests() <= MOST_OF_NOTHING


class CountingProbe(SimulatedProbe):
    """Counts the questions to each replica; each question is one query."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.servers)
        self.asked: Counter[str] = Counter()

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        self.asked[replica] += 1
        return super().active_parts(shard_path, replica, host, partitions)

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str]:
        self.asked[replica] += 1
        return super().detached_parts(shard_path, replica, host)


def test_queries_of_each_replica(daily: Daily) -> None:
    probe = CountingProbe(daily.bench)
    daily.bench.context = daily.bench.context._replace(servers=AskServers(probe))
    assert daily.bench.move(DAY).unchanged == {DAY}
    assert not probe.asked
    assert daily.bench.move(OTHER).moved.keys() == {OTHER}
    assert probe.asked.keys() == {"r1", "r2"}
    assert max(probe.asked.values()) <= MOST_QUERIES
