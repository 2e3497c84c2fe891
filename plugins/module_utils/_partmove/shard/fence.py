# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fence of a shard path: versions of znodes, read before all other facts and checked by a multi.

Every relevant change of the table after the read of the fence makes the multi fail. So a multi may rely on
all facts read between the fence and the multi.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ..errors import NoSuchTable
from ..formats.layout import ReplicaLayout, ShardLayout, unknown_replica_children
from ..formats.table_metadata import TableMetadata, parse_table_metadata
from ..tree.reading import Steps
from ..tree.znodes import Check, Op, Query, Znode
from .facts import ReplicaFacts


class ReplicaZnodes(NamedTuple):
    """The znodes with the state of one replica; None for a missing znode."""

    layout: ReplicaLayout
    host: Znode | None
    is_active: Znode | None
    is_lost: Znode | None
    log_pointer: Znode | None
    columns: Znode | None
    metadata: Znode | None

    @property
    def created(self) -> int:
        """Transaction id of the creation of ``host``; differs after the replica was added again."""
        return 0 if self.host is None else self.host.stat.czxid

    def facts(self, children: Sequence[str]) -> ReplicaFacts:
        """Return the facts about the replica. ``children``: the names of its znodes."""
        return ReplicaFacts(
            name=self.layout.name,
            host=self.host,
            is_active=self.is_active,
            is_lost=self.is_lost,
            columns=None if self.columns is None else self.columns.data,
            metadata=None if self.metadata is None else self.metadata.data,
            unknown_children=unknown_replica_children(children),
            created=self.created,
        )


class Fence(NamedTuple):
    """The first facts read of a shard path."""

    replicas: tuple[ReplicaZnodes, ...]
    log: Znode
    mutations: Znode
    replicas_parent: Znode
    columns: Znode
    metadata: Znode
    shard: Znode
    """The shard path's own znode; its czxid differs after the table was recreated."""
    children: tuple[str, ...]
    """Names of the children of the shard path."""
    replica_names: tuple[str, ...]
    """Names of all replicas, sorted; differ from ``replicas`` if a replica was added or removed meanwhile."""
    definition: TableMetadata
    """The parsed ``metadata``."""

    @property
    def checks(self) -> tuple[Op, ...]:
        """Checks that fail after every change that may affect a part of the table.

        - Servers from 20.x on raise the data version of ``/log`` with every assigned merge, mutation and
          drop.
        - Older servers leave the version at 0. The log pointers of the replicas are then checked instead;
          they also change with every insert.
        - An ALTER of the columns writes to the shard path first, and then to every part.
        """
        shard = (self.log, self.mutations, self.replicas_parent, self.columns, self.metadata)
        pointers = [each.log_pointer for each in self.replicas] if self.log.stat.version == 0 else []
        replica_states = [znode for each in self.replicas for znode in (each.host, each.is_lost)]
        present = [znode for znode in (*shard, *pointers, *replica_states) if znode is not None]
        return tuple(Check(znode.path, znode.stat.version) for znode in present)


def fence_steps(layout: ShardLayout, replicas: Sequence[str]) -> Steps[Fence]:
    """Read the fence of a table with these replicas.

    Call ``hot.sync`` before. If ``replicas`` differs from ``Fence.replica_names``, a replica is not fenced,
    and the fence must be read again.

    Raises NoSuchTable if a znode of the table is missing, and FormatError for unknown metadata.
    """
    table = [layout.log, layout.mutations, layout.replicas, layout.columns, layout.metadata, layout.path]
    layouts = [layout.replica(name) for name in replicas]
    fields = [path for each in layouts for path in _paths_of(each)]
    answer = yield Query([*table, *fields], [layout.path, layout.replicas])
    znodes = [znode for znode in answer.znodes[: len(table)] if znode is not None]
    children, names = answer.children
    if len(znodes) != len(table) or children is None or names is None:
        raise no_table(layout)
    values = iter(answer.znodes[len(table) :])
    of_replicas = tuple(ReplicaZnodes(each, *islice(values, len(_paths_of(each)))) for each in layouts)
    log, mutations, replicas_parent, columns, metadata, shard = znodes
    definition = parse_table_metadata(metadata.data, metadata.path)
    return Fence(
        of_replicas, log, mutations, replicas_parent, columns, metadata, shard, children, names, definition
    )


def no_table(layout: ShardLayout) -> NoSuchTable:
    """Return the error for a shard path without a table in hot."""
    return NoSuchTable(
        f"There is no replicated table at {layout.path} in the hot ensemble",
        remedy="Give the ZooKeeper path of the table as in its ENGINE clause, with macros replaced",
    )


def _paths_of(replica: ReplicaLayout) -> tuple[str, ...]:
    """Return the paths of the znodes of `ReplicaZnodes`, in the order of its fields."""
    return (
        replica.host,
        replica.is_active,
        replica.is_lost,
        replica.log_pointer,
        replica.columns,
        replica.metadata,
    )
