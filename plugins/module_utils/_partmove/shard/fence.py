# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fence of a shard path: versions that are read before anything else, and that a multi checks.

Whatever happens to the table after they were read makes the multi fail, so what it does can rely on all that
was read in between.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import NoSuchTable
from ..formats.layout import ReplicaLayout, ShardLayout
from ..tree.ports import ZnodeReader
from ..tree.znodes import Check, Op, Znode


class ReplicaZnodes(NamedTuple):
    """The znodes of one replica that tell how it is. None stands for one that is not there."""

    layout: ReplicaLayout
    host: Znode | None
    is_active: Znode | None
    is_lost: Znode | None
    log_pointer: Znode | None
    columns: Znode | None
    metadata: Znode | None

    @property
    def created(self) -> int:
        """Transaction that created the replica, by its ``host``: another one after it was added again."""
        return 0 if self.host is None else self.host.stat.czxid


class Fence(NamedTuple):
    """What was read of a shard path before anything else."""

    replicas: tuple[ReplicaZnodes, ...]
    log: Znode
    mutations: Znode
    replicas_parent: Znode
    columns: Znode
    metadata: Znode

    @property
    def checks(self) -> tuple[Op, ...]:
        """Checks that fail once anything happened that could concern a part of the table.

        Servers from 20.x on raise the data version of ``/log`` whenever they assign a merge, a mutation
        or a drop. Older ones never do: there the version stays 0, and the log pointers of the replicas
        stand in, which also move with every insert. An ALTER of the columns writes to the shard path first,
        and then to every part.
        """
        shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)
        pointers = [each.log_pointer for each in self.replicas] if self.log.stat.version == 0 else []
        lives = [znode for each in self.replicas for znode in (each.host, each.is_lost)]
        present = [znode for znode in (*shard, *pointers, *lives) if znode is not None]
        return tuple(Check(znode.path, znode.stat.version) for znode in present)


def read_fence(hot: ZnodeReader, layout: ShardLayout) -> Fence:
    """Read the fence; raises NoSuchTable where a part of it is missing. Call ``hot.sync`` first."""
    paths = [layout.log, layout.mutations, layout.replicas, layout.columns, layout.metadata]
    found = [znode for znode in hot.read(paths) if znode is not None]
    if len(found) != len(paths):
        raise no_table(layout)
    return Fence(_read_replicas(hot, layout), *found)


def no_table(layout: ShardLayout) -> NoSuchTable:
    """The error for a shard path that hot does not have."""
    return NoSuchTable(
        f"There is no replicated table at {layout.path} in the hot ensemble",
        remedy="Give the ZooKeeper path of the table as in its ENGINE clause, with macros replaced",
    )


def _read_replicas(hot: ZnodeReader, layout: ShardLayout) -> tuple[ReplicaZnodes, ...]:
    layouts = [layout.replica(name) for name in hot.children([layout.replicas])[0] or ()]
    fields = [
        (each.host, each.is_active, each.is_lost, each.log_pointer, each.columns, each.metadata)
        for each in layouts
    ]
    found = iter(hot.read([path for paths in fields for path in paths]))
    return tuple(ReplicaZnodes(each, *(next(found) for _field in range(6))) for each in layouts)
