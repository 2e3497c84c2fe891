# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a replicated table keeps what in ZooKeeper.

A shard path is the first argument of a ReplicatedMergeTree engine: the znode that the replicas of one shard
of a table share.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from ..errors import FormatError
from ..text import shown
from .state import STATE

DEFAULT_ENSEMBLE = "default"
"""What servers call the ensemble of ``<zookeeper>``, beside the names of auxiliary ones."""

KNOWN_TABLE_CHILDREN = frozenset(
    {
        # From 18.16 on, or earlier.
        "block_numbers",
        "blocks",
        "columns",
        "leader_election",
        "log",
        "metadata",
        "mutations",
        "nonincrement_block_numbers",
        "quorum",
        "replicas",
        "temp",
        # Added by later servers, up to those of 2026.
        "alter_partition_version",
        "async_blocks",
        "deduplication_hashes",
        "lost_part_count",
        "part_moves_shard",
        "pinned_part_uuids",
        "table_shared_id",
    }
)
"""Children of a shard path that servers from 18.16 on create, apart from the ``zero_copy_*`` ones."""

TABLE_CHILDREN_WITHOUT_MOVES = frozenset({"lightweight_updates"})
"""Further children that servers of 2026 create. What a move does to a table with them nobody has tried.

UPDATE and DELETE, where they are lightweight, write patches: parts of a partition of their own, ``patch-…``,
which merges apply to the parts that they are about. So the parts of one partition do not tell all of it.
"""

KNOWN_REPLICA_CHILDREN = frozenset(
    {
        "columns",
        "creator_info",
        "flags",
        "host",
        "is_active",
        "is_lost",
        "log_pointer",
        "max_processed_insert_time",
        "metadata",
        "metadata_version",
        "min_unprocessed_insert_time",
        "mutation_pointer",
        "parts",
        "queue",
    }
)
"""Children of ``replicas/<replica>`` that servers from 18.16 on create."""

# What every server from 18.16 on creates together with the table and keeps until it is dropped.
MARKS_OF_A_SHARD = frozenset({"block_numbers", "blocks", "columns", "log", "metadata", "replicas"})
"""By these children a shard path is known."""
_ZERO_COPY_PREFIX = "zero_copy_"
# ZooKeeper itself refuses these characters.
_REFUSED_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")


@dataclass(frozen=True)
class ReplicaLayout:
    """The znodes of one replica; ``path`` is ``<shard path>/replicas/<name>``."""

    path: str
    name: str

    @property
    def host(self) -> str:
        """Address of the replica's server; written when the replica is activated."""
        return f"{self.path}/host"

    @property
    def is_active(self) -> str:
        """Ephemeral, there while the replica's server has a session."""
        return f"{self.path}/is_active"

    @property
    def is_lost(self) -> str:
        """``0``, or ``1`` once the replica has to be built anew from another."""
        return f"{self.path}/is_lost"

    @property
    def log_pointer(self) -> str:
        """Number of the first entry of ``log`` that is not in the replica's queue yet."""
        return f"{self.path}/log_pointer"

    @property
    def queue(self) -> str:
        """Parent of the entries the replica has yet to carry out."""
        return f"{self.path}/queue"

    @property
    def parts(self) -> str:
        """Parent of the registrations of the replica's parts."""
        return f"{self.path}/parts"

    def part(self, name: str) -> str:
        """Registration of one part."""
        return f"{self.path}/parts/{name}"

    @property
    def metadata(self) -> str:
        """The table's definition as far as the replica has applied it."""
        return f"{self.path}/metadata"

    @property
    def columns(self) -> str:
        """The table's columns as far as the replica has applied them."""
        return f"{self.path}/columns"


