# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of a table in memory, made and removed under a lease."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import PartName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.copies import (
    ColdCopies,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardRead
from support.memory.bench import PATH, Bench
from support.memory.tables import TableOptions

LAYOUT = ShardLayout(PATH)


class Copying:
    """A bench with the copies that a run makes under a lease.

    ``created`` has the names of the copies that it created, by path.
    """

    def __init__(self, options: TableOptions | None = None) -> None:
        self.bench = Bench(options)
        self.created: dict[str, PartName] = {}
        self.reader = self.bench.reader()
        self.later(0.0)

    def later(self, seconds: float) -> None:
        """Let time pass, and take a lease."""
        self.bench.clock.time += seconds
        self.lease: Lease = self.bench.context.leases.acquire(PATH)
        leased = LeasedShard(self.bench.hot_store, self.bench.cold_store, self.reader, LAYOUT, self.lease)
        self.copies = ColdCopies(leased, self.created)

    def make(self, *partitions: str) -> None:
        """Make the copies of the partitions."""
        shard, found = self.read(partitions)
        self.copies.make(shard, list(found.values()))

    def remove(self, *partitions: str) -> set[str]:
        """Remove the copies of the partitions that are needed no more."""
        return self.copies.remove_unneeded(partitions).gone

    def read(self, partitions: Iterable[str]) -> ShardRead:
        """Look at the partitions in both ensembles."""
        return self.reader.read(sorted(partitions))

    def parts(self) -> dict[str, bytes]:
        """Path below the replicas → data of the copies."""
        root = f"{PATH}/replicas"
        found = self.bench.cold_ensemble.data(root)
        return {path.removeprefix(f"{root}/"): data for path, data in found.items() if "/parts/" in path}

    def originals(self, *partitions: str) -> dict[str, bytes]:
        """Path below the replicas → data of what hot has of the partitions."""
        root = f"{PATH}/replicas"
        found = self.bench.hot_ensemble.data(root)
        wanted = tuple(f"/parts/{each}_" for each in partitions)
        return {
            path.removeprefix(f"{root}/"): data
            for path, data in found.items()
            if any(each in path for each in wanted)
        }
