# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers say of a table and its cold twin: values, and what the domain asks of the servers.

A table in the default ensemble is *hot*; its *cold* twin is a table of its own beside it, with the same
structure, whose path is in an auxiliary ensemble. A partition is moved from its *source* to its
*destination*, and these are one of the two each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ...errors import NoSuchTable
from ...formats.layout import ShardLayout
from ...tree.ports import ZnodeReader
from ...zip_strict import zip_strict


class Side(str, Enum):
    """One of the two tables."""

    HOT = "hot"
    COLD = "cold"

    @property
    def other(self) -> Side:
        """The other table."""
        return Side.COLD if self is Side.HOT else Side.HOT


class PartContent(NamedTuple):
    """What is in a part, whatever its name: parts that are equal in this have the same rows."""

    rows: int
    hash_of_all_files: str
    """Lower-case hex, as is the other."""
    hash_of_uncompressed_files: str


class TwinPart(NamedTuple):
    """An active part of one table on one replica."""

    name: str
    content: PartContent
    bytes_on_disk: int = 0
    disk: str = ""
    modified: float = 0.0
    """When it came to be on this replica, in seconds since 1970 by the clock of its server."""


Parts = tuple[TwinPart, ...]


class TwinTable(NamedTuple):
    """A table of a replica, as its server describes it."""

    database: str
    name: str
    ensemble: str
    """What the server calls the ensemble of the table: ``default`` for the one in ``<zookeeper>``."""
    path: str
    """Path of the table in that ensemble."""
    replica: str
    definition: str
    """Columns, keys, indices, projections and settings as SQL, without the name and the path of the table."""
    total_replicas: int
    active_replicas: int
    problem: str = ""
    """Why it cannot be worked with, such as that it has no session; empty where it can."""

    @property
    def place(self) -> str:
        """The ensemble and the path, for records and messages."""
        return f"{self.ensemble}:{self.path}"

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


class TwinReplica(NamedTuple):
    """A replica of the hot table, and the data of its ``host`` znode."""

    name: str
    host: str


class TwinTables(NamedTuple):
    """The two tables that a replica has."""

    replica: TwinReplica
    server: str
    """The server, for people."""
    hot: TwinTable
    cold: TwinTable
    home: Side = Side.HOT
    """Which of them is at the shard path, in the default ensemble: the other one only once the names of a
    whole table were exchanged, as ``hot`` is the table that gets inserts."""

    def on(self, side: Side) -> TwinTable:
        """The table of that side."""
        return self.hot if side is Side.HOT else self.cold


class ActivityInProgress(NamedTuple):
    """What goes on in the two tables of a replica that a move must not meet."""

    of_table: Sequence[str]
    """What concerns all partitions, such as an ALTER that is not done; sentences for people."""
    of_partition: Mapping[str, Sequence[str]]
    """Partition id → what concerns it alone, such as a merge."""
    free_bytes: Mapping[str, int]
    """Disk → bytes that may still be written to it."""
    now: float
    """What the clock of the server says, in seconds since 1970."""
    no_links: Mapping[str, str] = MappingProxyType({})
    """Disk → why no hard links are made on it, for people; "" in place of a disk for what holds for each."""


class PartsOf(NamedTuple):
    """The active parts of one partition in both tables of a replica, by name."""

    hot: Parts
    cold: Parts
    hot_past: Parts = ()
    """Parts that are not active any more, as long as the server shows them."""
    cold_past: Parts = ()

    def on(self, side: Side) -> Parts:
        """Those of the table of that side."""
        return self.hot if side is Side.HOT else self.cold

    def past(self, side: Side) -> Parts:
        """Those of the table of that side that are not active any more."""
        return self.hot_past if side is Side.HOT else self.cold_past


class TwinServers(Protocol):
    """Asks the servers of replicas, and tells them what to do; raises PartMoveError where that fails."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """The hot table of the replica, and its twin."""

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """The active parts of each of the partitions, asked for at one moment."""

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """All partitions of which the table has active parts, sorted."""

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """What goes on in the two tables."""

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """The checksum of all rows that the replica reads of these active parts, in whatever order."""

    def attach(self, tables: TwinTables, destination: Side, partition_id: str) -> str:
        """Clone what the source has of the partition into the destination, on all replicas.

        What a statement of the past has cloned is not cloned again. Returns why the server would not do it,
        where it says that nothing was done; else "".
        """

    def drop(self, tables: TwinTables, side: Side, part: str) -> bool:
        """Drop one active part, on all replicas; False where the server says that nothing was done."""

    def stop_merges(self, tables: TwinTables) -> None:
        """Let the replica begin no merge and no mutation of the two tables, and give up those under way."""

    def start_merges(self, tables: TwinTables) -> None:
        """Let the replica merge both tables again."""


def read_replicas(hot: ZnodeReader, shard_path: str) -> list[TwinReplica]:
    """The replicas of the table that hot knows, by name; raises NoSuchTable where there is none."""
    layout = ShardLayout(shard_path)
    names = sorted(hot.children([layout.replicas])[0] or ())
    if not names:
        raise NoSuchTable(
            f"{shard_path} is no table with replicas in the {hot.name} ensemble",
            remedy="Give the path as system.replicas has it in zookeeper_path, and the chroot of hot",
        )
    hosts = hot.read([layout.replica(name).host for name in names])
    return [
        TwinReplica(name, "" if host is None else host.data.decode(errors="replace"))
        for name, host in zip_strict(names, hosts)
    ]
