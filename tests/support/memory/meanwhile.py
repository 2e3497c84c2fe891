# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens to a drifted table while a repair of it is at work."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
)
from support.memory.bench import PATH
from support.memory.disks import SimulatedDisks
from support.memory.drifted import Drifted
from support.memory.two_clusters import hash_of

FIRST_UNDER_LEASE = 5
"""The first answer under the lease: two reads without it ask both servers."""


def drifted_by(part: str, arrange: Callable[[Drifted], object] = lambda _drifted: None) -> Drifted:
    """Return a table whose servers show the hash of the part, once something happened to it."""
    drifted = Drifted()
    drifted.disks.hashes[part] = hash_of(drifted.bench, part)
    arrange(drifted)
    return drifted


def tables(drifted: Drifted) -> dict[str, bytes]:
    """Return all data of the table in both ensembles."""
    return {
        f"{ensemble.name}{path}": data
        for ensemble in (drifted.bench.hot_ensemble, drifted.bench.cold_ensemble)
        for path, data in ensemble.data().items()
        if path.startswith(PATH)
    }


def before_write(drifted: Drifted, path: str, act: Callable[[], object]) -> None:
    """Do something right before the first multi to hot that writes the znode."""
    left = [act]
    drifted.bench.hot_store.before = lambda multi: (
        left.pop()() if left and any(op.path == f"{PATH}/{path}" for op in multi) else None
    )


def before_answer(drifted: Drifted, number: int, act: Callable[[], object]) -> None:
    """Do something right before so manieth answer of a server about its disk."""
    drifted.disks = _ActingDisks(drifted, number, act)


class _ActingDisks(SimulatedDisks):
    def __init__(self, drifted: Drifted, number: int, act: Callable[[], object]) -> None:
        super().__init__(drifted.bench.servers)
        self.hashes = drifted.disks.hashes
        self._left = number
        self._act = act

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        self._left -= 1
        if self._left == 0:
            self._act()
        return super().parts(shard_path, replica, host)
