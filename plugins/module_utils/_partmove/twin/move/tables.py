# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table, its cold twin and their parts, as the servers of the replicas describe them.

The *hot* table is in the default ensemble. Its *cold* twin is a second table with the same structure, whose
path is in an auxiliary ensemble. A move takes a partition from its *source* table to its *destination* table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from ...formats.sql import identifier


class Side(str, Enum):
    """One of the two tables."""

    HOT = "hot"
    COLD = "cold"

    @property
    def other(self) -> Side:
        """The other table."""
        return Side.COLD if self is Side.HOT else Side.HOT


class PartContent(NamedTuple):
    """The content of a part, whatever its name. Parts with equal content have the same rows."""

    rows: int
    hash_of_all_files: str
    """Both hashes are in lower-case hex."""
    hash_of_uncompressed_files: str
    """Of files such as the primary index: other rows may have the same."""


class TwinPart(NamedTuple):
    """An active part of a table on a replica."""

    name: str
    content: PartContent
    bytes_on_disk: int = 0
    disk: str = ""
    modified: float = 0.0
    """When the replica wrote or fetched the part, in seconds since 1970 by the clock of its server."""
    uncompressed_hash_of_compressed_files: str = ""
    """Of the data of the columns, whatever its compression; lower-case hex."""


Parts = tuple[TwinPart, ...]


class TwinTable(NamedTuple):
    """A table of a replica, as its server describes it."""

    database: str
    name: str
    ensemble: str
    """Name of the ensemble in the configuration of the server; ``default`` for ``<zookeeper>``."""
    path: str
    """Path of the table in that ensemble."""
    replica: str
    definition: str
    """Columns, keys, indices, projections and settings as SQL, without the name and the path of the table."""
    columns: tuple[str, ...]
    """Names of the columns that parts store, in their order, MATERIALIZED columns included; empty if the
    server does not show them to the user."""
    total_replicas: int
    active_replicas: int
    problem: str = ""
    """Why a move cannot use the table, for example because it has no session; "" if a move can."""
    replicas: tuple[str, ...] = ()
    """Names of the replicas that the ensemble of the table registers; empty if the version hides them."""
    is_lost: bool = False
    """Whether the ensemble no longer has the znodes of the table, which ``problem`` says too."""
    virtual_names: tuple[str, ...] = ()
    """Columns of the table, stored or not, that have the name of a virtual column of parts."""

    @property
    def place(self) -> str:
        """The ensemble and the path, for records and messages."""
        return f"{self.ensemble}:{self.path}"

    @property
    def sql_name(self) -> str:
        """Database and table, quoted for SQL."""
        return f"{identifier(self.database)}.{identifier(self.name)}"

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


class TwinReplica(NamedTuple):
    """A replica of the hot table, and the data of its ``host`` znode."""

    name: str
    host: str


class TwinTables(NamedTuple):
    """The two tables of a replica."""

    replica: TwinReplica
    server: str
    """Name of the server, for people."""
    hot: TwinTable
    cold: TwinTable
    home: Side = Side.HOT
    """The side of the table at the shard path, in the default ensemble.

    ``hot`` is the table that gets inserts, so COLD is at the shard path only after an exchange of names."""

    @property
    def shard_path(self) -> str:
        """The path under which the lease, the records and the row policies of the pair are."""
        return self.on(self.home).path

    def on(self, side: Side) -> TwinTable:
        """Return the table of the side."""
        return self.hot if side is Side.HOT else self.cold


class ActivityInProgress(NamedTuple):
    """Activity in the two tables of a replica that a move must not meet."""

    of_table: Sequence[str]
    """Activity that concerns all partitions, such as an unfinished ALTER; sentences for people."""
    of_partition: Mapping[str, Sequence[str]]
    """Partition id → activity that concerns this partition alone, such as a merge."""
    free_bytes: Mapping[str, int]
    """Disk → free bytes."""
    now: float
    """Time by the clock of the server, in seconds since 1970."""
    no_links: Mapping[str, str] = MappingProxyType({})
    """Disk → why the server makes no hard links there, for people. The key "" stands for every disk."""
    shared: Mapping[str, str] = MappingProxyType({})
    """Disk → why replicas share the parts there by zero-copy replication, for people."""
    most_bytes_to_drop: int | None = None
    """The size of the largest part that the server drops; None if it drops any, or if its version shows no
    limit."""


class TableMarks(NamedTuple):
    """Values of a table on a replica that change if a statement changes its structure or its rows."""

    structure: str
    """Digest of the definition, which both tables of a pair have in common."""
    mutation: str
    """The id of the newest mutation, finished or not; "" without any."""
    patches: tuple[str, ...]
    """Names of the active patch parts, sorted: rows that lightweight updates have changed."""
    log: int
    """The number of the newest entry of the replication log; -1 if it is unknown."""


class PairMarks(NamedTuple):
    """The marks of both tables of a replica, from a single read."""

    hot: TableMarks
    cold: TableMarks
    queued: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Partition id → statements of others that a replica has still to carry out there, for people.

    The key "" stands for every partition."""

    def on(self, side: Side) -> TableMarks:
        """Return the marks of the table of the side."""
        return self.hot if side is Side.HOT else self.cold


class KnownClones(NamedTuple):
    """The parts of a partition that an ATTACH made in a table, as its ensemble shows them."""

    names: frozenset[str]
    """Names of the parts as the ATTACH made them. Merges and mutations may have taken them since."""
    complete: bool
    """Whether no further part was made by an ATTACH since the record."""
    blocks: Mapping[str, str] = MappingProxyType({})
    """Name of each clone that has a block znode → hash in the name of that znode, in lower case."""


NO_CLONES_KNOWN = KnownClones(frozenset(), complete=False)


class PartsOf(NamedTuple):
    """The active parts of a partition in both tables of a replica, by name."""

    hot: Parts
    cold: Parts
    hot_past: Parts = ()
    """Parts that are no longer active, as long as the server lists them."""
    cold_past: Parts = ()
    clones: KnownClones | None = None
    """What the ensemble of the destination shows of clones; None if a run did not need to ask."""

    def on(self, side: Side) -> Parts:
        """Return the active parts in the table of the side."""
        return self.hot if side is Side.HOT else self.cold

    def past(self, side: Side) -> Parts:
        """Return the inactive parts in the table of the side."""
        return self.hot_past if side is Side.HOT else self.cold_past
