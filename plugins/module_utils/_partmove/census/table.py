# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table in a census: its znodes by kind, and the figures for advice."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from typing import NamedTuple

from ..errors import FormatError
from ..formats.layout import KNOWN_REPLICA_CHILDREN
from ..formats.table_metadata import parse_table_metadata
from .ages import PartAges
from .counts import BoundedCounts, Counts, merged, total_of
from .kind import CHILDREN_OF_A_PART, ZnodeKind, kind_in_table, label_of_unknown

_NUMBER = re.compile("[0-9]{1,19}")
_MONTH = slice(0, 6)
_HOST = re.compile(rb"host: (\S+)\nport: (\d+)\n")
# Every table has this child, and no table has it deeper.
_MARK_OF_A_TABLE = "block_numbers"
_MOST_TABLES_BELOW = 100
NEVER = 2**63
"""Later than any time, in milliseconds since 1970."""


class CensusZnode(NamedTuple):
    """A znode without its path; times in milliseconds since 1970."""

    data: bytes
    size: int
    """Bytes of path and data."""
    ctime: int
    mtime: int
    is_ephemeral: bool


class ReplicaCensus:
    """One replica of a table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        self.has_session = False
        """Whether the replica has an ephemeral ``is_active``, or any other ephemeral znode."""
        self.host = ""
        """Address and port of the server that activated the replica last; empty if unknown."""
        self.stray = ""
        """A znode at or below the replica's path that is no znode of a replica; empty for none."""
        self.is_lost = False
        self.log_pointer = 0
        """Number of the first log entry not yet in the replica's queue."""
        self.mutation_pointer = ""
        """Name of the last mutation finished by the replica; empty before the first."""
        self.last_change = 0
        """Last write by the replica, in milliseconds since 1970; other replicas write ``is_lost``."""
        self.oldest_queued = NEVER
        """Creation of the oldest entry of the queue, in milliseconds since 1970."""

    @property
    def queued(self) -> int:
        """The number of entries of the queue."""
        return self.kinds[ZnodeKind.QUEUE].znodes if ZnodeKind.QUEUE in self.kinds else 0

    @property
    def total(self) -> Counts:
        """The counts of all znodes of the replica."""
        return total_of(self.kinds.values())

    def take(self, names: list[str], znode: CensusZnode) -> ZnodeKind:
        """Count a znode of the replica and return its kind.

        names: the path below the shard path: ``replicas``, the name of the replica, and further names.
        """
        kind = self._kind(names)
        if kind is ZnodeKind.UNKNOWN and not self.stray:
            self.stray = "/".join(names)
        if znode.is_ephemeral:
            # Also below the path of another table, whose session would be destroyed with the replica.
            kind, self.has_session = ZnodeKind.EPHEMERAL, True
        counts = self.kinds[kind]
        counts.znodes += 1
        counts.bytes += znode.size
        if znode.mtime > self.last_change and names[-1] != "is_lost":
            self.last_change = znode.mtime
        if kind is ZnodeKind.QUEUE:
            self.oldest_queued = min(self.oldest_queued, znode.ctime)
        elif len(names) == 3:
            self._store_fields(names[2], znode)
        return kind

    def _kind(self, names: list[str]) -> ZnodeKind:
        depth = len(names)
        if depth < 4:
            return (
                ZnodeKind.REPLICA if depth == 2 or names[2] in KNOWN_REPLICA_CHILDREN else ZnodeKind.UNKNOWN
            )
        folder = names[2]
        if folder == "parts":
            if depth == 4:
                return ZnodeKind.PART
            return (
                ZnodeKind.PART_CHILD if depth == 5 and names[4] in CHILDREN_OF_A_PART else ZnodeKind.UNKNOWN
            )
        if depth == 4 and folder in ("queue", "flags"):
            return ZnodeKind.QUEUE if folder == "queue" else ZnodeKind.REPLICA
        return ZnodeKind.UNKNOWN

    def _store_fields(self, name: str, znode: CensusZnode) -> None:
        if name == "host":
            self.host = _host(znode.data)
        elif name == "is_lost":
            self.is_lost = znode.data == b"1"
        elif name == "log_pointer":
            self.log_pointer = _number(znode.data)
        elif name == "mutation_pointer":
            self.mutation_pointer = znode.data.decode(errors="replace")