@dataclass(frozen=True)
class ShardLayout:
    """The znodes of one shard path. Raises FormatError for a path that cannot be one."""

    path: str

    def __post_init__(self) -> None:
        """Refuse what cannot be a shard path, so that no znode is looked for in a wrong place."""
        check_shard_path(self.path)

    @property
    def metadata(self) -> str:
        """The table's definition."""
        return f"{self.path}/metadata"

    @property
    def columns(self) -> str:
        """The columns of the table, as ClickHouse writes them."""
        return f"{self.path}/columns"

    @property
    def log(self) -> str:
        """Parent of the replication log."""
        return f"{self.path}/log"

    @property
    def mutations(self) -> str:
        """Parent of the mutations."""
        return f"{self.path}/mutations"

    @property
    def quorum_status(self) -> str:
        """The insert that waits for a quorum, if there is one."""
        return f"{self.path}/quorum/status"

    @property
    def quorum_parallel(self) -> str:
        """Parent of the inserts that wait for a quorum side by side."""
        return f"{self.path}/quorum/parallel"

    @property
    def quorum_failed_parts(self) -> str:
        """Parent of the parts that failed to get a quorum."""
        return f"{self.path}/quorum/failed_parts"

    @property
    def block_numbers(self) -> str:
        """Parent of the partitions."""
        return f"{self.path}/block_numbers"

    def partition(self, partition_id: str) -> str:
        """Parent of a partition's inserts in flight and of its marker."""
        return f"{self.path}/block_numbers/{partition_id}"

    def state(self, partition_id: str) -> str:
        """Marker of where a partition is registered."""
        return f"{self.path}/block_numbers/{partition_id}/{STATE}"

    @property
    def temp(self) -> str:
        """Parent of the holders of inserts in flight."""
        return f"{self.path}/temp"

    @property
    def replicas(self) -> str:
        """Parent of the replicas."""
        return f"{self.path}/replicas"

    def replica(self, name: str) -> ReplicaLayout:
        """The znodes of one replica; FormatError if it cannot be the name of one."""
        if not name or "/" in name:
            raise FormatError(
                f"{shown(name)} is not the name of a replica of {self.path}",
                remedy=f"Give the name of a child of {self.replicas}",
            )
        return ReplicaLayout(f"{self.path}/replicas/{name}", name)

    @property
    def table_shared_id(self) -> str:
        """Id that names the table in zero-copy locks."""
        return f"{self.path}/table_shared_id"

    @property
    def pinned_part_uuids(self) -> str:
        """Parts that must not be merged because they are on their way to another shard."""
        return f"{self.path}/pinned_part_uuids"

    @property
    def part_moves_shard(self) -> str:
        """Parent of the moves of parts to another shard."""
        return f"{self.path}/part_moves_shard"

    def zero_copy(self, children: Collection[str]) -> tuple[str, ...]:
        """Parents of the zero-copy locks among the children of the shard path, sorted."""
        return tuple(f"{self.path}/{name}" for name in sorted(children) if name.startswith(_ZERO_COPY_PREFIX))


def check_shard_path(path: str) -> str:
    """Return ``path`` if it is absolute and written in its one canonical way; raises FormatError if not."""
    segments = path.split("/")
    problem = ""
    if not path.startswith("/"):
        problem = "does not begin with a slash"
    elif path.endswith("/"):
        problem = "ends with a slash"
    elif "" in segments[1:]:
        problem = "has two slashes in a row"
    elif "." in segments or ".." in segments:
        problem = "has a . or .. in it"
    elif _REFUSED_CHARACTERS.search(path):
        problem = "has a character that ZooKeeper does not allow"
    if problem:
        raise FormatError(
            f"The shard path {shown(path)} {problem}",
            remedy="Write it as system.replicas has it in zookeeper_path, such as /clickhouse/tables/01/hits",
        )
    return path


def is_shard_path(children: Collection[str]) -> bool:
    """Whether a znode with these children is a shard path; not so one whose table is being dropped."""
    return MARKS_OF_A_SHARD.issubset(children)


def unknown_table_children(children: Collection[str]) -> tuple[str, ...]:
    """Children of a shard path that no server creates whose tables may be moved, sorted."""
    unknown = set(children) - KNOWN_TABLE_CHILDREN
    return tuple(sorted(name for name in unknown if not name.startswith(_ZERO_COPY_PREFIX)))


def unknown_replica_children(children: Collection[str]) -> tuple[str, ...]:
    """Children of a replica's znode that no server known here creates, sorted."""
    return tuple(sorted(set(children) - KNOWN_REPLICA_CHILDREN))
