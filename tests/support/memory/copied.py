# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two clusters in memory, one of which is a copy of the other, with one cold ensemble."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import Pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import read_pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.bench import DAY, PART, Bench
from support.memory.client import MemoryClient
from support.memory.drifted import Drifted
from support.memory.memory import MemoryEnsemble
from support.memory.moves import make_world
from support.memory.two_clusters import hash_of


def connect(bench: Bench, hot: MemoryEnsemble, cold: MemoryEnsemble) -> None:
    """Let the runs of a bench work with these ensembles."""
    bench.hot_ensemble, bench.cold_ensemble = hot, cold
    bench.hot_store.ensemble, bench.cold_store.ensemble = hot, cold
    bench.hot, bench.cold = MemoryClient(hot.open()), MemoryClient(cold.open())


class Copied(NamedTuple):
    """A cluster, and another one that was made of a copy of its files; both are given the same cold."""

    original: Drifted
    copy: Drifted

    @classmethod
    def build(cls) -> Copied:
        """Move a partition, then copy hot and the disks."""
        original, copy = Drifted(), Drifted()
        assert original.bench.move(DAY).moved
        for each in (original, copy):
            each.disks.hashes[PART] = hash_of(original.bench, PART)
        connect(copy.bench, deepcopy(original.bench.hot_ensemble), original.bench.cold_ensemble)
        return cls(original, copy)

    @classmethod
    def set_back(cls, *days: str) -> Drifted:
        """Return a cluster whose hot ensemble was set back from after its first move to before the next."""
        copied = cls.build()
        assert fresh(copied.original).bench.move(*days).moved
        return copied.copy


def fresh(cluster: Drifted) -> Drifted:
    """Let the next run of a cluster be a process of its own."""
    bench = cluster.bench
    context = make_world(bench.hot_store, bench.cold_store, bench.clock, lock_wait=3.0)
    bench.context = bench.context._replace(leases=context.leases)
    return cluster


def pair_of(cluster: Drifted) -> Pair:
    """Read the pair of a cluster."""
    return read_pair(cluster.bench.hot_store, cluster.bench.cold_store, DEFAULT_ROOT)


def forget_tokens(bench: Bench) -> None:
    """Leave the pair as a version without tokens does."""
    bench.hot.delete(f"{DEFAULT_ROOT}/tokens")
    bench.cold.delete(
        f"{DEFAULT_ROOT}/hots/{read_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT).hot_id}/token"
    )
