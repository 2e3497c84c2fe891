# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fence of a shard path: versions that are read before anything else, and that a multi checks.

Whatever happens to the table after they were read makes the multi fail, so what it does can rely on all that
was read in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ..errors import NoSuchTable
from ..formats.layout import ReplicaLayout, ShardLayout
from ..formats.table_metadata import TableMetadata, parse_table_metadata
from ..tree.reading import Steps
from ..tree.znodes import Check, Op, Query, Znode


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
    shard: Znode
    """The shard path's own znode: another transaction created it after the table was made again."""
    children: tuple[str, ...]
    """Names of what is below the shard path."""
    replica_names: tuple[str, ...]
    """Names of all replicas, sorted; others than those of ``replicas`` where one came or went meanwhile."""
    definition: TableMetadata
    """What ``metadata`` says."""

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


def fence_steps(layout: ShardLayout, replicas: Sequence[str]) -> Steps[Fence]:
    """Read the fence of a table with these replicas.

    Raises NoSuchTable where a part of it is missing, and FormatError for metadata that is not understood.

    Call ``hot.sync`` first. The replicas have to be those that are listed after the versions, or else one is
    not fenced.
    """
    table = [layout.log, layout.mutations, layout.replicas, layout.columns, layout.metadata, layout.path]
    layouts = [layout.replica(name) for name in replicas]
    fields = [path for each in layouts for path in _paths_of(each)]
    found = yield Query([*table, *fields], [layout.path, layout.replicas])
    znodes = [znode for znode in found.znodes[: len(table)] if znode is not None]
    children, names = found.children
    if len(znodes) != len(table) or children is None or names is None:
        raise no_table(layout)
    values = iter(found.znodes[len(table) :])
    told = tuple(ReplicaZnodes(each, *islice(values, len(_paths_of(each)))) for each in layouts)
    log, mutations, replicas_parent, columns, metadata, shard = znodes
    definition = parse_table_metadata(metadata.data, metadata.path)
    return Fence(told, log, mutations, replicas_parent, columns, metadata, shard, children, names, definition)


def no_table(layout: ShardLayout) -> NoSuchTable:
    """The error for a shard path that hot does not have."""
    return NoSuchTable(
        f"There is no replicated table at {layout.path} in the hot ensemble",
        remedy="Give the ZooKeeper path of the table as in its ENGINE clause, with macros replaced",
    )


def _paths_of(replica: ReplicaLayout) -> tuple[str, ...]:
    """Paths of what `ReplicaZnodes` holds besides the layout, in its order."""
    return (
        replica.host,
        replica.is_active,
        replica.is_lost,
        replica.log_pointer,
        replica.columns,
        replica.metadata,
    )