class TableCensus:
    """One table: all znodes at and below its shard path.

    Keeps in memory: figures, names of mutations, numbers of log entries and, until `settle`, names of
    partitions.
    """

    def __init__(self, shard_path: str, unknown: BoundedCounts, ages: PartAges) -> None:
        """Set up an empty census. Unknown names are also counted in ``unknown``, parts in ``ages``."""
        self.shard_path = shard_path
        self.own: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        """Znodes of the table outside of replicas."""
        self.replicas: dict[str, ReplicaCensus] = {}
        self.created = 0
        """Creation of the table, in milliseconds since 1970."""
        self.log = array("q")
        """Numbers of the entries of the log."""
        self.blocks = 0
        """Number of hashes of blocks of synchronous inserts."""
        self.mutations: dict[str, int] = {}
        """Mutation → creation, in milliseconds since 1970."""
        self.partitions: dict[str, int] = {}
        """Partition without a part → first insert, in milliseconds since 1970."""
        self.is_whole = True
        """Whether all znodes of the table are readable."""
        self.last_own_change = 0
        """Last write of a znode outside of replicas, in milliseconds since 1970."""
        self.stray = ""
        """A znode outside of replicas that no table has, relative to the shard path; empty for none."""
        self.tables_below: list[str] = []
        """Shard paths of the first other tables whose znodes lie below this shard path."""
        self._format_version: int | None = None
        self._beginnings: set[str] = set()
        self._unknown = unknown
        self._ages = ages

    @property
    def kinds(self) -> dict[ZnodeKind, Counts]:
        """The counts of all znodes of the table, by kind."""
        return merged([self.own, *(replica.kinds for replica in self.replicas.values())])

    @property
    def total(self) -> Counts:
        """The counts of all znodes of the table together."""
        return total_of(self.kinds.values())

    @property
    def last_change(self) -> int:
        """The last write of a znode of the table, in milliseconds since 1970."""
        return max([self.last_own_change, *(each.last_change for each in self.replicas.values())])

    def take(self, names: list[str], znode: CensusZnode) -> None:
        """Count a znode. ``names``: the path below the shard path; empty for the shard path itself."""
        if len(names) > 1 and names[0] == "replicas":
            replica = self.replicas.get(names[1])
            if replica is None:
                replica = self.replicas[names[1]] = ReplicaCensus(names[1])
            kind = replica.take(names, znode)
            if kind is ZnodeKind.PART:
                # In both format versions, all parts of a partition have the same text before the first
                # underscore.
                self._beginnings.add(names[3].partition("_")[0])
                self._ages.add(znode.ctime, znode.size)
            elif kind is ZnodeKind.PART_CHILD:
                self._ages.add(znode.ctime, znode.size)
        else:
            kind = self._kind(names, znode)
            counts = self.own[kind]
            counts.znodes += 1
            counts.bytes += znode.size
            self.last_own_change = max(self.last_own_change, znode.mtime)
            self._store_fields(kind, names, znode)
        if kind is ZnodeKind.UNKNOWN:
            self._take_unknown(names, znode)

    def settle(self) -> None:
        """Remove partitions with parts from ``partitions``. More znodes may be counted afterwards.

        Does nothing while the table's definition is missing or unknown.
        """
        if self._format_version is None:
            return
        beginnings = self._beginnings if self._format_version else {each[_MONTH] for each in self._beginnings}
        for partition in beginnings:
            self.partitions.pop(partition, None)
        self._beginnings.clear()

    def partitions_without_part(self) -> dict[str, int]:
        """Return the final `partitions`, after all znodes were counted; empty for an unknown definition."""
        self.settle()
        return {} if self._format_version is None else self.partitions

    def _take_unknown(self, names: list[str], znode: CensusZnode) -> None:
        self._unknown.add(label_of_unknown(names), znode.size)
        if names[0] != "replicas" and not self.stray:
            self.stray = "/".join(names)
        if names[-1] == _MARK_OF_A_TABLE and len(self.tables_below) < _MOST_TABLES_BELOW:
            self.tables_below.append("/".join([self.shard_path, *names[:-1]]))

    def _kind(self, names: list[str], znode: CensusZnode) -> ZnodeKind:
        if znode.is_ephemeral:
            return ZnodeKind.EPHEMERAL
        return kind_in_table(names) if names else ZnodeKind.TABLE

    def _store_fields(self, kind: ZnodeKind, names: list[str], znode: CensusZnode) -> None:
        if kind is ZnodeKind.LOG:
            self.log.append(_number(names[1].rpartition("-")[2].encode()))
        elif kind is ZnodeKind.BLOCK:
            self.blocks += names[0] == "blocks"
        elif kind is ZnodeKind.MUTATION:
            self.mutations[names[1]] = znode.ctime
        elif not names:
            self.created = znode.ctime
        elif names == ["metadata"]:
            self._format_version = self._read_format_version(znode.data)
        elif len(names) > 1 and names[0] == "block_numbers":
            if len(names) == 2:
                self.partitions[names[1]] = znode.ctime
            else:
                # A State marker or an insert in flight: the partition is in use.
                self.partitions.pop(names[1], None)

    def _read_format_version(self, data: bytes) -> int | None:
        try:
            return parse_table_metadata(data, f"{self.shard_path}/metadata").format_version
        except FormatError:
            return None


def _number(data: bytes) -> int:
    """Parse the number of a log entry; 0 for other text, such as the empty log pointer of a new replica."""
    text = data.decode(errors="replace")
    return int(text) if _NUMBER.fullmatch(text) and int(text) < NEVER else 0


def _host(data: bytes) -> str:
    """Return address and port for other replicas from the znode ``host``; empty for other text."""
    found = _HOST.match(data)
    return "" if found is None else b":".join(found.groups()).decode(errors="replace")
