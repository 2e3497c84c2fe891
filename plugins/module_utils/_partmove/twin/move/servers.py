# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to the servers of a table and its cold twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from ...errors import NoSuchTable
from ...formats.layout import ShardLayout
from ...tree.ports import Clock, ZnodeReader
from ...zip_strict import zip_strict
from .statements import AttachPartitions, DropParts, SetMerges
from .tables import ActivityInProgress, KnownClones, PairMarks, PartsOf, Side, TwinReplica, TwinTables


class TwinServers(Protocol):
    """Queries the servers of replicas and executes statements on them. Raises PartMoveError on a failure."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Return the hot table of the replica and its cold twin."""

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Return the parts of each partition in both tables, from a single query."""

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """Return the ids of all partitions with active parts in the table, sorted."""

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """Return the activity in the two tables."""

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """Return a checksum of all rows in these active parts, whatever the order of the rows.

        Raises NotPermitted if the user does not see all rows of the parts.
        """

    def marks(self, tables: TwinTables, partition_ids: Sequence[str]) -> PairMarks:
        """Return the marks of both tables, and what is queued for these partitions."""

    def known_clones(
        self, tables: TwinTables, side: Side, since: Mapping[str, int]
    ) -> Mapping[str, KnownClones]:
        """Return the parts in the table of the side that an ATTACH made, for each partition.

        since: partition id → number of the newest log entry before the ATTACH, -1 if it is unknown.
        """

    def attach(self, statement: AttachPartitions) -> str:
        """Execute the statement, and wait for all replicas.

        Returns "" after success, or the reason if the server reports that it refused a partition; partitions
        before that one are cloned. Raises NotPermitted, with nothing cloned, if the user lacks a right to
        this statement, or to the DROP PART that follows. Raises StatementEnded if the server answered with
        another error after which it certainly clones nothing more.
        """

    def drop(self, statement: DropParts) -> bool:
        """Execute the statement, and wait for all replicas.

        False if the server reports that it refused to drop a part; the parts before that one are dropped.
        Raises PartTooLarge if it refused that because of the size of the part.
        """

    def set_merges(self, statement: SetMerges) -> None:
        """Execute the statement. Stopping also cancels the merges and mutations in progress."""


TakeSlots = Callable[[str, Sequence[TwinReplica], Clock], AbstractContextManager[None]]
"""Takes a slot at the servers of these replicas of a shard path until the block ends, see `run.slots`."""


def without_slots(
    shard_path: str, replicas: Sequence[TwinReplica], clock: Clock
) -> AbstractContextManager[None]:
    """Implement TakeSlots without a limit."""
    del shard_path, replicas, clock
    return nullcontext()


def read_replicas(hot: ZnodeReader, shard_path: str) -> list[TwinReplica]:
    """Return the replicas of the table in hot, by name. Raises NoSuchTable without any replica."""
    layout = ShardLayout(shard_path)
    names = sorted(hot.children([layout.replicas])[0] or ())
    if not names:
        raise NoSuchTable(
            f"{shard_path} is no table with replicas in the {hot.name} ensemble",
            remedy="Give the path from system.replicas.zookeeper_path, and the chroot of hot",
        )
    hosts = hot.read([layout.replica(name).host for name in names])
    return [
        TwinReplica(name, "" if host is None else host.data.decode(errors="replace"))
        for name, host in zip_strict(names, hosts)
    ]
