# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pair of ensembles in which a shard path was leased before."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.confirmation import (
    lease_paths_in_cold,
    lease_paths_in_hot,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import (
    Lease,
    LeaseKeeper,
    LeaseZnodes,
    path_of_epoch,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete, Znode
from support.memory.bench import HookedStore
from support.memory.memory import ManualClock, MemoryEnsemble

PATH = "/clickhouse/tables/01/hits"
EPOCH = path_of_epoch(DEFAULT_ROOT, PATH)


class NotingReads(HookedStore):
    """Notes the paths that are read."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.paths: list[str] = []

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read as any store."""
        self.paths.extend(paths)
        return super().read(paths, absolute=absolute)


class LeasedBefore:
    """Two ensembles in which the shard path was leased before."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.hot, self.cold = (MemoryEnsemble(name, self.clock) for name in ("hot", "cold"))
        self.stores = NotingReads(self.hot), NotingReads(self.cold)
        self.keeper = LeaseKeeper(*self.stores, self.clock, owner="a run", wait_seconds=0.0)
        self.keeper.release(self.keeper.acquire(PATH))

    def other(self) -> Lease:
        """Let another run take the lease."""
        stores = HookedStore(self.hot), HookedStore(self.cold)
        return LeaseKeeper(*stores, self.clock, owner="another run", wait_seconds=0.0).acquire(PATH)

    def take_over(self) -> Lease:
        """Let another run take the lease whose lock was lost."""
        (lock, _epoch) = lease_paths_in_hot(DEFAULT_ROOT, PATH)
        self.hot.open().commit([(Delete(lock, 0),)])
        return self.other()

    def seen(self) -> LeaseZnodes:
        """Return the znodes of the lease as they are."""
        in_hot = self.hot.read(lease_paths_in_hot(DEFAULT_ROOT, PATH))
        return LeaseZnodes(*in_hot, *self.cold.read(lease_paths_in_cold(DEFAULT_ROOT, PATH)))

    def epochs(self) -> tuple[int, int]:
        """Return the epochs of hot and cold."""
        found = [each.read([EPOCH])[0] for each in (self.hot, self.cold)]
        hot, cold = (-1 if each is None else each.stat.version for each in found)
        return hot, cold
