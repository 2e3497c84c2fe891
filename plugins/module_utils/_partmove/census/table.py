# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table in a census: its znodes by kind, and what is needed to judge whether they have to be there."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from typing import NamedTuple

from ..errors import FormatError
from ..formats.layout import KNOWN_REPLICA_CHILDREN
from ..formats.table_metadata import parse_table_metadata
from .counts import BoundedCounts, Counts, merged, total_of
from .kind import CHILDREN_OF_A_PART, ZnodeKind, kind_in_table, label_of_unknown

_NUMBER = re.compile("[0-9]{1,19}")
_MONTH = slice(0, 6)
NEVER = 2**63
"""Later than any time, in milliseconds since 1970."""


class CensusZnode(NamedTuple):
    """A znode apart from its path; times in milliseconds since 1970."""

    data: bytes
    size: int
    """Bytes of its path and data."""
    ctime: int
    mtime: int
    is_ephemeral: bool


class ReplicaCensus:
    """One replica of a table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        self.has_session = False
        """Whether its server has one, and with it the table."""
        self.is_lost = False
        self.log_pointer = 0
        """Number of the first entry of the log that is not in its queue yet."""
        self.mutation_pointer = ""
        """The last mutation that it has finished; empty for none."""
        self.last_change = 0
        """When it last wrote something, in milliseconds since 1970; others write its is_lost."""
        self.oldest_queued = NEVER
        """When the oldest entry of its queue was made, in milliseconds since 1970."""

    @property
    def queued(self) -> int:
        """How many entries its queue has."""
        return self.kinds[ZnodeKind.QUEUE].znodes if ZnodeKind.QUEUE in self.kinds else 0

    @property
    def total(self) -> Counts:
        """All of its znodes."""
        return total_of(self.kinds.values())

    def take(self, names: list[str], seen: CensusZnode) -> ZnodeKind:
        """Count a znode, which is below the replica as the names from the fifth on say; returns its kind."""
        kind = ZnodeKind.EPHEMERAL if seen.is_ephemeral else self._kind(names)
        counts = self.kinds[kind]
        counts.znodes += 1
        counts.bytes += seen.size
        if seen.mtime > self.last_change and names[-1] != "is_lost":
            self.last_change = seen.mtime
        if kind is ZnodeKind.QUEUE:
            self.oldest_queued = min(self.oldest_queued, seen.ctime)
        elif len(names) == 3:
            self._learn(names[2], seen)
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

    def _learn(self, name: str, seen: CensusZnode) -> None:
        if name == "is_active":
            self.has_session = seen.is_ephemeral
        elif name == "is_lost":
            self.is_lost = seen.data == b"1"
        elif name == "log_pointer":
            self.log_pointer = _number(seen.data)
        elif name == "mutation_pointer":
            self.mutation_pointer = seen.data.decode(errors="replace")


class TableCensus:
    """One table: all znodes at and below its shard path.

    In memory are figures, the names of mutations, the numbers of log entries, and, until `settle`, the names
    of partitions.
    """

    def __init__(self, shard_path: str, unknown: BoundedCounts) -> None:
        """Count znodes of unknown names also in ``unknown``."""
        self.shard_path = shard_path
        self.own: defaultdict[ZnodeKind, Counts] = defaultdict(Counts)
        """What does not belong to one replica."""
        self.replicas: dict[str, ReplicaCensus] = {}
        self.created = 0
        """When it was created, in milliseconds since 1970."""
        self.log = array("q")
        """The numbers of the entries of the log."""
        self.blocks = 0
        """How many hashes of blocks of synchronous inserts there are."""
        self.mutations: dict[str, int] = {}
        """Mutation → when it was made, in milliseconds since 1970."""
        self.partitions: dict[str, int] = {}
        """Partition without a part → when it had its first insert, in milliseconds since 1970."""
        self.is_whole = True
        """Whether all of its znodes could be read."""
        self.last_own_change = 0
        """When a znode that does not belong to one replica was last written, in milliseconds since 1970."""
        self._format_version: int | None = None
        self._beginnings: set[str] = set()
        self._unknown = unknown

    @property
    def kinds(self) -> dict[ZnodeKind, Counts]:
        """All of its znodes by kind."""
        return merged([self.own, *(replica.kinds for replica in self.replicas.values())])

    @property
    def total(self) -> Counts:
        """All of its znodes."""
        return total_of(self.kinds.values())

    @property
    def last_change(self) -> int:
        """When something of it was last written, in milliseconds since 1970."""
        return max([self.last_own_change, *(each.last_change for each in self.replicas.values())])

    def take(self, names: list[str], seen: CensusZnode) -> None:
        """Count a znode; ``names`` are those below the shard path, none for the shard path itself."""
        if len(names) > 1 and names[0] == "replicas":
            replica = self.replicas.get(names[1])
            if replica is None:
                replica = self.replicas[names[1]] = ReplicaCensus(names[1])
            kind = replica.take(names, seen)
            if kind is ZnodeKind.PART:
                # In both formats all parts of a partition have the text before the first underscore.
                self._beginnings.add(names[3].partition("_")[0])
        else:
            kind = self._kind(names, seen)
            counts = self.own[kind]
            counts.znodes += 1
            counts.bytes += seen.size
            self.last_own_change = max(self.last_own_change, seen.mtime)
            self._learn(kind, names, seen)
        if kind is ZnodeKind.UNKNOWN:
            self._unknown.add(label_of_unknown(names), seen.size)

    def settle(self) -> None:
        """Forget the partitions that have a part; znodes may still come.

        Where the table's definition is missing or not understood, nothing is said of its partitions.
        """
        if self._format_version is None:
            return
        beginnings = self._beginnings if self._format_version else {each[_MONTH] for each in self._beginnings}
        for partition in beginnings:
            self.partitions.pop(partition, None)
        self._beginnings.clear()

    def partitions_without_part(self) -> dict[str, int]:
        """What `partitions` has once everything was taken; nothing where the definition is not understood."""
        self.settle()
        return {} if self._format_version is None else self.partitions

    def _kind(self, names: list[str], seen: CensusZnode) -> ZnodeKind:
        if seen.is_ephemeral:
            return ZnodeKind.EPHEMERAL
        return kind_in_table(names) if names else ZnodeKind.TABLE

    def _learn(self, kind: ZnodeKind, names: list[str], seen: CensusZnode) -> None:
        if kind is ZnodeKind.LOG:
            self.log.append(_number(names[1].rpartition("-")[2].encode()))
        elif kind is ZnodeKind.BLOCK:
            self.blocks += names[0] == "blocks"
        elif kind is ZnodeKind.MUTATION:
            self.mutations[names[1]] = seen.ctime
        elif not names:
            self.created = seen.ctime
        elif names == ["metadata"]:
            self._format_version = self._read_format_version(seen.data)
        elif len(names) > 1 and names[0] == "block_numbers":
            if len(names) == 2:
                self.partitions[names[1]] = seen.ctime
            else:
                # A State marker, or an insert that is under way: the partition is in use.
                self.partitions.pop(names[1], None)

    def _read_format_version(self, data: bytes) -> int | None:
        try:
            return parse_table_metadata(data, f"{self.shard_path}/metadata").format_version
        except FormatError:
            return None


def _number(data: bytes) -> int:
    """A number of a log entry; 0 where there is none, as in a replica that is new."""
    text = data.decode(errors="replace")
    return int(text) if _NUMBER.fullmatch(text) and int(text) < NEVER else 0
